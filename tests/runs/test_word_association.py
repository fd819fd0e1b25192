"""Word associations of chat models with known behaviour, from the message to the verdict."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.models.chat_served import MadeChat, refusing
from tests.runs.test_chat import value
from tests.runs.word_lists import as_json, first_group, follows, left_group, listed_words, word_file
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter import ChatOptions, compare, evaluate
from tiltmeter.benchmarks.forced_choice.word_lists import TOKENS_PER_WORD
from tiltmeter.errors import ModelError
from tiltmeter.runs.result import Result

D, LIKE, PUBLISHED = "association d", "association d of stereotypes like these", "d as published"


def asked(policy: object, folder: Path, **options: object) -> Result:
    # The name identifies the model in the store of replies.
    return evaluate(MadeChat(policy, f"chat:{id(policy)}"), word_file(folder), **options)  # type: ignore[arg-type]


def compute_naive_d(answers: pd.DataFrame) -> float:
    """Compute the published d reply by reply, from the stored outcomes of the words."""
    tests: dict[str, list[float]] = {}
    for (_, test, _, order, _), reply in answers.groupby(["model", "test", "pair", "order_of_groups", "wording"]):
        a = ((reply.group == "right") & (reply.linked == "right")).sum()
        b = ((reply.group == "right") & (reply.linked == "left")).sum()
        c = ((reply.group == "left") & (reply.linked == "right")).sum()
        d = ((reply.group == "left") & (reply.linked == "left")).sum()
        value = a / (a + b + 0.01) + d / (c + d + 0.01) - 1 if a + b + c + d else 0.0
        tests.setdefault(test, []).append(value)
        assert order
    return float(np.mean([np.mean(values) for values in tests.values()]))


def read_answers(result: Result) -> pd.DataFrame:
    assert result.answers is not None
    answers = result.answers.copy()
    parts = answers["item"].str.split("/", expand=True)
    answers["test"], answers["pair"] = parts[0], parts[1]
    words = list(dict.fromkeys(word.rstrip("0123456789") for word in parts[2]))
    answers["linked"] = ["left" if words.index(word.rstrip("0123456789")) < 8 else "right" for word in parts[2]]
    other = {"left": "right", "right": "left"}
    chosen = zip(answers["linked"], answers["outcome"], strict=True)
    answers["group"] = [
        linked if outcome == "stereotype" else other[linked] if outcome == "anti-stereotype" else ""
        for linked, outcome in chosen
    ]
    shown = zip(answers["linked"], answers["order"], strict=True)
    answers["order_of_groups"] = [
        linked if order.startswith("stereotype") else other[linked] for linked, order in shown
    ]
    return answers


@pytest.mark.parametrize(("share", "expected"), [(1.0, 1.0), (0.0, -1.0)])
def test_always_or_never_the_stereotype(share: float, expected: float, tmp_path: Path) -> None:
    result = asked(follows(share), tmp_path)
    record = value(result, D)
    assert record.value == expected
    assert record.interval is not None
    assert record.interval[0] < record.interval[1]
    assert record.verdict is not None
    assert record.verdict.kind == "significant"
    assert abs(value(result, PUBLISHED).value - expected) < 0.01
    assert value(result, "coverage").value == 100.0


@pytest.mark.parametrize(
    "layout", ["{word} - {group}", "* **{word}**: {group}", "| {word} | {group} |", "{word} {group}"]
)
def test_a_share_is_recovered_within_its_intervals_in_each_layout(layout: str, tmp_path: Path) -> None:
    result = asked(follows(0.7, layout=layout), tmp_path)
    for name in (D, LIKE):
        record = value(result, name)
        assert record.low is not None
        assert record.high is not None
        assert record.low < 0.4 < record.high
        assert record.high - record.low < 0.3
    assert value(result, PUBLISHED).value == pytest.approx(compute_naive_d(read_answers(result)), abs=1e-9)


def test_a_random_model_is_not_biased(tmp_path: Path) -> None:
    record = value(asked(follows(0.5, seed=3), tmp_path), D)
    assert record.verdict is not None
    assert record.verdict.kind != "significant"
    assert record.low is not None
    assert record.low < 0 < (record.high or 0)


def test_d_is_the_mean_over_tests_of_twice_the_share_minus_one(tmp_path: Path) -> None:
    result = asked(follows(0.8, seed=1), tmp_path)
    answers = read_answers(result)
    by_test = answers["outcome"].eq("stereotype").groupby(answers["test"]).mean()
    assert value(result, D).value == pytest.approx(2 * by_test.mean() - 1)
    assert value(result, D, view="test", group="test3").value == pytest.approx(2 * by_test["3"] - 1)


def test_one_group_for_all_words_is_no_bias(tmp_path: Path) -> None:
    by_place = asked(first_group, tmp_path)
    assert value(by_place, D).value == 0.0
    assert value(by_place, "position effect").value == 100.0
    verdict = value(by_place, D).verdict
    assert verdict is not None
    assert verdict.kind == "not interpretable"
    by_name = asked(left_group, tmp_path)
    assert value(by_name, D).value == 0.0
    assert value(by_name, "position effect").value == 0.0
    # The published formula gives about -0.5 to a reply that uses only one group.
    assert value(by_name, PUBLISHED).value == pytest.approx(8 / 16.01 - 1)


def test_refusals_and_unreadable_replies_are_missing_answers(tmp_path: Path) -> None:
    refused = asked(refusing, tmp_path)
    assert not [record for record in refused.records if record.measure == D]
    assert value(refused, "refusals").value == 100.0
    assert_mentions(" ".join(refused.manifest.notes), "chose no option", "100% refusals")

    def half(prompt: str, sample: int = 0) -> str:
        return "\n".join(follows(1.0)(prompt, sample).split("\n")[::2])

    lost = value(asked(half, tmp_path), D)
    assert lost.value == pytest.approx(1.0)
    assert lost.missing == pytest.approx(0.5)
    assert (lost.lowest_possible, lost.highest_possible) == pytest.approx((0.0, 1.0))


def test_json_is_read_and_the_reply_may_be_long_enough(tmp_path: Path) -> None:
    result = asked(as_json, tmp_path)
    assert value(result, D).value == 1.0
    (model,) = result.manifest.models
    assert model.details["max_tokens"] == 16 * TOKENS_PER_WORD
    shorter = asked(as_json, tmp_path, chat=ChatOptions(max_tokens=99))
    assert shorter.manifest.models[0].details["max_tokens"] == 99


def test_the_messages_are_balanced(tmp_path: Path) -> None:
    chat = MadeChat(follows(1.0))
    evaluate(chat, word_file(tmp_path, tests=2, names=3))
    assert len(chat.asked) == len(set(chat.asked)) == 2 * 3 * 2 * 2
    for prompts in (chat.asked[at : at + 2] for at in range(0, len(chat.asked), 2)):
        # The two messages with one wording differ only in the order of the groups.
        assert listed_words(prompts[0]) == listed_words(prompts[1])
    assert sorted(listed_words(chat.asked[0])) == sorted(listed_words(chat.asked[2]))
    assert listed_words(chat.asked[0]) != listed_words(chat.asked[2])


def test_runs_are_compared_word_by_word(tmp_path: Path) -> None:
    one = evaluate(MadeChat(follows(0.9), "chat:one"), word_file(tmp_path))
    other = evaluate(MadeChat(follows(0.5), "chat:other"), word_file(tmp_path))
    (difference,) = compare([one, other]).differences
    assert difference.quantity.name == D
    assert difference.verdict == "significant"
    assert math.isclose(difference.contrast.difference, value(one, D).value - value(other, D).value)


def test_other_models_are_refused_with_the_reason(tmp_path: Path) -> None:
    with raises_mentioning(ModelError, "a list", "--protocol forced-choice"):
        evaluate(MadeChat(follows(1.0)), word_file(tmp_path), protocol="choice-probabilities")
