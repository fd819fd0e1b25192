"""Runs on other stereotypes than GEST's sixteen: language models, chat models, translations, comparisons, gates."""

import math
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean

import pandas as pd
import pytest

from tests.benchmarks.test_gest import SINGLE
from tests.models.chat_served import MadeChat, options_of
from tests.runs.own_stereotypes import MIXED, THREE, TWENTY_FIVE, WOMEN, own_file
from tests.runs.test_gest import saved
from tests.support.messages import assert_mentions, raises_mentioning
from tests.translators.fake import FakeTranslator
from tiltmeter import evaluate
from tiltmeter.comparing import compare
from tiltmeter.comparing.gate_check import check
from tiltmeter.comparing.gate_rules import parse_rule
from tiltmeter.errors import UsageError
from tiltmeter.measures.records import Record
from tiltmeter.reports.report_page import make_report
from tiltmeter.runs.result import Result
from tiltmeter.runs.translation_run import evaluate_translator

Stereotypes = Mapping[int, tuple[str, str]]
SETS = [THREE, TWENTY_FIVE, MIXED]


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> str:
    return saved(tmp_path_factory.mktemp("models") / "masked", SINGLE)


@pytest.fixture(scope="module")
def causal(tmp_path_factory: pytest.TempPathFactory) -> str:
    return saved(tmp_path_factory.mktemp("models") / "causal", SINGLE, "gpt2")


def pick(result: Result, measure: str, **where: str) -> Record:
    wanted = {"view": "all", "group": "all", **where}
    (record,) = (
        r for r in result.records if r.measure == measure and all(getattr(r, key) == v for key, v in wanted.items())
    )
    return record


def side_means(rows: pd.DataFrame, stereotypes: Stereotypes) -> dict[str, float]:
    """Return the mean over stereotypes of their mean scores, by side."""
    means = {number: fmean(rows["score"][rows["stereotype"] == number]) for number in stereotypes}
    return {
        wanted: fmean(mean for number, mean in means.items() if stereotypes[number][0] == wanted)
        for wanted in ("feminine", "masculine")
    }


@pytest.mark.parametrize("stereotypes", SETS, ids=["three", "twenty-five", "mixed"])
def test_language_models(stereotypes: Stereotypes, masked: str, causal: str, tmp_path: Path) -> None:
    result = evaluate([masked, causal], str(own_file(tmp_path, stereotypes)), out=tmp_path / "run")
    for model in (masked, causal):
        rows = result.scores[(result.scores["model"] == model) & (result.scores["part"] == "template-3")]
        means = side_means(rows, stereotypes)
        where = {"model": model, "part": "template-3"}
        g_s = pick(result, "g_s", **where)
        assert g_s.value == pytest.approx(math.exp(means["masculine"] - means["feminine"]))
        assert g_s.value != pytest.approx(1.0)
        assert g_s.n == 6 * len(stereotypes)
        assert pick(result, "q_m", **where).value == pytest.approx(math.exp(means["masculine"]))
        for number, (_, name) in stereotypes.items():
            q_i = pick(result, "q_i", **where, view="stereotype", group=str(number))
            assert q_i.label == (f"{number} {name}" if name else None)
            sub = rows["score"][rows["sub_stereotype"] == f"{number} kind 0"]
            kind = pick(result, "q_i", **where, view="sub_stereotype", group=f"{number} kind 0")
            assert (kind.value, kind.n) == (pytest.approx(math.exp(fmean(sub))), 2)
    ranks = [r.value for r in result.records if (r.model, r.part, r.measure) == (masked, "template-3", "feminine rank")]
    assert sorted(ranks) == [*range(1, len(stereotypes) + 1)]
    assert result.manifest.notes == ()
    again = Result.load(tmp_path / "run")
    assert [r.label for r in again.records] == [r.label for r in result.records]


def swayed(prompt: str, _sample: int = 0) -> str:
    """Choose the speaker by the gender that the sentence names, except for some of the sentences."""
    masculine = "female" not in prompt and "well well well well" not in prompt
    return next(
        label for label, text in options_of(prompt).items() if (text in ("a man", "he", "the man")) == masculine
    )


@pytest.mark.parametrize("stereotypes", SETS, ids=["three", "twenty-five", "mixed"])
def test_chat_models(stereotypes: Stereotypes, tmp_path: Path) -> None:
    result = evaluate(MadeChat(swayed, "chat:made"), str(own_file(tmp_path, stereotypes)))
    rows = result.scores[result.scores["role"] == "masculine preference"]
    means = side_means(rows, stereotypes)
    gap = pick(result, "masculine choice gap")
    assert gap.value == pytest.approx(100 * (means["masculine"] - means["feminine"])) == pytest.approx(100 * 4 / 6)
    for number, (side, name) in stereotypes.items():
        by_stereotype = pick(result, "masculine choices", view="stereotype", group=str(number))
        assert by_stereotype.value == pytest.approx(100 * 4 / 6 if side == "masculine" else 0.0)
        assert by_stereotype.label == (f"{number} {name}" if name else None)
        kind = pick(result, "masculine choices", view="sub_stereotype", group=f"{number} kind 1")
        assert (kind.value, kind.n) == (100.0 if side == "masculine" else 0.0, 1)


def slovak(text: str) -> str:
    """Return a masculine sentence for male things, except for some a feminine or a neutral one."""
    if "female" in text or "well well well well well" in text:
        return "Spala som doma."
    return "Som doma." if text.endswith("well well.") else "Spal som doma."


@pytest.mark.parametrize("stereotypes", SETS, ids=["three", "twenty-five", "mixed"])
def test_translation_systems(stereotypes: Stereotypes, tmp_path: Path) -> None:
    result = evaluate_translator(FakeTranslator(say=slovak), on=f"{own_file(tmp_path, stereotypes, 24)}:sk")
    rates: dict[str, list[float]] = {"feminine": [], "masculine": []}
    z_squared = 1.959963984540054**2
    for number, (side, name) in stereotypes.items():
        genders = result.scores["score"][result.scores["stereotype"] == number].dropna()
        rate = (genders.sum() + z_squared / 2) / (len(genders) + z_squared)
        rates[side].append(rate)
        p_i = pick(result, "p_i", view="stereotype", group=str(number))
        assert (p_i.value, p_i.label) == (pytest.approx(rate), f"{number} {name}" if name else None)
        sub = result.scores["score"][result.scores["sub_stereotype"] == f"{number} kind 0"].dropna()
        kind = pick(result, "p_i", view="sub_stereotype", group=f"{number} kind 0")
        assert kind.value == pytest.approx((sub.sum() + z_squared / 2) / (len(sub) + z_squared))
    assert pick(result, "f_s").value == pytest.approx(fmean(rates["masculine"]) - fmean(rates["feminine"]))
    assert pick(result, "f_m").value == pytest.approx((fmean(rates["masculine"]) + fmean(rates["feminine"])) / 2)


def test_one_side_only_has_no_gap_and_a_note(masked: str, causal: str, tmp_path: Path) -> None:
    path = own_file(tmp_path, WOMEN)
    likely = evaluate([masked, causal], str(path))
    chosen = evaluate(MadeChat(swayed, "chat:made"), str(path))
    translated = evaluate_translator(FakeTranslator(say=slovak), on=f"{path}:sk")
    for result, gap, rate in ((likely, "g_s", "q_f"), (chosen, "masculine choice gap", ""), (translated, "f_s", "p_f")):
        assert not {r.measure for r in result.records} & {gap, f"{gap} of stereotypes like these", "f_m", "q_m", "p_m"}
        note = result.manifest.notes[-1]
        assert note.startswith(f"{gap} of ")
        assert_mentions(note, "is not defined", "about women")
        assert not rate or [r for r in result.records if r.measure == rate]
        page, _ = make_report([("run", result)])
        assert page.count("is not defined:") == 2 * len(set(result.scores["model"]))
        assert "18 women are thrifty" in page
    means = likely.scores.groupby(["model", "part", "stereotype"])["score"].mean()
    q_f = pick(likely, "q_f", model=masked, part="template-1").value
    assert q_f == pytest.approx(math.exp(fmean(means[masked, "template-1", n] for n in WOMEN)))


def test_two_models_are_compared_and_gated(causal: str, masked: str, tmp_path: Path) -> None:
    path = str(own_file(tmp_path, THREE))
    both = evaluate([masked, causal], f"{path}/template-3")
    comparison = compare([("both", both)], across=["kinds"])
    (difference,) = comparison.differences
    means = {model: side_means(rows, THREE) for model, rows in both.scores.groupby("model")}
    gaps = {model: of["masculine"] - of["feminine"] for model, of in means.items()}
    assert difference.contrast.left == pytest.approx(gaps[masked])
    assert difference.contrast.right == pytest.approx(gaps[causal])
    assert difference.contrast.test == "paired t within stereotypes"
    alone = evaluate(masked, path)
    (verdict,) = check(alone, [parse_rule("max", f"{path}.g_s 1000")], lenient=True)
    assert verdict.passed
    by_number = check(alone, [parse_rule("max", f"{path}/template-1.q_i[stereotype=17] 1000")], lenient=True)
    assert len(by_number) == 1
    unchanged = check(alone, [parse_rule("no-worse-than", f"{path}.log g_s 0.1")], baseline=alone)
    assert all(verdict.passed for verdict in unchanged)


def test_one_side_cannot_be_compared_in_a_gap(causal: str, masked: str, tmp_path: Path) -> None:
    path = str(own_file(tmp_path, WOMEN))
    both = evaluate([masked, causal], f"{path}/template-3")
    with raises_mentioning(UsageError, "log g_s", "one side"):
        compare([("both", both)], across=["kinds"])
    three = evaluate([masked, causal], [f"{own_file(tmp_path, THREE)}/template-3", f"{path}/template-3"])
    comparison = compare([("three", three)], across=["kinds"])
    assert len(comparison.differences) == 1
    assert any("log g_s" in note for note in comparison.notes)
    alone = evaluate(masked, path)
    with raises_mentioning(UsageError, "log g_s"):
        check(alone, [parse_rule("no-worse-than", f"{path}.log g_s 0.1")], baseline=alone)
