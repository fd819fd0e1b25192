"""Variation between templates, against SciPy and statsmodels and on simulated data."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats

from tests.measures.present import present
from tiltmeter.measures import gest, pairs
from tiltmeter.measures.measure import get_measure
from tiltmeter.measures.records import OVERALL, Record
from tiltmeter.measures.template_variation import TemplateVariation
from tiltmeter.measures.verdict_rule import assign_verdicts

CASE = {"model": "m", "language": "en", "protocol": "published"}


def of_pairs(shares: list[int], of: int = 40) -> list[Record]:
    """The records of pairs from templates, each with this number of preferences for the more stereotypical sentence."""
    rows = [
        {"item": f"{template}-{number:03}", "template": f"t{template}", "role": role, "score": score}
        for template, share in enumerate(shares)
        for number in range(of)
        for role, score in (("more", 1.0 if number < share else -1.0), ("less", 0.0))
    ]
    labels = {"benchmark": "made", "part": "all", "bias_type": "gender", "direction": "stereo"}
    return assign_verdicts(pairs.measure(pd.DataFrame(rows).assign(**CASE, **labels)))


def of_gest(leans: list[float], n: int = 40, noise: float = 0.5) -> list[Record]:
    """The records of templates with these true values of log g_s."""
    rng = np.random.default_rng(5)
    common = {(number, index): rng.normal(0, 0.4) for number in range(1, 17) for index in range(n)}
    rows = [
        {
            "part": f"template-{template + 1}",
            "item": f"{number}-{index}",
            "stereotype": number,
            "role": "log_ratio",
            "score": lean * (number > 7) + common[number, index] + rng.normal(0, noise),
        }
        for template, lean in enumerate(leans)
        for number in range(1, 17)
        for index in range(n)
    ]
    return assign_verdicts(gest.measure(pd.DataFrame(rows).assign(**CASE, benchmark="gest"), resamples=20))


def pick(records: list[Record], name: str) -> Record:
    (result,) = (record for record in records if record.measure == name and record.view == "all")
    return result


@pytest.mark.parametrize("sizes", [(10, 10, 10, 10), (3, 8, 21, 14)])
def test_from_items_is_a_one_way_anova(sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(sum(sizes))
    groups = [rng.normal(index, 2.0, n) for index, n in enumerate(sizes)]
    values, labels = np.concatenate(groups), np.repeat(np.arange(4), sizes).astype(object)
    result = TemplateVariation.from_items(values, labels)
    assert result is not None
    assert result.count == 4
    assert result.p_value == pytest.approx(stats.f_oneway(*groups).pvalue)
    if len(set(sizes)) == 1:
        frame = pd.DataFrame({"value": values, "label": labels.astype(str)})
        fitted = smf.mixedlm("value ~ 1", frame, groups=frame["label"]).fit(reml=True)
        assert result.deviation == pytest.approx(float(fitted.cov_re.iloc[0, 0]) ** 0.5, rel=1e-3)


def test_two_templates_of_the_same_sentences_are_a_paired_t_test() -> None:
    rng = np.random.default_rng(3)
    first = rng.normal(size=30)
    second = first + rng.normal(0.3, 0.6, 30)
    both = np.stack([first, second], axis=1)
    result = TemplateVariation.from_influences(
        both.mean(axis=0), (both - both.mean(axis=0)) / 30, np.zeros(30, dtype=object)
    )
    assert present(result).p_value == pytest.approx(stats.ttest_rel(first, second).pvalue)
    # The variance of the two values minus their sampling variance.
    difference = second - first
    expected = difference.mean() ** 2 / 2 - difference.var(ddof=1) / 30 / 2
    assert present(result).deviation == pytest.approx(max(0.0, expected) ** 0.5)


def test_too_little_data_gives_none() -> None:
    one_each = np.array(["a", "b", "c"], dtype=object)
    assert TemplateVariation.from_items(np.array([1.0, 2.0, 3.0]), one_each) is None
    assert TemplateVariation.from_items(np.array([1.0, 2.0]), np.array(["a", "a"], dtype=object)) is None
    alike = np.array(["a", "a", "b", "b"], dtype=object)
    assert TemplateVariation.from_items(np.array([1.0, 1.0, 2.0, 2.0]), alike) is None
    strata = np.zeros(4, dtype=object)
    same = np.repeat(np.array([[0.1], [0.2], [-0.2], [-0.1]]), 2, axis=1)
    assert TemplateVariation.from_influences(np.array([0.0, 0.0]), same, strata) is None  # the same answers twice
    assert TemplateVariation.from_influences(np.array([0.0, 1.0]), same[:1], strata[:1]) is None


@pytest.mark.parametrize("templates", [5, 20])
def test_type_i_error_of_the_anova_is_at_most_six_percent(templates: int) -> None:
    rng = np.random.default_rng(templates)
    labels, times = np.repeat(np.arange(templates), 20).astype(object), 800
    drawn = [TemplateVariation.from_items(100.0 * (rng.random(len(labels)) < 0.55), labels) for _ in range(times)]
    wrong = np.mean([variation is not None and variation.p_value < 0.05 for variation in drawn])
    assert 0.02 < wrong <= 0.06 + 2 * (0.06 * 0.94 / times) ** 0.5


def test_type_i_error_and_estimate_for_the_same_sentences() -> None:
    rng = np.random.default_rng(9)
    strata, times = np.repeat(np.arange(16), 8).astype(object), 800

    def draw(deviation: float) -> TemplateVariation:
        values = rng.normal(size=(128, 1)) + rng.normal(size=(128, 4)) + deviation * rng.normal(size=4)
        influence = (values - values.reshape(16, 8, 4).mean(axis=1).repeat(8, axis=0)) / 128
        result = TemplateVariation.from_influences(values.mean(axis=0), influence, strata)
        return present(result)

    assert np.mean([draw(0.0).p_value < 0.05 for _ in range(times)]) <= 0.06 + 2 * (0.06 * 0.94 / times) ** 0.5
    variances = [draw(1.0).deviation ** 2 for _ in range(times)]
    assert np.mean(variances) == pytest.approx(1.0, abs=0.12)


def test_template_spread_of_cps() -> None:
    result = pick(of_pairs([36, 4, 34, 6, 30, 10]), "template spread of CPS")
    assert (result.n, result.low, result.margin, result.verdict) == (6, None, None, None)
    assert result.why
    assert result.value > 60
    assert present(result.p_adjusted) < 0.001
    agreeing = pick(of_pairs([24, 24, 24, 24, 24, 24]), "template spread of CPS")
    assert agreeing.value == 0
    assert present(agreeing.p_value) > 0.9
    assert not [record for record in of_pairs([24]) if "spread" in record.measure]


def test_template_spread_of_g_s_is_a_factor_of_the_overall_part() -> None:
    result = pick(of_gest([0.2, 0.9]), "template spread of g_s")
    assert (result.part, result.n) == (OVERALL, 2)
    assert result.value == pytest.approx(np.exp(2 * 0.7 / 2**0.5), rel=0.2)
    assert present(result.p_adjusted) < 0.001
    agreeing = pick(of_gest([0.5, 0.5, 0.5]), "template spread of g_s")
    assert 1 <= agreeing.value < 1.22
    single = of_gest([0.5])
    assert not [record for record in single if "spread" in record.measure]


def test_template_spread_has_a_meaning_and_no_verdict() -> None:
    for name in ("CPS", "S_JSD x 1e3", "g_s"):
        measure = get_measure(get_measure(name).template_spread)
        assert name in measure.meaning
        assert measure.margin is None
        assert not measure.decides
