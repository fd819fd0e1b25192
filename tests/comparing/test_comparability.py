"""What is compared by default, what only with --across, and what never."""

import pandas as pd
import pytest

from tests.runs.made import (
    association_scores,
    chosen_scores,
    gest_scores,
    pair_scores,
    run,
    saved,
    saved_before,
)
from tiltmeter.comparing.comparison import compare
from tiltmeter.comparing.omitted_pairs import OmittedPairs, list_omitted_pairs
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


# The two runs, in what they differ, and what is told of that.
DIFFERENT = {
    "kinds": (BERT, GPT, r"models of different kinds \(masked; causal\), whose scores are different quantities"),
    "unknown kinds": (
        run(association_scores("theirs", seed=1), kind=None),
        run(association_scores("others", seed=2), kind=None),
        r"models whose kind is not known \(unknown; unknown\)",
    ),
    "protocols": (
        run(association_scores("mgpt", seed=1, protocol="published/d"), kind="causal"),
        run(association_scores("gpt2", seed=2, protocol="published/c"), kind="causal"),
        r"asked by different protocols \(published/d, likelihood; published/c, likelihood\)",
    ),
    "protocols of one model": (
        run(association_scores("mgpt", seed=1), kind="causal"),
        run(association_scores("mgpt", seed=2, protocol="in-context"), kind="causal"),
        r"asked by different protocols \(published, likelihood; in-context, likelihood\)",
    ),
    "protocols by what answers": (
        run(association_scores("mgpt", seed=1), kind="causal", answers="next-sentence"),
        run(association_scores("gpt2", seed=2), kind="causal"),
        r"asked by different protocols \(published, next-sentence; published, likelihood\)",
    ),
    "editions": (
        on_files("bert", 1, intrasentence="1"),
        on_files("roberta", 2, intrasentence="2"),
        "measured on different files of stereoset:en, in which items of the same id may differ",
    ),
}


@pytest.mark.parametrize("different", DIFFERENT)
def test_what_differs_is_compared_only_if_asked_for(different: str) -> None:
    first, other, reason = DIFFERENT[different]
    flag = "kinds" if "kinds" in different else different.split()[0]
    runs = [("a", first), ("b", other)]
    with pytest.raises(UsageError, match=rf"not compared: they are {reason}.*, add --across {flag}\."):
        compare(runs)
    others = [name for name in ("kinds", "protocols", "editions", "tokenizers") if name != flag]
    with pytest.raises(UsageError, match=f"add --across {flag}"):
        compare(runs, across=others)  # type: ignore[arg-type]
    comparison = compare(runs, across=[flag])  # type: ignore[list-item]
    assert comparison.differences
    (warning,) = (note for note in comparison.notes if note.startswith(f"Compared across {flag}: "))
    assert pd.Series([warning]).str.contains(reason).all()
    assert warning.split(":")[0] in render_comparison_page(comparison)


def test_all_flags_that_are_needed_are_named() -> None:
    other = run(association_scores("gpt2", seed=2, protocol="in-context"), kind="causal")
    with pytest.raises(UsageError, match="add --across kinds --across protocols"):
        compare([("a", BERT), ("b", other)])
    with pytest.raises(UsageError, match=r"add --across protocols\.$"):
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


def test_what_cannot_be_compared_is_told_beside_what_can() -> None:
    third = run(association_scores("roberta", seed=3))
    comparison = compare([("a", BERT), ("b", GPT), ("c", third)], measures=["SS"])
    assert {(d.left.label, d.right.label) for d in comparison.differences} == {("bert", "roberta")}
    (note,) = comparison.notes
    assert note.startswith("Not compared: 6 of 9 pairs. bert on stereoset/intrasentence:en and gpt2 on")
    assert note.endswith("add --across kinds.")


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
    assert comparison.notes == ["A difference between languages may be due to the translation as much as to the model."]
    assert comparison.notes[0].replace("'", "&#39;") in render_comparison_page(comparison)


def test_means_over_tokens_need_one_tokenizer() -> None:
    runs = [("a", pairs("bert", 1)), ("b", pairs("xlm-r", 2))]
    comparison = compare(runs)
    assert [d.quantity.name for d in comparison.differences] == ["CPS", "B.S_JSD"]
    (note,) = comparison.notes
    assert note.startswith("Not compared: S_JSD x 1e3. bert on gender-pairs:en and xlm-r on gender-pairs:en are not")
    assert note.endswith("add --across tokenizers.")
    with pytest.raises(UsageError, match=r"S_JSD x 1e3 is a mean over different tokens.*add --across tokenizers"):
        compare(runs, measures=["S_JSD"])
    comparison = compare(runs, across=["tokenizers"])
    assert [d.quantity.name for d in comparison.differences] == ["CPS", "S_JSD x 1e3", "B.S_JSD"]
    assert comparison.notes == [
        "Compared across tokenizers: bert and xlm-r are of different tokenizers, so that S_JSD x 1e3 is a mean over "
        "different tokens."
    ]
    assert comparison.notes[0] in render_comparison_page(comparison)


def test_so_does_the_mean_difference_per_token_of_causal_models() -> None:
    def causal(model: str, seed: int) -> Result:
        table = pair_scores(model, seed=seed)
        table = table[table["role"].isin(["more", "less", "s_jsd"])].replace({"role": {"s_jsd": "difference"}})
        return run(table, family="pairs", kind="causal")

    runs = [("a", causal("gpt2", 1)), ("b", causal("bloom", 2))]
    comparison = compare(runs)
    assert [d.quantity.name for d in comparison.differences] == ["CPS"]
    assert comparison.notes[0].startswith("Not compared: mean difference per token. ")
    comparison = compare(runs, across=["tokenizers"])
    assert [d.quantity.name for d in comparison.differences] == ["CPS", "mean difference per token"]


def test_one_tokenizer_needs_no_flag() -> None:
    runs = [("a", pairs("bert", 1, "abc")), ("b", pairs("bert-tuned", 2, "abc"))]
    assert [d.quantity.name for d in compare(runs, measures=["S_JSD"]).differences] == ["S_JSD x 1e3"]
    again = [("before", pairs("bert", 1)), ("after", pairs("bert", 2))]
    assert compare(again, measures=["S_JSD"]).notes == []
    with pytest.raises(UsageError, match="--across tokenizers"):
        compare([("a", pairs("bert", 1, "abc")), ("b", pairs("xlm-r", 2, "xyz"))], measures=["S_JSD"])


def test_prompting_is_never_tested_against_likelihood() -> None:
    prompted = run(association_scores("chat", seed=2), answers="prompted")
    for across in ([], ["kinds", "protocols", "editions", "tokenizers"]):
        with pytest.raises(UsageError, match="are not tested against each other: they were measured by likelihoods"):
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
    assert words.startswith(
        "no difference: intrasentence: no difference beyond ±5 points between a and b: SS 56.0 and "
    )


def test_two_that_differ_too_little_for_so_few_items() -> None:
    words = of_ss(compare([("x", within("a", 58.0, n=200)), ("y", within("b", 52.0, n=200, seed=5))]))
    assert words.startswith("inconclusive: intrasentence: inconclusive between a and b (n=200): SS 58.0 and 52.0")
    assert "This many items can show a difference of" in words


def test_a_side_that_cannot_be_interpreted() -> None:
    comparison = compare([("x", within("a", 58.0)), ("y", within("b", 40.0, seed=5, sense=False))])
    words = of_ss(comparison)
    assert words.startswith("not interpretable: intrasentence: not interpretable, so SS 58.0 and")
    assert "b: LMS 50.0" in words
    lms = next(d for d in comparison.differences if d.quantity.name == "LMS")
    assert lms.verdict == "significant"  # LMS itself can be interpreted
    assert "not interpretable" in render_comparison_page(comparison)


def test_identical_runs() -> None:
    first = within("a", 58.0, n=40)
    rounded = run(first.scores.assign(model="b", score=first.scores["score"] * (1 - 1e-6)))
    comparison = compare([("x", first), ("y", rounded)])
    assert {difference.verdict for difference in comparison.differences} == {"identical"}
    assert of_ss(comparison).startswith("identical: intrasentence: a and b gave the same answers to all 40 items")
    assert "difference beyond" not in of_ss(comparison)


def test_samples_are_named() -> None:
    entry = {"benchmark": "stereoset", "part": "intrasentence", "language": "en", "items": 60, "available": 2106}
    tables = [association_scores(model, seed=seed, parts=["intrasentence"]) for seed, model in enumerate("ab")]
    comparison = compare([(str(number), run(table, data=[entry])) for number, table in enumerate(tables)])
    assert comparison.notes == ["A sample: 60 of the 2,106 items of stereoset/intrasentence:en (--limit)."]
    assert "A sample: 60 of the 2,106" in render_comparison_page(comparison)


# ---- runs that were made before


def test_runs_made_before_can_be_read_and_compared(tmp_path) -> None:
    first, other = run(association_scores("bert", seed=1, lean=1.5)), run(association_scores("roberta", seed=2))
    before = [
        ("a", Result.load(saved_before(tmp_path / "a", first))),
        ("b", Result.load(saved_before(tmp_path / "b", other))),
    ]
    now = compare([("a", first), ("b", other)])
    comparison = compare(before)
    assert [d.verdict for d in comparison.differences] == [d.verdict for d in now.differences]
    assert [d.contrast for d in comparison.differences] == [d.contrast for d in now.differences]
    assert comparison.notes == []
    # Numbers, tests and verdicts are those of a run that is made now; only the family of answers is a guess.
    read = before[0][1]
    assert [record.verdict for record in read.records] == [record.verdict for record in first.records]
    assert {record.kind for record in read.records} == {"masked"}
    # Of masked models, what was asked between sentences was asked of the next-sentence head.
    head = run(association_scores("albert", seed=3, parts=["intersentence"]), answers="next-sentence")
    mixed = compare([before[0], ("c", head)], measures=["SS"])
    assert [d.part for d in mixed.differences] == ["intersentence"]
    likely = run(association_scores("albert", seed=3, parts=["intersentence"]), answers="likelihood")
    with pytest.raises(UsageError, match=r"published, next-sentence; published, likelihood.*--across protocols"):
        compare([before[0], ("d", likely)])


def test_the_kinds_of_runs_made_before_are_told_apart(tmp_path) -> None:
    folders = [saved_before(tmp_path / name, result) for name, result in (("a", BERT), ("b", GPT))]
    with pytest.raises(UsageError, match=r"different kinds \(masked; causal\).*add --across kinds"):
        compare([(folder, Result.load(folder)) for folder in folders])


def test_a_margin_of_a_run_made_before_is_kept(tmp_path) -> None:
    first = run(chosen_scores(ss=52.0, n=1500), margins={"SS": 10.0}, statistics={"margins": {"SS": 10.0}})
    again = Result.load(saved_before(tmp_path / "a", first))
    assert {r.margin for r in again.records if r.measure == "SS"} == {10.0}
    assert [r.verdict for r in again.records] == [r.verdict for r in first.records]


def test_gest_made_before(tmp_path) -> None:
    first = run(gest_scores(lean=1.0, n=320), family="gest")
    again = Result.load(saved_before(tmp_path / "a", first))
    verdicts = {record.measure: record.verdict for record in again.records if record.view == "all"}
    assert verdicts["g_s"] is not None
    assert verdicts["g_s"].kind == "significant"
    assert Result.load(saved(tmp_path / "b", first)).records == first.records


def test_everything_that_is_not_compared_is_listed_with_its_reason() -> None:
    roberta = run(association_scores("roberta", seed=3))
    prompted = run(association_scores("bert", seed=4), answers="prompted")
    runs = [("a", BERT), ("b", GPT), ("c", roberta), ("d", prompted)]
    kinds, prompting, both = list_omitted_pairs(runs)
    assert kinds == OmittedPairs(
        "bert on stereoset/intrasentence:en and gpt2 on stereoset/intrasentence:en are not compared: they are models "
        "of different kinds (masked; causal), whose scores are different quantities.",
        ("kinds",),
        # Both parts, and those parts pooled, of gpt2 with each of the two masked models.
        pairs=6,
    )
    assert prompting.across == both.across == ()
    assert "by likelihoods and by prompts" in prompting.reason
    assert {entry.reason for entry in list_omitted_pairs(runs, across=["kinds"])} >= {prompting.reason}
    assert list_omitted_pairs(runs[:3], across=["kinds"]) == []
    assert list_omitted_pairs([("a", BERT), ("c", roberta)]) == []


def test_the_listed_pairs_are_those_that_a_comparison_leaves_out() -> None:
    runs = [("a", BERT), ("b", GPT), ("c", run(association_scores("roberta", seed=3)))]
    left_out = sum(entry.pairs for entry in list_omitted_pairs(runs))
    assert any(f"Not compared: {left_out} of 9 pairs." in note for note in compare(runs).notes)
