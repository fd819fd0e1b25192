"""Comparisons by default, comparisons that need --across, and comparisons that are never made."""

import pytest

from tests.runs.made import (
    association_scores,
    chosen_scores,
    pair_scores,
    run,
)
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.comparing.comparison import compare
from tiltmeter.comparing.omitted_pairs import list_omitted_pairs
from tiltmeter.comparing.paired_difference import Comparison
from tiltmeter.errors import UsageError
from tiltmeter.reports.comparison import describe_difference
from tiltmeter.reports.comparison_page import render_comparison_page
from tiltmeter.runs.result import Result

BERT = run(association_scores("bert", seed=1, lean=0.5))
GPT = run(association_scores("gpt2", seed=2), kind="causal")


def pairs(model: str, seed: int, tokenizer: str | None = None) -> Result:
    return run(pair_scores(model, seed=seed), family="pairs", tokenizer=tokenizer)


def on_files(model: str, seed: int, **digests: str) -> Result:
    """A run on files with these digests, one for each part."""
    entry = {"benchmark": "stereoset", "language": "en", "items": 60, "available": 60}
    data = [{**entry, "part": part, "files": {f"{part}.jsonl": digest}} for part, digest in digests.items()]
    return run(association_scores(model, seed=seed, parts=list(digests)), data=data)


# Two runs, and the identifying parts of the reason why they are not compared.
DIFFERENT = {
    "kinds": (BERT, GPT, "different kinds (masked; causal)"),
    "unknown kinds": (
        run(association_scores("theirs", seed=1), kind=None),
        run(association_scores("others", seed=2), kind=None),
        "(unknown; unknown)",
    ),
    "protocols": (
        run(association_scores("mgpt", seed=1, protocol="published/d"), kind="causal"),
        run(association_scores("gpt2", seed=2, protocol="published/c"), kind="causal"),
        "(published/d, likelihood; published/c, likelihood)",
    ),
    "protocols of one model": (
        run(association_scores("mgpt", seed=1), kind="causal"),
        run(association_scores("mgpt", seed=2, protocol="in-context"), kind="causal"),
        "(published, likelihood; in-context, likelihood)",
    ),
    "protocols by what answers": (
        run(association_scores("mgpt", seed=1), kind="causal", answers="next-sentence"),
        run(association_scores("gpt2", seed=2), kind="causal"),
        "(published, next-sentence; published, likelihood)",
    ),
    "editions": (
        on_files("bert", 1, intrasentence="1"),
        on_files("roberta", 2, intrasentence="2"),
        "different files of stereoset:en",
    ),
}


@pytest.mark.parametrize("different", DIFFERENT)
def test_different_conditions_are_compared_only_with_across(different: str) -> None:
    first, other, reason = DIFFERENT[different]
    flag = "kinds" if "kinds" in different else different.split()[0]
    runs = [("a", first), ("b", other)]
    with raises_mentioning(UsageError, "not compared", reason, f"add --across {flag}."):
        compare(runs)
    others = [name for name in ("kinds", "protocols", "editions", "tokenizers") if name != flag]
    with raises_mentioning(UsageError, f"add --across {flag}"):
        compare(runs, across=others)  # type: ignore[arg-type]
    comparison = compare(runs, across=[flag])  # type: ignore[list-item]
    assert comparison.differences
    (warning,) = (note for note in comparison.notes if note.startswith(f"Compared across {flag}: "))
    assert_mentions(warning, reason)
    assert warning.split(":")[0] in render_comparison_page(comparison)


def test_all_needed_options_are_named() -> None:
    other = run(association_scores("gpt2", seed=2, protocol="in-context"), kind="causal")
    with raises_mentioning(UsageError, "add --across kinds --across protocols"):
        compare([("a", BERT), ("b", other)])
    with raises_mentioning(UsageError, "add --across protocols."):
        compare([("a", BERT), ("b", other)], across=["kinds"])


def test_the_case_of_a_generative_model_is_part_of_its_kind() -> None:
    """BERT uses its next-sentence head and GPT-2 case d, which `--across kinds` allows."""
    case = run(
        association_scores("gpt2", seed=2, parts=["intrasentence"]),
        association_scores("gpt2", seed=3, parts=["intersentence"], protocol="published/d"),
        kind="causal",
    )
    comparison = compare([("a", BERT), ("b", case)], across=["kinds"], measures=["SS"])
    assert [d.part for d in comparison.differences] == ["intrasentence", "intersentence", "overall"]


def test_models_that_are_alike_need_no_flag_and_get_no_warning() -> None:
    comparison = compare([("a", BERT), ("b", run(association_scores("roberta", seed=2)))])
    assert comparison.notes == []


def test_a_note_names_the_pairs_that_are_not_compared() -> None:
    third = run(association_scores("roberta", seed=3))
    comparison = compare([("a", BERT), ("b", GPT), ("c", third)], measures=["SS"])
    assert {(d.left.label, d.right.label) for d in comparison.differences} == {("bert", "roberta")}
    (note,) = comparison.notes
    assert_mentions(note, "6 of 9 pairs", "bert on stereoset/intrasentence:en", "gpt2 on", "add --across kinds.")


def test_one_model_of_unknown_kind_is_of_its_own_kind() -> None:
    both = run(association_scores("theirs", seed=1), association_scores("theirs", language="de", seed=2), kind=None)
    assert compare([("a", both)], by="language", measures=["SS"]).differences


def test_the_files_of_a_part_are_those_that_count() -> None:
    both = on_files("bert", 1, intrasentence="1", intersentence="2")
    within = on_files("roberta", 2, intrasentence="1")
    comparison = compare([("a", both), ("b", within)], measures=["SS"])
    assert [d.part for d in comparison.differences] == ["intrasentence"]
    assert comparison.notes == []


def test_languages_are_on_files_of_their_own() -> None:
    entry = {"benchmark": "stereoset", "part": "intrasentence", "items": 60}
    data = [{**entry, "language": code, "files": {f"{code}.jsonl": code}} for code in ("en", "de")]
    tables = [
        association_scores(language=code, seed=seed, parts=["intrasentence"]) for seed, code in ((1, "en"), (2, "de"))
    ]
    comparison = compare([("a", run(*tables, data=data))], by="language", measures=["SS"])
    (note,) = comparison.notes
    assert_mentions(note, "languages", "translation")
    assert note in render_comparison_page(comparison)


def test_means_over_tokens_need_one_tokenizer() -> None:
    runs = [("a", pairs("bert", 1)), ("b", pairs("xlm-r", 2))]
    comparison = compare(runs)
    assert [d.quantity.name for d in comparison.differences] == ["CPS", "B.S_JSD"]
    (note,) = comparison.notes
    assert_mentions(
        note, "S_JSD x 1e3", "bert on gender-pairs:en", "xlm-r on gender-pairs:en", "add --across tokenizers."
    )
    with raises_mentioning(UsageError, "S_JSD x 1e3", "add --across tokenizers"):
        compare(runs, measures=["S_JSD"])
    comparison = compare(runs, across=["tokenizers"])
    assert [d.quantity.name for d in comparison.differences] == ["CPS", "S_JSD x 1e3", "B.S_JSD"]
    (note,) = comparison.notes
    assert_mentions(note, "Compared across tokenizers: bert", "xlm-r", "S_JSD x 1e3")
    assert note in render_comparison_page(comparison)


def test_the_mean_difference_per_token_of_causal_models_needs_one_tokenizer() -> None:
    def causal(model: str, seed: int) -> Result:
        table = pair_scores(model, seed=seed)
        table = table[table["role"].isin(["more", "less", "s_jsd"])].replace({"role": {"s_jsd": "difference"}})
        return run(table, family="pairs", kind="causal")

    runs = [("a", causal("gpt2", 1)), ("b", causal("bloom", 2))]
    comparison = compare(runs)
    assert [d.quantity.name for d in comparison.differences] == ["CPS"]
    assert_mentions(comparison.notes[0], "Not compared", "mean difference per token")
    comparison = compare(runs, across=["tokenizers"])
    assert [d.quantity.name for d in comparison.differences] == ["CPS", "mean difference per token"]


def test_one_tokenizer_needs_no_flag() -> None:
    runs = [("a", pairs("bert", 1, "abc")), ("b", pairs("bert-tuned", 2, "abc"))]
    assert [d.quantity.name for d in compare(runs, measures=["S_JSD"]).differences] == ["S_JSD x 1e3"]
    again = [("before", pairs("bert", 1)), ("after", pairs("bert", 2))]
    assert compare(again, measures=["S_JSD"]).notes == []
    with raises_mentioning(UsageError, "--across tokenizers"):
        compare([("a", pairs("bert", 1, "abc")), ("b", pairs("xlm-r", 2, "xyz"))], measures=["S_JSD"])


def test_prompting_is_never_tested_against_likelihood() -> None:
    prompted = run(association_scores("chat", seed=2), answers="prompted")
    for across in ([], ["kinds", "protocols", "editions", "tokenizers"]):
        with raises_mentioning(UsageError, "bert", "chat", "likelihoods", "prompts"):
            compare([("a", BERT), ("b", prompted)], across=across)
    both = run(association_scores("chat two", seed=3), answers="prompted")
    assert compare([("a", prompted), ("b", both)]).differences


def of_ss(comparison: Comparison) -> str:
    (difference,) = (d for d in comparison.differences if d.part == "intrasentence" and d.quantity.name == "SS")
    return f"{difference.verdict}: {describe_difference(difference)}"


def within(model: str, ss: float, *, n: int = 2000, seed: int = 0, **given: bool) -> Result:
    return run(chosen_scores(model, ss, n=n, seed=seed, parts=["intrasentence"], **given))  # type: ignore[arg-type]


def test_no_difference_beyond_the_margin_is_a_result() -> None:
    first = chosen_scores("a", 56.0, n=2000, parts=["intrasentence"])
    other = first.assign(model="b")
    swapped = other["item"].isin([f"intra-{number:03d}" for number in range(0, 100)])
    other.loc[swapped & (other["role"] != "unrelated"), "score"] *= -1
    words = of_ss(compare([("x", run(first)), ("y", run(other))]))
    assert_mentions(words, "no difference: intrasentence", "±5 points", "a and b", "SS 56.0")


def test_two_that_differ_too_little_for_so_few_items() -> None:
    words = of_ss(compare([("x", within("a", 58.0, n=200)), ("y", within("b", 52.0, n=200, seed=5))]))
    assert_mentions(
        words, "inconclusive: intrasentence", "a and b (n=200)", "SS 58.0 and 52.0", "can detect a difference"
    )


def test_a_side_that_cannot_be_interpreted() -> None:
    comparison = compare([("x", within("a", 58.0)), ("y", within("b", 40.0, seed=5, sense=False))])
    words = of_ss(comparison)
    assert_mentions(words, "not interpretable: intrasentence", "SS 58.0", "b: LMS 50.0")
    lms = next(d for d in comparison.differences if d.quantity.name == "LMS")
    assert lms.verdict == "significant"  # LMS itself can be interpreted
    assert "not interpretable" in render_comparison_page(comparison)


def test_identical_runs() -> None:
    first = within("a", 58.0, n=40)
    rounded = run(first.scores.assign(model="b", score=first.scores["score"] * (1 - 1e-6)))
    comparison = compare([("x", first), ("y", rounded)])
    assert {difference.verdict for difference in comparison.differences} == {"identical"}
    assert_mentions(of_ss(comparison), "identical: intrasentence", "a and b", "same answers", "40 items")
    assert "difference beyond" not in of_ss(comparison)


def test_samples_are_named() -> None:
    entry = {"benchmark": "stereoset", "part": "intrasentence", "language": "en", "items": 60, "available": 2106}
    tables = [association_scores(model, seed=seed, parts=["intrasentence"]) for seed, model in enumerate("ab")]
    comparison = compare([(str(number), run(table, data=[entry])) for number, table in enumerate(tables)])
    (note,) = comparison.notes
    assert_mentions(note, "60 of the 2,106", "stereoset/intrasentence:en", "--limit")
    assert note in render_comparison_page(comparison)


def test_everything_that_is_not_compared_is_listed_with_its_reason() -> None:
    roberta = run(association_scores("roberta", seed=3))
    prompted = run(association_scores("bert", seed=4), answers="prompted")
    runs = [("a", BERT), ("b", GPT), ("c", roberta), ("d", prompted)]
    kinds, prompting, both = list_omitted_pairs(runs)
    assert_mentions(kinds.reason, "bert on", "gpt2 on", "different kinds (masked; causal)")
    # Both parts, and the pooled parts, of gpt2 with each of the two masked models.
    assert (kinds.across, kinds.pairs) == (("kinds",), 6)
    assert prompting.across == both.across == ()
    assert_mentions(prompting.reason, "likelihoods", "prompts")
    assert {entry.reason for entry in list_omitted_pairs(runs, across=["kinds"])} >= {prompting.reason}
    assert list_omitted_pairs(runs[:3], across=["kinds"]) == []
    assert list_omitted_pairs([("a", BERT), ("c", roberta)]) == []


def test_the_listed_pairs_are_those_that_a_comparison_leaves_out() -> None:
    runs = [("a", BERT), ("b", GPT), ("c", run(association_scores("roberta", seed=3)))]
    left_out = sum(entry.pairs for entry in list_omitted_pairs(runs))
    assert any(f"Not compared: {left_out} of 9 pairs." in note for note in compare(runs).notes)
