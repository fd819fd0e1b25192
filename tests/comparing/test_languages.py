"""Languages compared over several models: which results are analysed together, and the numbers re-derived."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tiltmeter
from tests.comparing.test_groups import preferences
from tests.runs.made import association_scores, half_sensible_scores, run, saved
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.cli import app
from tiltmeter.comparing.attributes import DescribedModel, ModelAttributes
from tiltmeter.comparing.crossed_languages import compare_languages
from tiltmeter.comparing.language_comparison import LanguageAnalysis, LanguageComparison
from tiltmeter.comparing.language_results import LIKE, SAME, THESE
from tiltmeter.errors import UsageError
from tiltmeter.measures.multiple_testing import adjust_holm
from tiltmeter.measures.verdict_rule import WHOLE_RUN
from tiltmeter.runs.result import Result

LANGUAGES = ("de", "en", "tr")
LEANS = {"de": 0.0, "en": 0.8, "tr": 0.0}
NONE = ModelAttributes({})


def scores(model: str, languages: tuple[str, ...], seed: int, n: int = 40) -> pd.DataFrame:
    table: pd.DataFrame = pd.concat(
        [
            association_scores(model, language=language, seed=100 * seed + place, lean=LEANS[language], n=n)
            for place, language in enumerate(languages)
        ]
    )
    return table


@cache
def runs() -> tuple[tuple[str, Result], ...]:
    """Three models in all languages, and two more in each."""
    several = [(f"all-{number}", run(scores(f"all-{number}", LANGUAGES, number))) for number in range(3)]
    single = [
        (f"{language}-{number}", run(scores(f"{language}-{number}", (language,), 10 + 3 * number + place)))
        for number in range(2)
        for place, language in enumerate(LANGUAGES)
    ]
    return (*several, *single)


@cache
def compared() -> LanguageComparison:
    return compare_languages(runs(), NONE, measures=["SS", "LMS"])


def of(measure: str = "SS", part: str = "intrasentence") -> LanguageAnalysis:
    (found,) = (one for one in compared().analyses if (one.quantity.name, one.part) == (measure, part))
    return found


def test_a_language_mean_is_the_mean_of_all_of_its_models() -> None:
    used = [one for one in runs() if one[0].startswith(("all", "en"))]
    expected = preferences(tuple(used), "intrasentence", "en")
    (mean,) = (mean for mean in of().these.means if mean.language == "en")
    assert mean.models == 5
    assert mean.value == pytest.approx(expected.mean())
    assert of().languages == LANGUAGES
    assert of().items == 40


def test_the_same_models_are_those_of_all_languages() -> None:
    same = of().same
    assert same is not None
    assert (same.scope, same.models) == (SAME, ("all-0", "all-1", "all-2"))
    expected = {language: preferences(runs()[:3], "intrasentence", language).mean() for language in LANGUAGES}
    assert {mean.language: mean.value for mean in same.means} == pytest.approx(expected)
    assert compare_languages(runs()[:3], NONE, measures=["SS"]).analyses[0].same is None


def test_all_pairs_are_corrected_together() -> None:
    for inference in (of().these, of().like):
        assert [(one.left, one.right) for one in inference.differences] == [("de", "en"), ("de", "tr"), ("en", "tr")]
        p_values = [one.estimate.p_value for one in inference.differences]
        assert [one.estimate.p_holm for one in inference.differences] == pytest.approx(adjust_holm(p_values))
        means = {mean.language: mean.value for mean in inference.means}
        for one in inference.differences:
            assert one.estimate.value == pytest.approx(means[one.left] - means[one.right])


def test_all_analyses_can_be_corrected_together() -> None:
    found = compare_languages(runs(), NONE, measures=["SS", "LMS"], families=WHOLE_RUN)
    for scope in ("these", "like"):
        inferences = [getattr(analysis, scope) for analysis in found.analyses]
        joint = [inference.joint for inference in inferences]
        assert [one.p_holm for one in joint] == pytest.approx(adjust_holm([one.p_value for one in joint]))
        effects = [getattr(effect, scope) for analysis in found.analyses for effect in analysis.groups]
        contrasts = [one.estimate for inference in inferences for one in inference.differences]
        contrasts += [effect for effect in effects if effect is not None]
        assert {one.tests for one in contrasts} == {len(contrasts)}
        assert sorted(one.p_holm for one in contrasts) == pytest.approx(
            sorted(adjust_holm([one.p_value for one in contrasts]))
        )
    assert_mentions(found.sentence, "corrected for 6 tests")


def test_a_language_with_more_bias_is_found_for_both_scopes() -> None:
    assert (of().these.scope, of().like.scope) == (THESE, LIKE)
    for inference in (of().these, of().like):
        assert inference.joint is not None
        assert inference.joint.significant
        assert inference.largest is not None
        assert "en" in (inference.largest.left, inference.largest.right)


def test_few_models_have_no_statement_on_models_like_these() -> None:
    found = compare_languages(runs()[:3], NONE, measures=["SS"]).analyses[0]
    assert not found.like.means
    assert_mentions(found.like.reason, "at least", "there are 3")
    assert found.these.means
    assert found.quality is None


def test_models_are_grouped_by_the_number_of_languages_and_by_attributes() -> None:
    attributes = ModelAttributes(
        {name: DescribedModel(name, {"instruct": name.endswith("0"), "parameters": 1e8}) for name, _ in runs()}
    )
    effects = compare_languages(runs(), attributes, measures=["SS"]).analyses[0].groups
    assert {(one.members, one.attribute) for one in effects} == {
        ("models", "measured in"),
        ("models", "instruct"),
        ("languages", "family"),
        ("languages", "grammatical gender"),
    }
    (measured,) = (one for one in effects if one.attribute == "measured in")
    differences = []
    for language in LANGUAGES:
        single = tuple(one for one in runs() if one[0].startswith(language))
        several = preferences(runs()[:3], "intrasentence", language)
        differences.append(preferences(single, "intrasentence", language).mean() - several.mean())
    assert (measured.left, measured.right) == ("one language", "several languages")
    assert measured.these.value == pytest.approx(np.mean(differences))
    assert measured.like is not None
    only = compare_languages(runs(), attributes, measures=["SS"], group="instruct").analyses[0].groups
    assert {one.attribute for one in only} == {"instruct"}
    with raises_mentioning(UsageError, "instuct", "instruct"):
        compare_languages(runs(), attributes, group="instuct")


def test_a_given_attribute_is_preferred_to_a_derived_one_with_the_same_groups() -> None:
    single = {name for name, _ in runs() if name.startswith(LANGUAGES)}
    attributes = ModelAttributes(
        {name: DescribedModel(name, {"multilingual": name not in single, "team": "a"}) for name, _ in runs()}
    )
    default = compare_languages(runs(), attributes, measures=["SS"]).analyses[0].groups
    assert [one.attribute for one in default if one.members == "models"] == ["multilingual"]
    (named,) = compare_languages(runs(), attributes, measures=["SS"], group="multilingual").analyses[0].groups
    assert named == next(one for one in default if one.attribute == "multilingual")
    (derived,) = compare_languages(runs(), attributes, measures=["SS"], group="measured in").analyses[0].groups
    assert derived.these.value == pytest.approx(named.these.value)
    with raises_mentioning(UsageError, "team", "'a'", "--group team"):
        compare_languages(runs(), attributes, group="team")


def test_sizes_have_a_slope() -> None:
    attributes = ModelAttributes(
        {name: DescribedModel(name, {"size": 10.0 ** (7 + place % 3)}) for place, (name, _) in enumerate(runs())}
    )
    (effect,) = compare_languages(runs(), attributes, measures=["SS"], group="size").analyses[0].groups
    assert (effect.attribute, effect.left) == ("size", "")
    assert effect.like is not None


def test_shares_of_variance_add_up() -> None:
    shares = {one.name: one.share for one in of().components}
    assert set(shares) == {
        "item", "item × language", "item × model", "language", "model", "model × language", "residual"
    }  # fmt: skip
    assert sum(shares.values()) >= 1 - 1e-9
    for one in of().components:
        assert 0 <= one.share <= 1
        assert one.low <= one.share <= one.high
        assert not one.truncated or one.variance == 0


def test_means_without_suspected_items_are_those_of_the_others() -> None:
    invariance = of().invariance
    assert invariance is not None
    assert invariance.tested == 40
    assert {(one.left, one.right) for one in invariance.correlations} == {("de", "en"), ("de", "tr"), ("en", "tr")}
    assert len(invariance.means_without_suspected) == (3 if invariance.suspected else 0)
    assert invariance.sentence.endswith(".")


def test_bias_is_adjusted_for_quality_but_quality_is_not() -> None:
    quality = of().quality
    assert quality is not None
    assert quality.measure == "LMS"
    assert len(quality.adjusted.means) == 3
    assert_mentions(quality.sentence, "SS", "LMS")
    assert of("LMS").quality is None


def test_measures_are_correlated_over_models() -> None:
    found = {(one.left, one.right): one for one in compared().correlations}
    assert ("LMS, intersentence", "SS, intrasentence") in found or ("SS, intrasentence", "LMS, intersentence") in found
    assert all(one.models == 9 and -1 <= one.correlation <= 1 for one in found.values())


def test_results_that_are_not_interpretable_are_left_out() -> None:
    bad = run(half_sensible_scores("bad", language="de"))
    notes = compare_languages([*runs(), ("bad", bad)], NONE, measures=["SS"]).notes
    assert any("bad" in note and "not interpretable" in note for note in notes)


def test_kinds_are_pooled_only_on_request() -> None:
    def with_kind(result: Result, kind: str) -> Result:
        manifest = result.manifest
        return replace(
            result, manifest=replace(manifest, asked=tuple(replace(one, kind=kind) for one in manifest.asked))
        )

    mixed = [(name, with_kind(one, "masked" if place % 2 else "causal")) for place, (name, one) in enumerate(runs())]
    apart = compare_languages(mixed, NONE, measures=["SS"])
    assert all(len(one.models) < 9 for one in apart.analyses)
    assert any("--across kinds" in note for note in apart.notes)
    together = compare_languages(mixed, NONE, measures=["SS"], across=["kinds"])
    assert all(len(one.models) == 9 for one in together.analyses)
    assert any("across kinds" in note for note in together.notes)
    assert {one.attribute for one in together.analyses[0].groups} >= {"kind"}


def test_each_protocol_is_analysed() -> None:
    other = run(association_scores("all-0", language="de", seed=7, n=40, protocol="in-context"))
    found = compare_languages([*runs(), ("other", other)], NONE, measures=["SS"], over_protocols=True)
    assert [one.protocol for one in found.analyses if one.part == "intrasentence"] == ["published", "in-context"]
    first, second = (one for one in found.analyses if one.part == "intrasentence")
    assert first.these.means[0].value != second.these.means[0].value
    assert first.these.means[1:] == second.these.means[1:]


def test_one_language_is_refused() -> None:
    with raises_mentioning(UsageError, "two languages"):
        compare_languages([one for one in runs() if one[0].startswith("en")], NONE)


def test_results_as_text_table_and_dictionary() -> None:
    assert repr(compared()) == "<LanguageComparison: 6 analyses of 3 languages>"
    assert_mentions(repr(of()), "stereoset", "SS", "9 models")
    table = compared().to_frame()
    assert len(table) == 18
    assert "<table" in compared()._repr_html_()
    found = compared().to_dict()
    assert {"sentence", "analyses", "correlations", "notes"} <= set(found)
    assert {"these_models", "models_like_these", "variance", "invariance", "quality"} <= set(found["analyses"][0])
    assert compared().sentence.count("SS, int") == 2


def test_the_function_and_the_command(tmp_path: Path) -> None:
    folders = [saved(tmp_path / name, result) for name, result in runs()[:3]]
    comparison = tiltmeter.compare_languages(folders, measures=["SS"])
    assert isinstance(comparison, tiltmeter.LanguageComparison)
    done = CliRunner().invoke(app, ["compare", *map(str, folders), "--languages", "--measure", "SS", "--json"])
    assert done.exit_code == 0, done.output
    assert '"models_like_these"' in done.stdout
    shown = CliRunner().invoke(app, ["compare", *map(str, folders), "--languages", "--measure", "SS"])
    assert "SS, intrasentence" in shown.output
