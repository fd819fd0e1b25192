"""Slopes by size: re-derived by least squares, and which models they are of."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import tiltmeter
from tests.comparing.test_groups import preferences
from tests.runs.made import association_scores, chosen_scores, run, saved
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.comparing.attributes import DescribedModel, ModelAttributes
from tiltmeter.comparing.comparison import compare
from tiltmeter.comparing.size_comparison import compare_sizes, parse_parameter_count
from tiltmeter.comparing.size_slopes import POOLED, SizeComparison, SizeSlope
from tiltmeter.errors import UsageError
from tiltmeter.measures.multiple_testing import adjust_holm
from tiltmeter.runs.manifest import build_model_entry
from tiltmeter.runs.result import Result

SIZES = {"a": (1e7, 1e8, 1e9, 4e9, 1e10), "b": (2e8, 1e9), "c": (5e8,)}


def named() -> list[tuple[str, float]]:
    return [(f"{family}-{size:g}", size) for family, sizes in SIZES.items() for size in sizes]


@cache
def models() -> tuple[tuple[str, Result], ...]:
    return tuple(
        (name, run(association_scores(name, seed=seed, lean=0.4 * np.log10(size / 1e7), n=40)))
        for seed, (name, size) in enumerate(
            (f"{family}-{size:g}", size) for family, all_ in SIZES.items() for size in all_
        )
    )


def attributes() -> ModelAttributes:
    return ModelAttributes(
        {name: DescribedModel(name, {"family": name[0], "parameters": size}) for name, size in named()}
    )


@cache
def compared() -> SizeComparison:
    return compare_sizes(models(), attributes(), measures=["SS"])


def of(family: str, part: str = "intrasentence") -> SizeSlope:
    (found,) = (slope for slope in compared().slopes if (slope.family, slope.part) == (family, part))
    return found


def test_the_slope_of_a_family_is_that_of_least_squares() -> None:
    found = of("a")
    answers = preferences(models()[:5], "intrasentence")
    sizes = np.log10(SIZES["a"])
    line = stats.linregress(sizes, answers.mean(axis=1))
    assert found.estimate.value == pytest.approx(line.slope)
    assert [model.value for model in found.models] == pytest.approx(answers.mean(axis=1).tolist())
    slopes = np.array([stats.linregress(sizes, column).slope for column in answers.T])
    clusters = np.bincount(np.arange(40) % 20, (slopes - slopes.mean()) / 40)
    variance = max(np.var(slopes, ddof=1) / 40, 20 / 19 * np.sum((clusters - clusters.mean()) ** 2))
    reach = stats.t.ppf(0.975, 19) * np.sqrt(variance)
    assert reach <= found.estimate.high - found.estimate.value + 1e-9 < 1.05 * reach  # McNemar's test may reach further
    residuals = np.array([column - np.polyval(np.polyfit(sizes, column, 1), sizes) for column in answers.T]).T
    residuals -= residuals.mean(axis=1, keepdims=True)
    squares = np.sum((sizes - sizes.mean()) ** 2)
    noise = np.sum(residuals**2) / 3 / 39 / 40 / squares  # 5 - 2 models, 40 items
    both = max(line.stderr**2 + variance - noise, line.stderr**2, variance)
    df = both**2 / (line.stderr**4 / 3 + variance**2 / 19)
    over = found.estimate.over_members
    assert over is not None
    assert over.high - found.estimate.value == pytest.approx(stats.t.ppf(0.975, df) * np.sqrt(both))
    assert of("b").estimate.over_members is None


def test_within_families_each_has_its_own_intercept() -> None:
    found = of(POOLED)
    answers = preferences(models()[:7], "intrasentence").mean(axis=1)
    sizes = np.log10([*SIZES["a"], *SIZES["b"]])
    design = np.column_stack([[1] * 5 + [0] * 2, [0] * 5 + [1] * 2, sizes])
    coefficients, (residual,), *_ = np.linalg.lstsq(design, answers, rcond=None)
    assert found.estimate.value == pytest.approx(coefficients[2])
    centred = sizes - np.array([sizes[:5].mean()] * 5 + [sizes[5:].mean()] * 2)
    error = np.sqrt(residual / 4 / np.sum(centred**2))
    over = found.estimate.over_members
    assert over is not None
    assert over.high - over.low >= 2 * error * stats.t.ppf(0.975, 100)


def test_the_slope_of_two_models_has_the_test_of_their_difference() -> None:
    """Four of 200 items differ, all in one direction: significant by the t-test alone, not by McNemar's."""
    small = chosen_scores("a-1e+07", 50.0, n=200, parts=("intrasentence",), targets=200)
    large = small.assign(model="a-1e+08")
    others = large[(large["role"] == "stereotype") & (large["score"] < 0)].index[:4]
    large.loc[others, "score"] = 3.0
    runs = [("small", run(small)), ("large", run(large))]
    (slope,) = compare_sizes(runs, attributes(), measures=["SS"]).slopes
    (difference,) = compare(runs, measures=["SS"]).differences
    assert slope.estimate.value == pytest.approx(-difference.contrast.difference) == pytest.approx(2.0)
    assert slope.estimate.p_value == pytest.approx(difference.contrast.p_value)
    assert slope.estimate.p_value > 0.05
    assert (slope.estimate.low, slope.estimate.high) == pytest.approx(
        (-difference.contrast.high, -difference.contrast.low)
    )


def test_models_of_different_kinds_have_slopes_of_their_own() -> None:
    causal = [
        (name, run(association_scores(name, seed=90 + at, n=20, parts=("intrasentence",)), kind="causal"))
        for at, (name, _) in enumerate((*named()[:2], *named()[5:7]))
    ]
    found = compare_sizes([*models()[2:5], *causal], attributes(), measures=["SS"])
    titles = {(slope.subject, slope.family, len(slope.models)) for slope in found.slopes}
    assert titles == {
        ("stereoset:en (masked, published)", "a", 3),
        ("stereoset:en (causal, published)", "a", 2),
        ("stereoset:en (causal, published)", "b", 2),
        ("stereoset:en (causal, published)", POOLED, 4),
    }
    assert any(note.startswith("Not used in one regression") for note in found.notes)


def test_a_model_has_the_interval_that_it_has_in_its_run() -> None:
    result = models()[0][1]
    (record,) = (r for r in result.records if (r.measure, r.part, r.view) == ("SS", "overall", "all"))
    model = of("a", "overall").models[0]
    assert (model.value, model.low, model.high) == pytest.approx((record.value, record.low, record.high))


def test_families_of_tests() -> None:
    slopes = compared().slopes
    for pooled in (True, False):
        family = [s for s in slopes if (s.family == POOLED) == pooled and s.part == "intrasentence"]
        assert [s.p_holm for s in family] == adjust_holm([s.estimate.p_value for s in family])


def test_a_contradictory_model_is_left_out_of_the_pooled_slope_only() -> None:
    shares = {"s-1": 55.0, "s-2": 60.0, "s-3": {"intrasentence": 65.0, "intersentence": 35.0}}
    runs = [(name, run(chosen_scores(name, ss, n=300, seed=3))) for name, ss in shares.items()]
    sizes = {name: DescribedModel(name, {"family": "s", "parameters": 10.0**at}) for at, name in enumerate(shares, 7)}
    found = compare_sizes(runs, ModelAttributes(sizes), measures=["SS"])
    counts = {(slope.quantity.name, slope.part): len(slope.models) for slope in found.slopes if slope.family == "s"}
    assert counts["SS", "overall"] == 2
    assert counts["SS", "intrasentence"] == counts["SS", "intersentence"] == 3
    (note,) = [note for note in found.notes if note.startswith("Left out")]
    assert_mentions(note, "in SS", "contradictory: s-3")


def test_models_that_are_left_out() -> None:
    notes = compared().notes
    (single,) = (note for note in notes if "on stereoset/intrasentence:en" in note and "factor of 1.25" in note)
    assert_mentions(single, "Left out", "1.25: c.")
    near = {
        name: DescribedModel(name, {"family": "a", "parameters": size})
        for (name, _), size in zip(named()[:2], (100, 124), strict=True)
    }
    with raises_mentioning(UsageError, "factor of 1.25: a."):
        compare_sizes(models()[:2], ModelAttributes(near), measures=["SS"])
    some = ModelAttributes({name: model for name, model in attributes().models.items() if name != "a-1e+07"})
    assert any("family is not given: a-1e+07" in note for note in compare_sizes(models(), some).notes)
    with raises_mentioning(UsageError, "family is not given", "--attributes"):
        compare_sizes(models(), ModelAttributes({}))
    with raises_mentioning(UsageError, "in CPS", "LMS, SS"):
        compare_sizes(models(), attributes(), measures=["CPS"])
    single = [(name, run(association_scores(name, seed=at, n=1))) for at, name in enumerate(("a-1e+07", "a-1e+08"))]
    with raises_mentioning(UsageError, "a, whose", "the same", "in SS"):
        compare_sizes(single, attributes(), measures=["SS"])
    twins = [(name, run(association_scores(name, seed=3, n=10))) for name in ("a-1e+07", "a-1e+08")]
    with raises_mentioning(UsageError, "a, whose models", "same answers in SS"):
        compare_sizes(twins, attributes(), measures=["SS"])


@pytest.mark.parametrize(
    ("given", "number"),
    [
        ("70m", 7e7),
        ("1.4B", 1.4e9),
        (124_000_000, 1.24e8),
        ("7 b", 7e9),
        (1.5e9, 1.5e9),
        ("2000", 2000.0),
        ("124e6", 1.24e8),
        (2e16, 2e16),
        (".5b", 5e8),
    ],
)
def test_sizes_are_read(given: str | int | float, number: float) -> None:
    assert parse_parameter_count(DescribedModel("m", {"size": given})) == number
    assert parse_parameter_count(DescribedModel("m", {"parameters": 5, "size": given})) == 5


@pytest.mark.parametrize("given", ["large", "1.2.3b", ".", "8x7b", 0, -5, True, ""])
def test_other_sizes_are_refused(given: str | int | bool) -> None:
    with raises_mentioning(UsageError, f"m is {given!r}", "1.4b"):
        parse_parameter_count(DescribedModel("m", {"size": given}))


def test_sizes_come_from_the_manifest_and_families_from_the_plan(tmp_path: Path) -> None:
    folders = []
    for name, result in models()[:2]:
        (entry,) = result.manifest.models
        sized = build_model_entry({**entry.details, "parameters": int(float(name[2:]))})
        manifest = replace(result.manifest, models=(sized,))
        folders.append(saved(tmp_path / name, replace(result, manifest=manifest)))
    (tmp_path / "plan.toml").write_text(
        "".join(f'[[models]]\nname = "{name}"\nattributes = {{ family = "a" }}\n' for name, _ in models()[:2])
    )
    found = tiltmeter.compare_sizes(folders, measures=["SS"])
    assert [model.parameters for model in found.slopes[0].models] == [1e7, 1e8]
    assert len(found.to_frame()) == 3
