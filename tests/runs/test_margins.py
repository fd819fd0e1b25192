"""Equivalence margins that override those of the measures."""

import json
import math
from pathlib import Path

import pytest

from tests.reports import made
from tests.runs.made import chosen_scores, gest_scores, pair_scores, run
from tests.runs.test_prediction_run import predictions
from tests.support.messages import raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.runs.measurement import read_margins
from tiltmeter.runs.prediction_run import score_predictions
from tiltmeter.runs.result import Result
from tiltmeter.runs.translation_run import score_translations


def verdict(result: Result, measure: str = "SS", part: str = "overall") -> str:
    (record,) = (r for r in result.records if (r.measure, r.part, r.view) == (measure, part, "all"))
    assert record.verdict is not None
    return record.verdict.words


def test_margins_change_verdicts() -> None:
    even, biased = (chosen_scores(ss=ss, n=1500) for ss in (50.2, 59.0))
    assert verdict(run(even)) == "no bias beyond ±5 points"
    assert verdict(run(even, margins={"SS": 8.0})) == "no bias beyond ±8 points"
    assert verdict(run(even, margins={"SS": 2.0})).startswith("inconclusive (")
    assert verdict(run(even, margins={"SS": 1.0})).startswith("too few items (")  # an interval wider than four margins
    assert verdict(run(biased)) == "significant bias towards stereotypes, beyond 5 points"
    assert verdict(run(biased, margins={"SS": 20.0})) == "significant bias towards stereotypes, within ±20 points"


def test_all_rows_of_the_measure_and_its_control_have_the_margin() -> None:
    scores = chosen_scores(ss=55.0, n=200, parts=["intersentence"]).assign(length_difference=1)
    scores.loc[scores["item"].str[-1].astype(int) < 5, "length_difference"] = -1
    result = run(scores, margins={"SS": 3.0})
    assert {r.margin for r in result.records if r.measure == "SS"} == {3.0}
    assert {r.margin for r in result.records if r.measure == "SS balanced by length"} == {3.0}


def test_margins_apply_to_one_measure() -> None:
    result = run(pair_scores(n=200), family="pairs", margins={"CPS": 3.0})
    margins = {r.measure: r.margin for r in result.records if r.view == "all" and r.margin is not None}
    assert margins == {"CPS": 3.0, "S_JSD x 1e3": 2.5}
    of_gest = run(gest_scores(n=320), family="gest", margins={"g_s": 1.5})
    margins = {r.measure: r.margin for r in of_gest.records if r.margin is not None}
    assert margins == {"g_s": 1.5, "g_s of stereotypes like these": 1.5}


def test_margins_are_part_of_the_request(tmp_path: Path) -> None:
    def scored(margins: dict[str, float] | None, *, force: bool = False) -> Result:
        path = predictions(tmp_path, "gpt2_GPT2LM_GPT2LM_d_en")
        given = {"form": "stereotypes-multi", "on": "starter:en", "out": tmp_path / "run", "force": force}
        return score_predictions(path, margins=margins, **given)  # type: ignore[arg-type]

    result = scored({"SS": 3.0})
    assert result.manifest.request["margins"] == {"SS": 3.0}
    assert result.manifest.statistics.margins == {"SS": 3.0}
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["statistics"]["margins"] == {"SS": 3.0}
    assert {r.margin for r in Result.load(tmp_path / "run").records if r.measure == "SS"} == {3.0}
    with raises_mentioning(UsageError, str(tmp_path / "run"), "--force"):
        scored(None)
    again = scored(None, force=True)
    assert "margins" not in again.manifest.request
    assert again.manifest.statistics.margins == {}


def test_margins_of_translation_runs(tmp_path: Path) -> None:
    stereotypes = {f"I wept {number}.": number % 16 + 1 for number in range(32)}
    sentences = [
        {"id": str(number), "language": "en", "stereotype": stereotype, "sentence": sentence}
        for number, (sentence, stereotype) in enumerate(stereotypes.items())
    ]
    path = made.file_of(tmp_path, sentences)
    file = tmp_path / "sk.csv"
    file.write_text("from,to\n" + "".join(f"{sentence},Bola som tam.\n" for sentence in stereotypes))
    result = score_translations(file, system="ada", on=f"{path}:sk", margins={"f_s": 0.1})
    assert result.manifest.request["margins"] == {"f_s": 0.1}
    assert result.manifest.statistics.margins == {"f_s": 0.1}
    assert {r.margin for r in result.records if r.measure == "f_s"} == {0.1}


def test_measure_names_may_be_abbreviated() -> None:
    assert read_margins({"S_JSD": 3.0, "g_s": 1.5}) == {"S_JSD x 1e3": 3.0, "g_s": 1.5}
    assert read_margins(None) == {}


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ({"SSS": 3.0}, ("'SSS'", "(did you mean SS?)", "SS, ")),
        ({"LMS": 3.0}, ("'LMS'",)),
        ({"SS": 0.0}, ("margin 0 of SS", "greater than 0.")),
        ({"SS": -3.0}, ("margin -3 of SS", "greater than 0.")),
        ({"SS": math.nan}, ("margin nan of SS", "greater than 0.")),
        ({"g_s": 1.0}, ("margin 1 of g_s", "greater than 1.")),
        ({"SS": 50.0}, ("margin 50 of SS", "less than 50.")),
        ({"SS": math.inf}, ("margin inf of SS", "less than 50.")),
        ({"g_s": math.inf}, ("margin inf of g_s", "too large")),
    ],
)
def test_invalid_margins_are_errors(given: dict[str, float], parts: tuple[str, ...]) -> None:
    with raises_mentioning(UsageError, *parts):
        read_margins(given)
