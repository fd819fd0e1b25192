import pandas as pd

from tiltmeter.reports.item_texts import load_item_texts
from tiltmeter.runs.portions import load_portions
from tiltmeter.runs.result import Result


def old_run(entries: list[dict[str, object]]) -> Result:
    return Result(pd.DataFrame(), [], {"data": entries})


def test_the_files_of_all_parts_have_to_be_those_of_the_run() -> None:
    entries = [{**portion.label(), "files": dict(portion.files)} for portion in load_portions("starter:en")]
    assert [entry["part"] for entry in entries] == ["intrasentence", "intersentence"]
    texts, missing = load_item_texts([old_run(entries)], {})
    assert texts["starter", "en"]
    assert not missing
    (name,) = entries[1]["files"]
    entries[1]["files"][name] = "0" * 64
    texts, missing = load_item_texts([old_run(entries)], {})
    assert not texts
    assert missing == [f"starter: {name} has changed since the run, so its texts are not shown."]
