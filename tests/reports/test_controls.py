import io
from dataclasses import replace

import pytest
from rich.console import Console

from tests.reports.made import pairs, record
from tests.support.messages import assert_mentions
from tiltmeter.datasets.dataset_loader import get_dataset
from tiltmeter.measures.records import Record
from tiltmeter.measures.verdict_rule import assign_verdicts
from tiltmeter.reports import controls
from tiltmeter.reports.controls import describe_contrast, describe_missing_controls, list_contrasts
from tiltmeter.reports.report_page import make_report
from tiltmeter.reports.result_table import print_measures
from tiltmeter.runs.result import Result

NAME, CONTROL = "starter-pairs", "starter-pairs-control"
WHY = "its sentences are about tea"


@pytest.fixture(autouse=True)
def _catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    own = get_dataset(NAME)
    known = {NAME: replace(own, control=(CONTROL,)), CONTROL: replace(own, name=CONTROL, why_control=WHY)}
    monkeypatch.setattr(controls, "DATASETS", known)


def records(value: float, control: float | None, *, model: str = "gpt2") -> list[Record]:
    numbers = {NAME: value} | ({CONTROL: control} if control is not None else {})
    return assign_verdicts(
        [record("CPS", number, 2.0, benchmark=name, part="all", model=model) for name, number in numbers.items()]
    )


def describe(found: list[Record]) -> str:
    (contrast,) = list_contrasts(found, NAME)
    return describe_contrast(contrast)


def test_a_control_that_moves_as_much() -> None:
    sentence = describe(records(60.0, 59.0))
    assert_mentions(sentence, "CPS 59.0 [57.0, 61.0]", "on the same side", "not significantly farther")
    assert_mentions(sentence, "(by 1.0 points [-1.8, 3.8])", WHY)


def test_a_control_that_does_not_move() -> None:
    assert_mentions(describe(records(60.0, 50.0)), "by 10.0 points [7.2, 12.8]", "does not explain")
    assert describe(records(50.0, 50.0)) == f"the control {CONTROL} has CPS 50.0 [48.0, 52.0]."


def test_a_control_that_was_not_measured_is_named() -> None:
    assert_mentions(describe_missing_controls(records(60.0, None), NAME), NAME, f"add --on {CONTROL}")
    assert not describe_missing_controls(records(60.0, 50.0), NAME)
    assert not describe_missing_controls(records(60.0, 50.0), CONTROL)
    assert not describe_missing_controls([], "mine.jsonl")


def printed(found: list[Record]) -> str:
    console = Console(file=io.StringIO(), width=200, record=True)
    print_measures(found, console)
    return console.export_text(styles=False)


def test_the_terminal_prints_it_after_the_verdict_of_the_same_model() -> None:
    lines = printed([*records(60.0, 59.0), *records(60.0, None, model="bert")]).splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("en: significant"))
    assert lines[first + 1].startswith(f"en, the control {CONTROL} has CPS 59.0")
    assert sum(f"add --on {CONTROL}" in line for line in lines) == 1


def test_the_report_has_a_table_and_a_sentence_in_the_headline() -> None:
    run = pairs(["gpt2"])
    found = records(60.0, 59.0)
    html, _ = make_report([("run", Result(run.scores, found, run.manifest))])
    assert "Comparison with the control" in html
    assert html.count(WHY) == 2
    assert "1.0 points [-1.8, 3.8]" in html
    html, _ = make_report([("run", Result(run.scores, records(60.0, None), run.manifest))])
    assert "Comparison with the control" not in html
    assert f"add --on {CONTROL}" in html


def test_a_control_of_one_bias_type_is_shown_with_its_name() -> None:
    found = []
    for one in records(60.0, 50.0):
        groups = ["gender"] if one.benchmark == CONTROL else ["age", "gender"]
        found += [one, *(replace(one, view="bias_type", group=group) for group in groups)]
    (contrast,) = list_contrasts(found, NAME)
    assert controls.describe_location(contrast.record) == "English (gender)"
    assert f"en gender, the control {CONTROL} has" in printed(found)
