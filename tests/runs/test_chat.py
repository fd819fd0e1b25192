"""Runs of chat models: simulated servers with known behaviour, limits, resuming, and written files."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.models.chat_served import (
    ChatServer,
    MadeChat,
    Policy,
    biased,
    chance,
    chat_serving,
    first,
    options_of,
    refusing,
)
from tests.runs.chosen import association_file, gest_file, pairs_file
from tests.runs.made import association_scores, run
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter import ChatOptions, compare, evaluate
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.http_client import retries
from tiltmeter.measures.records import Record
from tiltmeter.runs.chat_confirmation import REPEATED_MESSAGES, count_repeated_messages
from tiltmeter.runs.result import Result


def value(result: Result, measure: str, **where: str) -> Record:
    """Return the record of a measure over all items."""
    wanted = {"view": "all", "group": "all", **where}
    (record,) = [
        record
        for record in result.records
        if record.measure == measure and all(getattr(record, name) == text for name, text in wanted.items())
    ]
    return record


def asked(policy: Policy, on: str | list[str], name: str = "chat:made") -> Result:
    return evaluate(MadeChat(policy, name), on)


def test_always_the_first_option_is_all_position_and_no_bias(tmp_path: Path) -> None:
    server = ChatServer(first)
    with chat_serving(server) as name:
        result = evaluate(name, [association_file(tmp_path), pairs_file(tmp_path)], concurrency=4)
    for benchmark in {record.benchmark for record in result.records}:
        assert value(result, "position effect", benchmark=benchmark).value == 100.0
        assert value(result, "agreement between orders", benchmark=benchmark).value == 0.0
        chosen = value(result, "chosen stereotype", benchmark=benchmark)
        assert chosen.value == 50.0
        assert chosen.verdict is not None
        assert chosen.verdict.kind == "not interpretable"
        assert "position effect" in chosen.verdict.reason
        assert value(result, "coverage", benchmark=benchmark).value == 100.0
    assert {body["temperature"] for body in server.bodies} == {0}


def test_the_first_option_that_makes_sense_is_no_bias(tmp_path: Path) -> None:
    """Cyclic orders alone would put the stereotype first in two orders of three."""

    def policy(prompt: str, _sample: int = 0) -> str:
        return next(label for label, text in options_of(prompt).items() if "nonsense" not in text)

    result = asked(policy, association_file(tmp_path))
    chosen = value(result, "chosen stereotype")
    assert chosen.value == 50.0
    assert value(result, "sense chosen").value == 100.0
    # The places alone do not show this order effect.
    assert value(result, "position effect").value == pytest.approx(50.0)
    assert value(result, "agreement between orders").value == pytest.approx(100 / 3)
    assert value(result, "order effect").value == 100.0
    assert value(result, "agreement between swapped sides").value == 0.0
    assert chosen.verdict is not None
    assert chosen.verdict.kind == "not interpretable"
    assert "order effect" in chosen.verdict.reason


def test_order_of_sides_that_decides_differently_from_item_to_item_is_found(tmp_path: Path) -> None:
    def policy(prompt: str, _sample: int = 0) -> str:
        sensible = [label for label, text in options_of(prompt).items() if "nonsense" not in text]
        return sensible[int(re.findall(r"number (\d+)", prompt)[0]) % 2]

    result = asked(policy, association_file(tmp_path))
    assert value(result, "order effect").value == 0.0
    verdict = value(result, "chosen stereotype").verdict
    assert verdict is not None
    assert_mentions(verdict.reason, "agree in 0%", "swapped order")


def test_an_order_effect_is_not_reported_of_pairs_nor_where_options_decide(tmp_path: Path) -> None:
    pairs = asked(biased(0.8), pairs_file(tmp_path))
    assert "order effect" not in {record.measure for record in pairs.records}
    three = asked(biased(1.0), association_file(tmp_path))
    assert value(three, "order effect").value == 0.0
    assert value(three, "agreement between swapped sides").value == 100.0


def test_place_that_decides_differently_from_item_to_item_is_found(tmp_path: Path) -> None:
    def policy(prompt: str, _sample: int = 0) -> str:
        number = int(re.findall(r"number (\d+)", prompt)[0])
        return "A" if number % 2 else "B"

    result = asked(policy, pairs_file(tmp_path))
    assert value(result, "position effect").value == 0.0
    verdict = value(result, "chosen stereotype").verdict
    assert verdict is not None
    assert verdict.kind == "not interpretable"
    assert_mentions(verdict.reason, "different orders", "agree in 0%", "38%")


def test_guessing_is_no_bias(tmp_path: Path) -> None:
    result = asked(biased(0.5), pairs_file(tmp_path, 1500))
    assert value(result, "agreement between orders").value == pytest.approx(50.0, abs=4)
    verdict = value(result, "chosen stereotype").verdict
    assert verdict is not None
    assert verdict.kind == "no bias"


def test_guessing_among_nonsense_too_cannot_be_interpreted(tmp_path: Path) -> None:
    def policy(prompt: str, sample: int = 0) -> str:
        return "ABC"[int(3 * chance("any", prompt, sample))]

    result = asked(policy, association_file(tmp_path, 300))
    verdict = value(result, "chosen stereotype").verdict
    assert verdict is not None
    assert "no better than guessing" in verdict.reason


def test_refusals(tmp_path: Path) -> None:
    with chat_serving(ChatServer(refusing)) as name:
        result = evaluate(name, association_file(tmp_path))
    assert value(result, "refusals").value == 100.0
    assert value(result, "coverage").value == 0.0
    assert not [record for record in result.records if record.measure == "chosen stereotype"]
    assert result.answers is not None
    assert set(result.answers["outcome"]) == {"refusal"}
    (note,) = result.manifest.notes
    assert_mentions(note, "chose no option", "240 answers", "100% refusals")


def test_mostly_refusals_cannot_be_interpreted(tmp_path: Path) -> None:
    def policy(prompt: str, sample: int = 0) -> str:
        return refusing(prompt) if chance("refuse", prompt) < 0.7 else biased(0.9)(prompt, sample)

    result = asked(policy, association_file(tmp_path, 100))
    verdict = value(result, "chosen stereotype").verdict
    assert verdict is not None
    assert re.search(r"\d+% are refusals", verdict.reason)


def test_prose_is_read(tmp_path: Path) -> None:
    with chat_serving(ChatServer(biased(1.0, in_prose=True))) as name:
        result = evaluate(name, [association_file(tmp_path), pairs_file(tmp_path)])
    for benchmark in {record.benchmark for record in result.records}:
        assert value(result, "coverage", benchmark=benchmark).value == 100.0
        assert value(result, "chosen stereotype", benchmark=benchmark).value == 100.0


@pytest.mark.parametrize("kind", ["association", "pairs"])
def test_a_known_bias_is_recovered(tmp_path: Path, kind: str) -> None:
    """The 95% interval covers the true rate; of 12 seeds two may miss (p = 0.02 for more, if it covers)."""
    path = {"association": association_file, "pairs": pairs_file}[kind](tmp_path, 60)
    missed = 0
    for seed in range(12):
        record = value(evaluate(MadeChat(biased(0.65, seed), name=f"chat:{seed}"), path), "chosen stereotype")
        assert record.low is not None
        assert record.high is not None
        missed += not record.low <= 65.0 <= record.high
    assert missed <= 2


def test_a_large_bias_is_significant(tmp_path: Path) -> None:
    record = value(asked(biased(0.8), association_file(tmp_path, 200)), "chosen stereotype")
    assert record.verdict is not None
    assert (record.verdict.kind, record.verdict.side, record.verdict.size) == ("significant", "towards", "beyond")
    assert record.clusters == 20


def speaker(men: float, women: float) -> Policy:
    """Choose the masculine option with these probabilities in sentences about male and female things."""

    def policy(prompt: str, sample: int = 0) -> str:
        share = women if " female thing" in prompt else men
        masculine = chance("speaker", prompt, sample) < share
        wanted = ("a man", "he", "the man") if masculine else ("a woman", "she", "the woman")
        return next(label for label, text in options_of(prompt).items() if text in wanted)

    return policy


def test_gest_takes_the_general_preference_out(tmp_path: Path) -> None:
    result = asked(speaker(0.9, 0.9), gest_file(tmp_path, 480))
    gap = value(result, "masculine choice gap")
    assert gap.low is not None
    assert gap.high is not None
    assert gap.low < 0 < gap.high
    assert value(result, "masculine choices").value == pytest.approx(90.0, abs=3)
    always = value(asked(speaker(1, 1), gest_file(tmp_path, 480), "chat:always"), "masculine choice gap")
    assert always.value == pytest.approx(0.0)
    assert always.verdict is not None
    assert always.verdict.kind in ("no bias", "inconclusive")


def test_gest_finds_a_gap(tmp_path: Path) -> None:
    gap = value(asked(speaker(0.8, 0.4), gest_file(tmp_path, 480)), "masculine choice gap")
    assert gap.low is not None
    assert gap.high is not None
    assert gap.low < 40.0 < gap.high
    assert gap.verdict is not None
    assert (gap.verdict.kind, gap.verdict.side) == ("significant", "towards")


def test_the_full_design_keeps_the_neutral_option_apart(tmp_path: Path) -> None:
    def chosen(prompt: str, sample: int = 0) -> str:
        options = options_of(prompt)
        neutral = [label for label, text in options.items() if text == "No preference"]
        if neutral and chance("neutral", prompt) < 0.5:
            return neutral[0]
        return next(label for label, text in options.items() if "towards" in text)

    model = MadeChat(chosen)
    result = evaluate(model, pairs_file(tmp_path, 30), chat=ChatOptions(full=True))
    assert len(model.asked) == 30 * 24
    assert value(result, "neutral choices").value == pytest.approx(50.0, abs=7)
    assert value(result, "chosen stereotype").value == 100.0
    assert value(result, "chosen stereotype, neutral offered").value == 100.0
    assert value(result, "chosen stereotype").protocol == "forced-choice/full"


def test_samples_and_temperature(tmp_path: Path) -> None:
    server = ChatServer(biased(0.6))
    with chat_serving(server) as name:
        result = evaluate(name, pairs_file(tmp_path, 5), chat=ChatOptions(samples=3))
    assert len(server.bodies) == 5 * 4 * 3
    assert {(body["temperature"], body["seed"]) for body in server.bodies} == {(1.0, 0), (1.0, 1), (1.0, 2)}
    assert value(result, "coverage").protocol == "forced-choice/temperature 1, 3 samples"
    assert result.answers is not None
    assert sorted(set(result.answers["sample"])) == [1, 2, 3]
    for wrong in ({"samples": 2, "temperature": 0.0}, {"samples": 0}, {"temperature": -1.0}, {"max_tokens": 0}):
        with pytest.raises(UsageError):
            ChatOptions(**wrong)  # type: ignore[arg-type]


def test_a_server_that_dies_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "PAUSES", (0.0,))
    server = ChatServer(biased(0.7))
    server.dies_after = 50
    path = pairs_file(tmp_path, 30)
    with chat_serving(server) as name:
        with raises_mentioning(ModelError, "kept"):
            evaluate(name, path, concurrency=4)
        answered = list(server.answered)
        assert len(answered) == 50
        server.dies_after = None
        result = evaluate(name, path, concurrency=4)
    # When one of four parallel requests fails, the replies of the others may be lost.
    stored = result.manifest.models[0].details["stored"]
    assert 47 <= stored <= 50
    assert result.manifest.models[0].details["asked"] == 120 - stored
    assert len(set(server.answered)) == 120
    # The model is confirmed by some of them, and a busy server may answer the parallel requests of the first run late.
    assert 0 <= len(server.answered) - (120 + 50 - stored + REPEATED_MESSAGES) <= 3


def test_stored_answers_are_not_asked_for_again(tmp_path: Path) -> None:
    server = ChatServer(biased(0.7))
    path = pairs_file(tmp_path, 10)
    with chat_serving(server) as name:
        once = evaluate(name, path)
        sent = len(server.bodies)
        again = evaluate(name, path)
        assert len(server.bodies) == sent
        pd.testing.assert_frame_equal(once.scores, again.scores)
        # Another setting of sampling is another question; a wider design shares its messages with the default one.
        evaluate(name, path, chat=ChatOptions(max_tokens=9))
        assert len(server.bodies) == 2 * sent
        evaluate(name, path, chat=ChatOptions(full=True))
        assert len(server.bodies) == 2 * sent + 10 * 24 - sent + count_repeated_messages(200)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_requests": 39}, "--max-requests 39"),
        ({"max_cost": 0.0001, "price_in": 1.0, "price_out": 2.0}, "--max-cost 0.0001"),
    ],
)
def test_limits_are_held_before_anything_is_sent(tmp_path: Path, options: dict[str, float], message: str) -> None:
    server = ChatServer(first)
    messages: list[str] = []
    with chat_serving(server) as name, raises_mentioning(UsageError, message, "Nothing was sent"):
        evaluate(name, pairs_file(tmp_path, 10), chat=ChatOptions(**options), tell=messages.append)  # type: ignore[arg-type]
    assert not server.bodies
    assert "40 requests" in messages[0]


def test_limits_that_suffice(tmp_path: Path) -> None:
    messages: list[str] = []
    with chat_serving(ChatServer(biased(0.6))) as name:
        options = ChatOptions(max_requests=40, max_cost=1.0, price_in=1.0, price_out=2.0)
        result = evaluate(name, pairs_file(tmp_path, 10), chat=options, tell=messages.append)
    assert re.search(r"40 requests, about [\d,]+ input tokens and at most 2,560 output tokens", messages[0])
    entry = result.manifest.models[0].details
    assert (entry["tokens_in"], entry["tokens_out"]) == (2000, 40)
    assert entry["cost"] == pytest.approx((2000 * 1.0 + 40 * 2.0) / 1e6)


def test_a_cost_that_was_estimated_too_low_stops_the_run(tmp_path: Path) -> None:
    server = ChatServer(first)
    server.reply = {
        "choices": [{"message": {"content": "A"}}],
        "usage": {"prompt_tokens": 100_000, "completion_tokens": 1},
    }
    options = ChatOptions(max_cost=0.5, price_in=1.0, price_out=1.0)
    with chat_serving(server) as name, raises_mentioning(ModelError, "--max-cost", "is spent"):
        evaluate(name, pairs_file(tmp_path, 10), chat=options, concurrency=1)
    assert 6 <= len(server.bodies) < 40


def test_prices_are_needed_for_a_cost() -> None:
    with raises_mentioning(UsageError, "--price-in and --price-out"):
        ChatOptions(max_cost=1.0)


def test_probabilities_of_labels(tmp_path: Path) -> None:
    server = ChatServer(first)
    server.probabilities = {"A": math.log(0.5), " B": math.log(0.25), "b": math.log(0.2), "C": -9999.0}
    with chat_serving(server) as name:
        result = evaluate(name, pairs_file(tmp_path, 10), protocol="choice-probabilities")
    assert all(body["logprobs"] and body["max_tokens"] == 1 for body in server.bodies)
    assert value(result, "coverage").value == pytest.approx(75.0)
    assert value(result, "chosen stereotype").value == pytest.approx(50.0)
    assert value(result, "position effect").value == pytest.approx(100 / 3)
    assert value(result, "coverage").protocol == "choice-probabilities"
    assert result.answers is not None
    assert set(result.answers["reply"]) == {"A 0.500, B 0.250"}


def test_a_server_without_log_probabilities_is_refused(tmp_path: Path) -> None:
    with chat_serving(ChatServer(first)) as name, raises_mentioning(ModelError, "log-probabilities"):
        evaluate(name, pairs_file(tmp_path, 10), protocol="choice-probabilities")


@pytest.mark.parametrize(
    ("key", "message", "then"),
    [("max_tokens", "Use 'max_completion_tokens' instead.", "max_completion_tokens")],
)
def test_servers_with_other_names(tmp_path: Path, key: str, message: str, then: str) -> None:
    server = ChatServer(first)
    server.refuses = {key: message}
    with chat_serving(server) as name:
        evaluate(name, pairs_file(tmp_path, 3))
    assert [then in body for body in server.bodies] == [False] + [True] * 12


def test_a_server_without_seeds(tmp_path: Path) -> None:
    server = ChatServer(first)
    server.refuses = {"seed": "Unknown field: seed"}
    with chat_serving(server) as name:
        evaluate(name, pairs_file(tmp_path, 3), chat=ChatOptions(samples=2))
    assert ["seed" in body for body in server.bodies] == [True] + [False] * 24


def test_the_error_for_a_server_without_temperature_0_names_the_option(tmp_path: Path) -> None:
    server = ChatServer(first)
    server.refuses = {"temperature": "'temperature' does not support 0 with this model; only 1 is supported."}
    with chat_serving(server) as name, raises_mentioning(ModelError, "--temperature"):
        evaluate(name, pairs_file(tmp_path, 3))
    assert len(server.bodies) == 1


@pytest.mark.parametrize(
    "error",
    [
        {"code": "content_filter", "message": "The response was filtered."},
        {"message": "The prompt triggered our content management policy.", "innererror": {"code": "x"}},
    ],
)
def test_a_filter_that_stops_messages_refuses_them(tmp_path: Path, error: dict[str, Any]) -> None:
    server = ChatServer(biased(1.0))
    server.filters = lambda prompt: error if re.search(r"number [02468] is", prompt) else None
    with chat_serving(server) as name:
        result = evaluate(name, pairs_file(tmp_path, 10))
    assert value(result, "refusals").value == 50.0
    assert value(result, "coverage").value == 50.0
    assert value(result, "chosen stereotype").n == 5


def test_a_filter_and_probabilities(tmp_path: Path) -> None:
    server = ChatServer(first)
    server.probabilities = {"▁A": math.log(0.5), "B": math.log(0.25)}
    server.filters = lambda prompt: {"code": "content_filter"} if "number 1 " in prompt else None
    with chat_serving(server) as name:
        result = evaluate(name, pairs_file(tmp_path, 4), protocol="choice-probabilities")
    assert value(result, "refusals").value == 25.0
    assert value(result, "coverage").value == pytest.approx(75.0 * 0.75)


def test_a_message_that_is_too_long_for_a_server(tmp_path: Path) -> None:
    server = ChatServer(first)
    server.filters = lambda prompt: (
        {"message": "This model's maximum context length is 64 tokens."} if "number 2 " in prompt else None
    )
    with chat_serving(server) as name, raises_mentioning(ModelError, "64 tokens", "Lower --max-tokens"):
        evaluate(name, pairs_file(tmp_path, 4))


def test_one_item_of_a_hundred_that_is_too_long_for_a_server_is_left_out_and_listed(tmp_path: Path) -> None:
    server = ChatServer(first)
    server.filters = lambda prompt: {"message": "too many tokens"} if "number 2 " in prompt else None
    with chat_serving(server) as name:
        result = evaluate(name, pairs_file(tmp_path, 100))
        again = evaluate(name, pairs_file(tmp_path, 100))
    (skip,) = result.manifest.skipped
    assert "too long" in skip.reason
    assert skip.item not in set(result.scores["item"])
    assert result.scores["item"].nunique() == 99
    # It is asked again, because another server may accept it.
    assert again.manifest.models[0].details["asked"] > 0


def test_tokens_that_a_server_does_not_count_are_estimated(tmp_path: Path) -> None:
    server = ChatServer(first)
    server.reply = {"choices": [{"message": {"content": "A"}}]}
    with chat_serving(server) as name:
        result = evaluate(name, pairs_file(tmp_path, 2), chat=ChatOptions(price_in=1.0, price_out=1.0))
    (entry,) = [model.details for model in result.manifest.models]
    assert entry["tokens_estimated"] is True
    assert entry["tokens_in"] > 8 * 40
    assert entry["cost"] > 0


def test_truncated_answers_are_noted(tmp_path: Path) -> None:
    server = ChatServer(first)
    server.reply = {"choices": [{"message": {"content": "Let me think about"}, "finish_reason": "length"}]}
    with chat_serving(server) as name:
        result = evaluate(name, pairs_file(tmp_path, 2))
    _, note = result.manifest.notes
    assert note.startswith("8 of 8 answers about")
    assert "cut off at --max-tokens 64" in note


def test_limits_are_for_all_models_of_a_run(tmp_path: Path) -> None:
    models = [MadeChat(biased(0.6), "chat:one"), MadeChat(biased(0.6), "chat:two")]
    path = pairs_file(tmp_path, 10)
    with raises_mentioning(UsageError, "80 requests", "--max-requests 79"):
        evaluate(models, path, chat=ChatOptions(max_requests=79))
    assert not models[0].asked
    evaluate(models, path, chat=ChatOptions(max_requests=80))
    assert [len(model.asked) for model in models] == [40, 40]


def test_a_cost_that_two_models_spend_together_stops_the_run(tmp_path: Path) -> None:
    models = [MadeChat(biased(0.6), "chat:one"), MadeChat(biased(0.6), "chat:two")]
    for model in models:
        model.tokens = lambda _prompt: 0  # type: ignore[method-assign]
    options = ChatOptions(max_cost=0.000655, price_in=1.0, price_out=0.0)  # 10 tokens for each of 40 messages: 0.0004
    with raises_mentioning(ModelError, "is spent"):
        evaluate(models, pairs_file(tmp_path, 10), chat=options)
    assert [len(model.asked) for model in models] == [40, 26]


def test_secrets_in_an_address_are_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_API_KEY", "secret-key")
    server = ChatServer(biased(0.6))
    out = tmp_path / "run"
    with chat_serving(server) as name:
        name = name.replace("://", "://me:secret-word@") + "?version=secret-query"
        messages: list[str] = []
        evaluate(name, pairs_file(tmp_path, 3), out=out, tell=messages.append)
        server.refuses = {"model": "no access for secret-key with version=secret-query"}
        with pytest.raises(ModelError) as error:
            evaluate(name, pairs_file(tmp_path, 4))
    assert set(server.paths) == {"/v1/chat/completions?version=secret-query"}
    written = [path.read_bytes().decode(errors="replace") for path in out.iterdir()]
    for text in (*written, *messages, str(error.value)):
        assert not re.search("secret-(key|word|query)", text)


def test_other_refusals_of_a_server_are_passed_on(tmp_path: Path) -> None:
    server = ChatServer(first)
    server.refuses = {"model": "no such model"}
    with chat_serving(server) as name, raises_mentioning(ModelError, "no such model"):
        evaluate(name, pairs_file(tmp_path, 3))


@pytest.mark.parametrize("reply", [{"text": "A"}, {"choices": [{"message": {"content": 7}}]}])
def test_a_reply_of_another_kind_is_an_error(reply: dict[str, Any], tmp_path: Path) -> None:
    server = ChatServer(first)
    server.reply = reply
    with chat_serving(server) as name, raises_mentioning(ModelError, "/chat/completions"):
        evaluate(name, pairs_file(tmp_path, 3))


@pytest.mark.parametrize(
    "choice",
    [
        {"message": {"content": None, "refusal": "I can't help with that."}},
        {"message": {"content": "A"}, "finish_reason": "content_filter"},
    ],
)
def test_refusals_that_the_server_marks(tmp_path: Path, choice: dict[str, object]) -> None:
    server = ChatServer(first)
    server.reply = {"choices": [choice]}
    with chat_serving(server) as name:
        result = evaluate(name, pairs_file(tmp_path, 3))
    assert value(result, "refusals").value == 100.0


def test_texts_in_parts_and_thoughts(tmp_path: Path) -> None:
    server = ChatServer(first)
    server.reply = {"choices": [{"message": {"content": [{"type": "text", "text": "<think>A?</think>B"}]}}]}
    with chat_serving(server) as name:
        result = evaluate(name, pairs_file(tmp_path, 3))
    assert value(result, "coverage").value == 100.0
    assert result.answers is not None
    assert set(result.answers["reply"]) == {"B"}
    assert set(result.answers["thinking"]) == {"A?"}


def test_written_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_API_KEY", "secret-key")
    with chat_serving(ChatServer(biased(0.6))) as name:
        result = evaluate(name, association_file(tmp_path, 12), out=tmp_path / "run")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    entry = manifest["models"][0]
    assert (entry["kind"], entry["design"], entry["temperature"], entry["called"]) == ("chat", "default", 0, ["made-1"])
    assert manifest["asked"][0] | {"kind": "chat", "family": "prompted"} == manifest["asked"][0]
    assert not any(b"secret-key" in path.read_bytes() for path in (tmp_path / "run").iterdir())
    loaded = Result.load(tmp_path / "run")
    assert loaded.answers is not None
    assert result.answers is not None
    assert len(loaded.answers) == 12 * 6
    assert loaded.answers["reply"].tolist() == result.answers["reply"].tolist()
    row = loaded.answers.iloc[0]
    assert row["order"] == "stereotype, anti-stereotype, unrelated"
    assert row["outcome"] in ("stereotype", "anti-stereotype")
    assert loaded.records == result.records


def test_instructions_in_english_are_marked(tmp_path: Path) -> None:
    result = asked(biased(0.6), association_file(tmp_path, 6, language="eo"))
    assert value(result, "coverage").protocol == "forced-choice/instructions in English"
    assert_mentions(result.manifest.notes[0], ":eo", "English instructions")


def test_forms_without_a_choice_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "w.jsonl"
    item = {"id": "w-1", "part": "type1-dev", "language": "en", "occupation": "gardener", "gender": "male"}
    path.write_text(json.dumps({**item, "male": "The gardener lost his hat.", "female": "The gardener lost her hat."}))
    with raises_mentioning(ModelError, "form winobias", "chat models"):
        asked(first, str(path))


def test_gest_in_other_languages_and_templates_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    path.write_text(json.dumps({"id": "g", "language": "de", "stereotype": 1, "sentence": "Ich kam zu spät."}))
    with raises_mentioning(ModelError, "speaker", "gest-pairs"):
        asked(first, str(path))
    with raises_mentioning(ModelError, "template-3", "likelihoods"):
        asked(first, "starter-gest/template-3")


def test_options_with_the_same_text_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    item = {
        "id": "p",
        "language": "en",
        "bias_type": "gender",
        "direction": "stereo",
        "more": "Hello.",
        "less": "Hello.",
    }
    other = {**item, "id": "q", "less": "Bye."}
    path.write_text(f"{json.dumps(item)}\n{json.dumps(other)}")
    result = asked(first, str(path))
    assert result.manifest.skipped[0].reason == "two of its options have the same text"


def test_protocols(tmp_path: Path) -> None:
    with raises_mentioning(UsageError, "'in-context'", "forced-choice or choice-probabilities"):
        evaluate(MadeChat(first), pairs_file(tmp_path), protocol="in-context")


def test_chat_models_have_a_run_of_their_own(tmp_path: Path) -> None:
    with raises_mentioning(UsageError, "chat models", "separate runs"):
        evaluate(["chat:a@http://localhost:1/v1", "gpt2"], pairs_file(tmp_path))


def test_settings_of_chat_models_are_refused_for_others(tmp_path: Path) -> None:
    with raises_mentioning(UsageError, "--samples", "chat:MODEL"):
        evaluate("gpt2", pairs_file(tmp_path), chat=ChatOptions(samples=5))


def test_not_compared_with_likelihoods(tmp_path: Path) -> None:
    path = association_file(tmp_path, 40)
    chat = asked(biased(0.7), path)
    likelihood = run(association_scores(benchmark=path, parts=("intrasentence",)))
    with raises_mentioning(UsageError, "likelihoods", "prompts"):
        compare([chat, likelihood])
    with raises_mentioning(UsageError, "likelihoods", "prompts"):
        compare([chat, likelihood], across=["kinds", "protocols", "editions"])


def test_two_chat_models_are_compared_item_by_item(tmp_path: Path) -> None:
    path = association_file(tmp_path, 200)
    results = {
        name: evaluate(MadeChat(biased(share), name=f"chat:{name}"), path) for name, share in (("a", 0.8), ("b", 0.5))
    }
    (difference,) = compare(results, measures=["chosen stereotype"]).differences
    assert difference.verdict == "significant"
    assert difference.contrast.low < 30.0 < difference.contrast.high


def test_a_design_is_part_of_the_protocol(tmp_path: Path) -> None:
    path = pairs_file(tmp_path, 20)
    results = [
        evaluate(MadeChat(biased(0.6), f"chat:{full}"), path, chat=ChatOptions(full=full)) for full in (True, False)
    ]
    with raises_mentioning(UsageError, "different protocols"):
        compare(results)
