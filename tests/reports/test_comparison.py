import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from markupsafe import escape
from rich.console import Console

from tests.reports import made
from tests.runs.made import association_scores, chosen_scores, gest_scores, run
from tests.support.messages import assert_mentions
from tiltmeter.comparing.comparison import compare
from tiltmeter.comparing.paired_difference import Comparison
from tiltmeter.datasets import load
from tiltmeter.reports.comparison import describe_difference, print_comparison
from tiltmeter.reports.comparison_page import render_comparison_page
from tiltmeter.runs.portions import load_portions
from tiltmeter.runs.run_items import build_item_table
from tiltmeter.runs.translation_run import score_translations

FAR = [("a", run(association_scores("made/one", seed=1, lean=2.5))), ("b", run(association_scores("made/two", seed=2)))]


def printed(comparison: Comparison, width: int, encoding: str = "utf-8") -> list[str]:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=file, width=width, record=True)
    print_comparison(comparison, console)
    file.flush()
    lines = [line.rstrip() for line in console.export_text(styles=False).splitlines()]
    assert all(len(line) <= width for line in lines)
    return lines


@pytest.mark.parametrize(("width", "encoding"), [(80, "utf-8"), (100, "utf-8"), (80, "ascii")])
def test_it_fits_the_terminal(width: int, encoding: str) -> None:
    lines = printed(compare(FAR), width, encoding)
    assert lines[0] == f"made/one {'-' if encoding == 'ascii' else '−'} made/two, stereoset:en"
    assert lines[1].split()[:5] == ["part", "left", "right", "diff", "95%"]
    rows = [line.split() for line in lines[3:12]]
    assert [row[0] for row in rows[::3]] == ["intra", "inter", "overall"] if width == 80 else rows
    assert "McNemar's mid-P test" in " ".join(lines)


def test_a_narrow_terminal_has_fewer_columns_and_none_that_is_cut() -> None:
    text = "\n".join(printed(compare(FAR), 60))
    assert "…" not in text
    assert text.splitlines()[1].split() == ["part", "left", "right", "diff", "95%", "interval", "Holm", "n"]
    assert [word for word in ("intra", "inter", "overall", "ICAT") if f"{word} " not in text] == []
    assert_mentions(text, "too narrow", "p, MDE, effect, differ")


def test_a_difference_in_words() -> None:
    (overall,) = (d for d in compare(FAR, measures=["SS"]).differences if d.part == "overall")
    sentence = describe_difference(overall)
    assert sentence.startswith("overall: made/one is")
    assert_mentions(sentence, "significantly farther from 50", "than made/two: SS")


def test_too_few_items_are_said_plainly() -> None:
    few = [("a", run(association_scores("made/one", n=5))), ("b", run(association_scores("made/two", seed=9, n=5)))]
    sentence = describe_difference(compare(few, measures=["SS"]).differences[-1])
    assert sentence.startswith("overall: inconclusive")
    assert_mentions(sentence, "between made/one and made/two", "(n=10): SS", "a difference of")


def test_the_same_scores_say_nothing_of_what_could_be_seen() -> None:
    twice = [(name, run(gest_scores(name), family="gest")) for name in ("a", "b")]
    (difference,) = (d for d in compare(twice).differences if d.quantity.name == "log g_s")
    assert difference.contrast.detectable == 0
    sentence = describe_difference(difference)
    assert sentence.startswith("template-3: a and b")
    assert_mentions(sentence, "the same answers", "all 64 items", "(log g_s")
    assert "a difference of" not in sentence


def test_a_part_that_goes_the_other_way_is_told() -> None:
    ours = run(
        association_scores("made/one", seed=1, lean=3, n=200, parts=["intrasentence"]),
        association_scores("made/one", seed=2, lean=-1.5, n=200, parts=["intersentence"]),
    )
    theirs = run(association_scores("made/two", seed=3, n=200))
    comparison = compare([("a", ours), ("b", theirs)], measures=["SS"])
    assert [d.verdict for d in comparison.differences] == ["significant", "significant", "contradictory"]
    lines = [line for line in printed(comparison, 300) if line.startswith(("inter", "intra", "overall: "))]
    assert len([line for line in lines if "significantly" in line]) == 2
    assert lines[-1].startswith("overall: contradictory")
    assert_mentions(lines[-1], "made/one is higher in intrasentence", "made/two is higher in intersentence")


def test_the_first_screen_names_all_parts_of_a_contradictory_result() -> None:
    torn = run(chosen_scores("made/torn", {"intrasentence": 60.0, "intersentence": 40.0}, n=300))
    page = render_comparison_page(compare([("a", torn), ("b", run(chosen_scores("made/even", 50.0, n=300)))]))
    first_screen = page.split('aria-label="Summary"')[1].split("</section>")[0]
    assert_mentions(first_screen, "intrasentence: made/torn", "intersentence: made/even", "contradictory, so SS")


def test_the_page_has_everything_and_loads_nothing() -> None:
    page = render_comparison_page(compare(FAR))
    assert "the largest differences first" in page
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert "Content warning" in page
    assert "intra-0" in page  # the items by their ids, since no data set has them


def test_the_page_shows_as_many_items_as_asked_for() -> None:
    comparison = compare(FAR, measures=["SS"])
    assert render_comparison_page(comparison, items=3).count('class="item"') == 6
    both = sum(d.contrast.disagree for d in comparison.differences if d.part != "overall")
    assert render_comparison_page(comparison, items=None).count('class="item"') == both


def test_the_texts_of_items() -> None:
    items = load("starter", "intrasentence", "en")
    tables = []
    for model, sign in (("one", 1), ("two", -1)):
        table = association_scores(model, benchmark="starter", parts=["intrasentence"], n=len(items))
        table["item"] = [items[number // 3].id for number in range(len(table))]
        table["score"] = [sign * {"stereotype": 1.0, "anti-stereotype": 0.0}.get(role, -9.0) for role in table["role"]]
        tables.append(table)
    result = replace(run(*tables), texts=build_item_table(load_portions("starter/intrasentence:en")))
    page = render_comparison_page(compare([("a", result)], measures=["SS"]))
    lines = [items[0].context, *(candidate.word for candidate in items[0].candidates[:2])]
    assert all(f">{escape(text)}</p>" in page for text in lines)


def test_what_was_translated_is_shown(tmp_path: Path) -> None:
    stereotypes = {"I wept.": 1, "I danced.": 2, "I led.": 8, "I fought.": 9}
    sentences = [
        {"id": str(number), "language": "en", "stereotype": stereotype, "sentence": sentence}
        for number, (sentence, stereotype) in enumerate(stereotypes.items())
    ]
    path = made.file_of(tmp_path, sentences)
    runs = []
    for language, translation in (("sk", "Bola som tam."), ("cs", "Byl jsem tam.")):
        file = tmp_path / f"{language}.csv"
        file.write_text("from,to\n" + "".join(f"{sentence},{translation}\n" for sentence in stereotypes))
        runs.append((language, score_translations(file, system="ada", on=f"{path}:{language}")))
    page = render_comparison_page(compare(runs, measures=["f_s"]))
    shown = [page.count(f'dir="auto">{sentence}</p>') for sentence in stereotypes]
    assert shown == [1] * len(stereotypes)
    assert page.count("Bola som tam.") == page.count("Byl jsem tam.") == len(stereotypes)
    assert page.count(">feminine</td>") == page.count(">masculine</td>") == len(stereotypes)
    assert "stereotype: 8, side: masculine</bdi>" in page  # without family words, because no sentence has any


def test_hostile_data_stay_text(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>\u202e" + "x" * 5000
    record = {
        "id": "<b>1",
        "part": "intrasentence",
        "language": "en",
        "bias_type": "gender",
        "target": "<img src=x onerror=alert(2)>",
        "context": f"{hostile} BLANK.",
        "candidates": {"stereotype": "kind", "anti-stereotype": "tall", "unrelated": "blue"},
    }
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    tables = []
    for model, sign in (("<i>one</i>", 1), ("two", -1)):
        table = association_scores(model, benchmark=str(path), parts=["intrasentence"], n=1)
        table["item"], table["target"] = "<b>1", record["target"]
        table["score"] = [sign * {"stereotype": 1.0, "anti-stereotype": 0.0}.get(role, -9.0) for role in table["role"]]
        tables.append(table)
    result = replace(run(*tables), texts=build_item_table(load_portions(str(path))))
    page = render_comparison_page(compare([("a", result)], measures=["SS"]))
    assert "<script" not in page
    assert "<img" not in page
    assert "<i>one" not in page
    assert "\u202e" not in page
    assert "&lt;script&gt;" in page
    assert len(page) < 30_000


def test_log_ratios_on_the_page() -> None:
    runs = [(name, run(gest_scores(name, seed=seed), family="gest")) for name, seed in (("a", 1), ("b", 2))]
    assert "log g_s" in render_comparison_page(compare(runs))


def test_the_largest_differences_come_first_on_the_page() -> None:
    runs = [
        ("a", run(association_scores("made/one", seed=1, lean=0.0))),
        ("b", run(association_scores("made/two", seed=2, lean=0.1))),
        ("c", run(association_scores("made/three", seed=3, lean=3.0))),
    ]
    page = render_comparison_page(compare(runs))
    pairs = re.findall(r'<section id="pair-\d+">\s*<h2><bdi>(.*?)</bdi> − <bdi>(.*?)</bdi>', page)
    assert len(pairs) == 3
    assert "made/three" in pairs[0]
    assert "made/three" in pairs[1]
    assert "made/three" not in pairs[2]
