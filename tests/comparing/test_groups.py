"""Groups of models and of languages: which are compared, and the numbers re-derived item by item."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import tiltmeter
from tests.measures.simulated import naive_df
from tests.runs.made import association_scores, chosen_scores, gest_scores, pair_scores, run, saved
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.comparing.attributes import AttributeValue, DescribedModel, ModelAttributes
from tiltmeter.comparing.cells import build_cells
from tiltmeter.comparing.group_difference import GroupComparison, correct_member_tests
from tiltmeter.comparing.grouped_comparison import compare_groups
from tiltmeter.errors import UsageError
from tiltmeter.measures.multiple_testing import adjust_holm
from tiltmeter.runs.result import Result

Runs = tuple[tuple[str, Result], ...]


def described(**models: AttributeValue) -> ModelAttributes:
    """Models with an attribute `instruct`."""
    return ModelAttributes({name: DescribedModel(name, {"instruct": value}) for name, value in models.items()})


@cache
def models(count: int, n: int = 30, languages: tuple[str, ...] = ("en",)) -> Runs:
    return tuple(
        (
            f"run-{at}",
            run(
                *(
                    association_scores(f"m{at}", seed=10 * at + place, lean=0.7 * (at % 2), n=n, language=language)
                    for place, language in enumerate(languages)
                )
            ),
        )
        for at in range(count)
    )


def half(count: int) -> ModelAttributes:
    """Every second model is instructed."""
    return described(**{f"m{at}": bool(at % 2) for at in range(count)})


def preferences(runs: Runs, part: str, language: str = "en") -> np.ndarray:
    """100 where a model prefers the stereotype, 0 where not: a row for each model, a column for each item."""
    rows = []
    for _, result in runs:
        table = result.scores
        table = table[(table["part"] == part) & (table["language"] == language)]
        wide = table.pivot(index="item", columns="role", values="score").sort_index()
        rows.append(100.0 * (wide["stereotype"] > wide["anti-stereotype"]).to_numpy())
    return np.array(rows)


def of(comparison: GroupComparison, part: str, measure: str = "SS"):
    (found,) = (d for d in comparison.differences if (d.part, d.quantity.name) == (part, measure))
    return found


def test_a_difference_is_that_of_the_means_per_item() -> None:
    runs = models(5)
    comparison = compare_groups(runs, "instruct", half(5), measures=["SS"])
    assert {(d.left.label, d.right.label) for d in comparison.differences} == {("instruct=false", "instruct=true")}
    answers = preferences(runs, "intrasentence")
    gaps = answers[::2].mean(axis=0) - answers[1::2].mean(axis=0)
    found = of(comparison, "intrasentence")
    assert found.contrast.difference == pytest.approx(gaps.mean())
    assert found.contrast.n == 30
    clusters = np.array([number % 20 for number in range(30)])
    influence = (gaps - gaps.mean()) / 30
    sums = np.bincount(clusters, influence)
    clustered = 20 / 19 * np.sum((sums - sums.mean()) ** 2)
    independent = 30 / 29 * np.sum(influence**2)
    assert found.contrast.standard_error == pytest.approx(np.sqrt(max(clustered, independent)))
    assert found.left.members == pytest.approx({f"m{at}": answers[at].mean() for at in (0, 2, 4)})
    assert found.over_members is None


def test_one_test_for_each_contrast_corrected_within_a_language() -> None:
    runs = models(3, languages=("en", "de"))
    comparison = compare_groups(runs, "instruct", described(m0="no", m1="yes", m2="partly"), measures=["SS"])
    overall = [d for d in comparison.differences if d.part == "overall"]
    assert [(d.subject, d.left.label, d.right.label) for d in overall] == [
        (f"stereoset:{language}", f"instruct={left}", f"instruct={right}")
        for language in sorted({"en", "de"}, key=[d.subject[-2:] for d in overall].index)
        for left, right in (("no", "partly"), ("no", "yes"), ("partly", "yes"))
    ]
    for family in (overall[:3], overall[3:]):
        assert [d.p_holm for d in family] == adjust_holm([d.contrast.p_value for d in family])
    whole = compare_groups(
        runs, "instruct", described(m0="no", m1="yes", m2="partly"), measures=["SS"], families="run"
    ).differences
    assert [d.p_holm for d in whole] == adjust_holm([d.contrast.p_value for d in whole])
    some = compare_groups(runs, "instruct=yes,no", described(m0="no", m1="yes", m2="partly"), measures=["SS"])
    assert {(d.left.label, d.right.label) for d in some.differences} == {("instruct=yes", "instruct=no")}


def test_the_interval_over_members_adds_how_members_differ() -> None:
    """Re-derived from the answers: variances between models and between items, less the noise in both."""
    runs = models(11)
    comparison = compare_groups(runs, "instruct", half(11), measures=["SS"])
    found = of(comparison, "intersentence")
    answers = preferences(runs, "intersentence")
    members, noise = [], 0.0
    for group in (answers[::2], answers[1::2]):
        count, n = group.shape
        means = group.mean(axis=1)
        members.append(means.var(ddof=1) / count)
        residuals = group - means[:, None] - group.mean(axis=0) + group.mean()
        noise += np.sum(residuals**2) / ((count - 1) * (n - 1)) / (count * n)
    between, items = sum(members), found.contrast.standard_error**2
    variance = max(between + items - noise, between, items)
    of_members = members[0] ** 2 / 5 + members[1] ** 2 / 4
    targets = (np.arange(30) % 20).astype(object)
    differences = answers[::2].mean(axis=0) - answers[1::2].mean(axis=0)
    df = variance**2 / (of_members + items**2 / naive_df(targets, items / stats.sem(differences) ** 2))
    reach = stats.t.ppf(0.975, df) * np.sqrt(variance)
    assert found.over_members is not None
    assert found.over_members.low == pytest.approx(found.contrast.difference - reach)
    assert found.over_members.high == pytest.approx(found.contrast.difference + reach)
    t = abs(found.contrast.difference) / np.sqrt(variance)
    assert found.over_members.p_value == pytest.approx(2 * stats.t.sf(t, df))
    assert found.over_members.p_holm == max(found.over_members.p_value, found.p_holm)
    whole = compare_groups(runs, "instruct", half(11), families="run").differences
    overs = [(d.p_holm, d.over_members) for d in whole if d.over_members]
    expected = adjust_holm([over.p_value for _, over in overs])
    assert [over.p_holm for _, over in overs] == [
        max(p, of_these) for p, (of_these, _) in zip(expected, overs, strict=True)
    ]


def test_four_members_are_too_few_for_an_interval_over_members() -> None:
    nine = compare_groups(models(11)[:9], "instruct", half(9), measures=["SS"])
    assert all(d.over_members is None for d in nine.differences)


def test_languages_are_grouped_by_their_own_attributes() -> None:
    runs = models(2, languages=("en", "de", "ru"))
    comparison = compare_groups(runs, "script", half(2), measures=["SS"])
    found = [d for d in comparison.differences if d.part == "overall"]
    assert [(d.subject, d.left.label, set(d.left.members), set(d.right.members)) for d in found] == [
        (f"m{at} on stereoset", "script=Cyrillic", {"ru"}, {"en", "de"}) for at in (0, 1)
    ]
    part = [d for d in comparison.differences if d.part == "intrasentence"][1]
    latin = (preferences(runs[1:], "intrasentence") + preferences(runs[1:], "intrasentence", "de")) / 2
    assert part.contrast.difference == pytest.approx((preferences(runs[1:], "intrasentence", "ru") - latin).mean())
    assert any("translation" in note for note in comparison.notes)


def test_an_attribute_of_models_comes_first_and_by_language_chooses_the_other() -> None:
    runs = models(2, languages=("en", "ru"))
    attributes = ModelAttributes({f"m{at}": DescribedModel(f"m{at}", {"family": "ab"[at]}) for at in (0, 1)})
    assert compare_groups(runs, "family", attributes).differences[0].left.label == "family=a"
    by_language = compare_groups(runs, "family", attributes, by="language")
    assert {by_language.differences[0].left.label, by_language.differences[0].right.label} == {
        "family=Germanic",
        "family=Slavic",
    }


def test_items_that_not_all_members_have_are_counted_and_left_out() -> None:
    longer = run(association_scores("long", seed=5, n=50))
    comparison = compare_groups([*models(2), ("long", longer)], "instruct", described(m0=False, m1=True, long=True))
    found = of(comparison, "intrasentence")
    assert (found.contrast.n, found.left_out) == (30, 20)
    (note,) = (note for note in comparison.notes if "stereoset/intrasentence:en: 20 items" in note)
    assert_mentions(note, "Left out", "m0 has the fewest")
    elsewhere = run(association_scores("far", seed=5, n=5, first=700))
    with raises_mentioning(UsageError, "all 3", "far has the fewest"):
        compare_groups([*models(2), ("far", elsewhere)], "instruct", described(m0=False, m1=True, far=True))


def test_only_what_is_comparable_is_averaged() -> None:
    causal = [("c", run(association_scores("c", seed=8), kind="causal"))]
    attributes = described(m0=False, m1=True, m2=False, c=True)
    comparison = compare_groups([*models(3), *causal], "instruct", attributes, measures=["SS"])
    assert all("c" not in d.right.members for d in comparison.differences)
    assert any("different kinds (masked; causal)" in note for note in comparison.notes)
    together = compare_groups([*models(3), *causal], "instruct", attributes, measures=["SS"], across=["kinds"])
    assert all("c" in d.right.members for d in together.differences)
    assert any(note.startswith("Compared across kinds") for note in together.notes)
    with raises_mentioning(UsageError, "--across kinds"):
        compare_groups([models(3)[0], *causal], "instruct", attributes)
    by_kind = compare_groups([*models(2), *causal], "kind", attributes, across=["kinds"], measures=["SS"])
    assert by_kind.differences[0].left.label == "kind=causal"


def test_models_that_were_asked_differently_have_contrasts_of_their_own() -> None:
    """Two masked and two causal models, a base and an instructed one each; the parts of one of them contradict."""
    masked, causal = (
        [
            (
                name,
                run(chosen_scores(name, {"intrasentence": ss, "intersentence": 100 - ss}, n=80, seed=at), kind=kind),
            )
            for at, (name, ss) in enumerate(shares)
        ]
        for kind, shares in (("masked", [("m0", 20.0), ("m1", 80.0)]), ("causal", [("c0", 50.0), ("c1", 50.0)]))
    )
    attributes = described(m0=False, m1=True, c0=False, c1=True)
    comparison = compare_groups([*masked, *causal], "instruct", attributes, measures=["SS"])
    alone = compare_groups(causal, "instruct", attributes, measures=["SS"])
    for kind, subject in (("m", "stereoset:en (masked, published)"), ("c", "stereoset:en (causal, published)")):
        found = [d for d in comparison.differences if d.subject == subject]
        assert [d.part for d in found] == ["intrasentence", "intersentence", *(["overall"] if kind == "c" else [])]
        members = [(list(d.left.members), list(d.right.members)) for d in found]
        assert members == [([f"{kind}0"], [f"{kind}1"])] * len(found)
    (left_out,) = [note for note in comparison.notes if note.startswith("Left out")]
    assert_mentions(left_out, "stereoset:en in SS over all parts", "contradictory: m0, m1")
    assert {d.subject for d in alone.differences} == {"stereoset:en"}
    assert any(note.startswith("Not averaged or compared in one group") for note in comparison.notes)
    files = [
        {"benchmark": "stereoset", "language": "en", "part": "intrasentence", "files": {"a": digest}} for digest in "12"
    ]
    editions = [
        (f"{name}-{at}", run(association_scores(name, seed=at, parts=("intrasentence",)), data=[files[at // 2]]))
        for at, name in enumerate(("m0", "m1", "c0", "c1"))
    ]
    subjects = {d.subject for d in compare_groups(editions, "instruct", attributes, measures=["SS"]).differences}
    assert subjects == {f"stereoset:en (masked, published, as in {run_})" for run_ in ("m0-0", "c0-2")}


def test_values_may_have_commas() -> None:
    runs = models(1, languages=("en", "de", "fr"))
    named = compare_groups(runs, "grammatical gender=none,masculine, feminine", ModelAttributes({}), measures=["SS"])
    assert {(d.left.label, d.right.label) for d in named.differences} == {
        ("grammatical gender=none", "grammatical gender=masculine, feminine")
    }
    with raises_mentioning(UsageError, "grammatical gender 'feminine'"):
        compare_groups(runs, "grammatical gender=none,feminine", ModelAttributes({}))


def test_of_models_like_these_no_more_is_claimed_than_of_these() -> None:
    """Of several contrasts one may have an interval over members, which is then corrected for one test only."""
    found = of(compare_groups(models(11), "instruct", half(11), measures=["SS"]), "overall")
    assert found.over_members is not None
    certain = replace(found.over_members, p_value=0.01)
    for p_holm, expected in ((0.2, 0.2), (0.001, 0.01)):
        (corrected,) = correct_member_tests([replace(found, p_holm=p_holm, over_members=certain)])
        assert corrected.over_members is not None
        assert corrected.over_members.p_holm == expected


def test_members_of_one_family_are_no_independent_sample() -> None:
    for related, words in ((6, ": bert (3)."), (2, None)):
        attributes = ModelAttributes(
            {
                f"m{at}": DescribedModel(
                    f"m{at}", {"family": "bert" if at < related else f"f{at}", "even": at % 2 == 0}
                )
                for at in range(11)
            }
        )
        notes = compare_groups(models(11), "even", attributes, measures=["SS"]).notes
        found = [note for note in notes if "the same family" in note]
        assert [note.endswith(words) for note in found] == ([True] if words else [])


def test_measures_that_are_no_mean_or_of_other_tokens_are_not_compared() -> None:
    comparison = compare_groups(models(2), "instruct", half(2))
    assert {d.quantity.name for d in comparison.differences} == {"LMS", "SS"}
    assert any(note.startswith("Not compared: ICAT") for note in comparison.notes)
    pairs = [(m, run(pair_scores(m, seed=s), family="pairs")) for s, m in enumerate(("m0", "m1"))]
    assert {d.quantity.name for d in compare_groups(pairs, "instruct", half(2)).differences} == {"CPS", "B.S_JSD"}
    with raises_mentioning(UsageError, "--across tokenizers"):
        compare_groups(pairs, "instruct", half(2), measures=["S_JSD"])


def test_rates_of_gest_are_weighted_by_stereotype() -> None:
    runs = [(m, run(gest_scores(m, seed=s, lean=0.3 * s), family="gest")) for s, m in enumerate(("m0", "m1", "m2"))]
    (found,) = compare_groups(runs, "instruct", half(3)).differences
    logs = [np.log(next(r.value for r in result.records if r.measure == "g_s")) for _, result in runs]
    assert found.contrast.difference == pytest.approx((logs[0] + logs[2]) / 2 - logs[1])
    assert found.contrast.test == "paired t within stereotypes"


def test_uninterpretable_models_are_left_out_of_measures_of_bias() -> None:
    nonsense = run(chosen_scores("m5", 50.0, n=200, sense=False, seed=7))
    comparison = compare_groups([*models(4), ("n", nonsense)], "instruct", half(6))
    assert "m5" not in of(comparison, "overall").right.members
    assert "m5" in of(comparison, "overall", "LMS").right.members
    assert any("not interpretable: m5" in note for note in comparison.notes)


def test_impossible_groups() -> None:
    runs, attributes = models(2), half(2)
    for group, parts in (
        ("instrukt", ["attribute 'instrukt'", "(did you mean instruct?)", "--attributes"]),
        ("instruct=maybe", ["instruct 'maybe'", "false, true"]),
        ("instruct=true", ["--group instruct=true", "false, true"]),
        ("kind", ["only kind is masked", "m0, m1"]),
    ):
        with raises_mentioning(UsageError, *parts):
            compare_groups(runs, group, attributes)
    with raises_mentioning(UsageError, "--by model", "--by language"):
        compare_groups(runs, "instruct", attributes, by="any")
    with raises_mentioning(UsageError, "measured twice", "run-0 and in again"):
        compare_groups([*runs, ("again", runs[0][1])], "instruct", attributes)
    with raises_mentioning(UsageError, "instruct", "True and true"):
        compare_groups(runs, "instruct", described(m0="True", m1=True))
    with raises_mentioning(UsageError, "in CPS", "LMS, SS"):
        compare_groups(runs, "instruct", attributes, measures=["CPS"])
    unknown = compare_groups([*runs, models(3)[2]], "instruct", attributes)
    assert any(note.startswith("Left out") and "instruct" in note and note.endswith(": m2.") for note in unknown.notes)


def test_attributes_come_from_the_plan_above_the_runs_or_a_file(tmp_path: Path) -> None:
    folders = [saved(tmp_path / "matrix" / name / "cell", result) for name, result in models(2)]
    plan = "\n".join(
        f'[[models]]\nname = "m{at}"\nattributes = {{ instruct = {value} }}'
        for at, value in ((0, "false"), (1, "true"))
    )
    (tmp_path / "matrix" / "plan.toml").write_text(plan)
    comparison = tiltmeter.compare_groups(folders, "instruct", measures=["SS"])
    assert comparison.differences[0].left.label == "instruct=false"
    assert len(comparison.to_frame()) == len(comparison.differences) == 3
    (tmp_path / "other.toml").write_text(plan.replace("false", '"base"'))
    other = tiltmeter.compare_groups(folders, "instruct", attributes=tmp_path / "other.toml")
    assert other.differences[0].left.label == "instruct=base"


def test_the_cells_of_pooled_parts_are_those_of_both() -> None:
    found = of(compare_groups(models(2), "instruct", half(2)), "overall")
    cell = next(cell for cell in build_cells("a", models(2)[0][1]) if cell.part == "overall")
    assert found.contrast.n == len(cell.scores) == 60
