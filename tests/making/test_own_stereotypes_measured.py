"""A data set with three stereotypes of its own, from the first sentence that somebody writes to the report."""

import csv
import json
import math
from pathlib import Path
from statistics import fmean

import pandas as pd
import pytest

from tests.benchmarks.test_gest import SINGLE
from tests.runs.test_gest import saved
from tests.support.command import Run
from tiltmeter.forms.gest import GestItem
from tiltmeter.making.item_makers import GenderedPairMaker, ItemRejection

PLAN = """
writers = ["Ana", "Eva"]
quota = 3

[[subjects]]
number = 17
name = "men are punctual"
side = "masculine"
sub = ["early at work", "keep deadlines"]

[[subjects]]
number = 18
name = "women are thrifty"
side = "feminine"

[[subjects]]
number = 40
name = "women & <cats>"
side = "feminine"
"""
NAMES = {17: "17 men are punctual", 18: "18 women are thrifty", 40: "40 women & <cats>"}
ROWS = [
    ("17", "early at work", "I sang well.", "Spieval som dobre."),
    ("17", "keep deadlines", "I fed the cat well.", "Kŕmil som mačku."),
    ("17", "early at work", "I sang.", "Spieval som."),
    ("18", "", "I fed the cat.", "Kŕmila som mačku."),
    ("18", "", "I sang the cat well.", "Spievala som mačke."),
    ("18", "", "I fed well.", "Kŕmila som dobre."),
    ("40", "", "I sang well well.", "Spievala som veľmi dobre."),
    ("40", "", "I fed the cat, the cat.", "Kŕmila som."),
    ("40", "", "I sang the cat.", "Spievala som."),
]


@pytest.fixture
def published(run: Run, tmp_path: Path) -> Path:
    """The folder of a published edition, made by commands."""
    project = str(tmp_path / "project")
    run("make", "new", "gest", "--from-scratch", "--language", "sk", "--out", project)
    (tmp_path / "project" / "writing.toml").write_text(PLAN, encoding="utf-8")
    sheet = tmp_path / "ana.csv"
    with sheet.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("about", "sub_stereotype", "sentence", "translation"), *ROWS])
    added = run("make", "write", project, "--by", "Ana", "--read", str(sheet))
    assert added.split() == [f"w-{number}" for number in range(1, 10)]  # nothing is found in any of them
    run("make", "publish", project, "--out", str(tmp_path / "edition"), "--licence", "CC0-1.0")
    return tmp_path / "edition"


def test_from_the_project_to_the_report(run: Run, published: Path, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in (published / "items.jsonl").read_text(encoding="utf-8").splitlines()]
    assert lines[1] == {
        "id": "w-2",
        "language": "en",
        "stereotype": 17,
        "side": "masculine",
        "stereotype_name": "men are punctual",
        "sub_stereotype": "keep deadlines",
        "sentence": "I fed the cat well.",
    }
    run("data", "validate", str(published / "items.jsonl"), "--strict")
    model, folder = saved(tmp_path / "model", SINGLE), tmp_path / "run"
    printed = run("run", model, "--on", f"{published}/", "--out", str(folder))
    assert "g_s" in printed
    scores = pd.read_parquet(folder / "scores.parquet")
    rows = scores[scores["part"] == "template-2"]
    means = {number: fmean(rows["score"][rows["stereotype"] == number]) for number in NAMES}
    records = json.loads((folder / "measures.json").read_text(encoding="utf-8"))

    def value(measure: str, view: str, group: str) -> float:
        (record,) = (
            r
            for r in records
            if (r["part"], r["measure"], r["view"], r["group"]) == ("template-2", measure, view, group)
        )
        return float(record["value"])

    assert value("g_s", "all", "all") == pytest.approx(math.exp(means[17] - fmean((means[18], means[40]))))
    early = rows["score"][rows["sub_stereotype"] == "17 early at work"]
    assert value("q_i", "sub_stereotype", "17 early at work") == pytest.approx(math.exp(fmean(early)))
    by_stereotype = run("show", str(folder), "--by", "stereotype")
    assert all(name in by_stereotype for name in NAMES.values())
    assert "17 keep deadlines" in run("show", str(folder), "--by", "sub_stereotype")
    assert "17 men are punctual" in run("export", str(folder), "--to", "jsonl")
    assert "40 women & <cats>" in run("show", str(folder), "--csv")
    run("report", str(folder), "--out", str(tmp_path / "report.html"))
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "The 3 stereotypes" in page
    assert "<bdi>17 men are punctual</bdi>" in page
    assert "<bdi>40 women &amp; &lt;cats&gt;</bdi>" in page
    assert "<cats>" not in page


def test_pairs_made_of_such_sentences_keep_their_stereotype() -> None:
    maker = GenderedPairMaker({"masculine": 'He said: "{}"', "feminine": 'She said: "{}"'}, "made")
    item = GestItem("1", "en", 17, "I was at home.", "masculine", "men are punctual", "early at work")
    texts = {"sentence": "Bol som doma.", "masculine": "„Bol som doma.“", "feminine": "„Bola som doma.“"}
    pair = maker.assemble(item, "sk", texts)
    assert not isinstance(pair, ItemRejection)
    assert maker.form.write(pair) == {
        "id": "1",
        "language": "sk",
        "stereotype": 17,
        "side": "masculine",
        "stereotype_name": "men are punctual",
        "sub_stereotype": "early at work",
        "translator": "made",
        "original": "I was at home.",
        "male": "Bol som doma.",
        "female": "Bola som doma.",
    }
