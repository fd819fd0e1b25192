"""Conditions of chat models: personas, limited thinking and context frames are separate, stored and comparable."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.models.chat_served import ChatServer, MadeChat, biased, chance, chat_serving, options_of
from tests.models.test_chat_local import instruct
from tests.models.test_chat_providers import MessagesServer, messages_serving
from tests.models.test_chat_variant import QUESTION, TEMPLATE, opened, thinking
from tests.runs.chosen import pairs_file
from tests.support.command import command
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.comparing.comparison import compare
from tiltmeter.comparing.sensitivity import measure_sensitivity
from tiltmeter.errors import UsageError
from tiltmeter.models.chat_variant import ChatVariant
from tiltmeter.models.model_opener import open_given_model
from tiltmeter.models.text_generation import SeededPrompt
from tiltmeter.models.thinking_limit import ThinkingLimit, generate_with_limited_thinking
from tiltmeter.options import ChatOptions, ModelOptions
from tiltmeter.questions import Reply, SamplingOptions
from tiltmeter.runs.chat_budget import Budget
from tiltmeter.runs.evaluate import evaluate
from tiltmeter.runs.result import Result

__all__ = ["instruct", "thinking"]  # fixtures

GARDENER = "You are a gardener."


def test_a_persona_follows_the_system_prompt_and_is_a_condition_of_its_own(thinking: str) -> None:
    models = [opened(thinking, system_prompt="Be fair.", persona=text) for text in (GARDENER, "You are a baker.")]
    models += [opened(thinking, persona=GARDENER), opened(thinking)]
    assert len({model.chat_fingerprint(SamplingOptions()) for model in models}) == len(models)
    rendered = models[0].model.tokenizer.decode(models[0]._encode_prompt("A?"))
    assert rendered == f"<system>Be fair.\n\n{GARDENER}<user>A?<a>"
    assert models[2].name.endswith("[persona You are a gardener]")
    assert models[2].describe()["persona"] == GARDENER
    long = ChatVariant(persona="You are a gardener, and you work in a park.")
    assert "gardener" not in long.suffix
    assert long.suffix != ChatVariant(persona="You are a gardener, and you work in a zoo.").suffix


class Steps:
    """A generator of made texts: the next tokens of a text depend on its prompt alone."""

    def __init__(self, thoughts: int) -> None:
        self.thoughts = thoughts
        self.asked: list[tuple[int, ...]] = []

    def generate_texts(
        self, prompts: Sequence[SeededPrompt], *, longest: int, temperature: float
    ) -> Iterator[tuple[Sequence[int], list[list[int]]]]:
        for place, prompt in enumerate(prompts):
            self.asked.append(tuple(prompt.ids))
            whole = [8, *[1] * self.thoughts, 9, 5, 6, 7, 0]
            done = 0 if 9 not in prompt.ids else len(prompt.ids) - prompt.ids.index(9) - 1
            rest = whole[-4 + done :] if 9 in prompt.ids else whole
            yield [place], [rest[:longest]]


@pytest.mark.parametrize(
    ("thoughts", "budget", "longest", "expected", "calls"),
    [
        (2, 30, 8, [8, 1, 1, 9, 5, 6, 7, 0], 1),  # all within the limit of the thinking
        (20, 3, 8, [8, 1, 1, 9, 5, 6, 7, 0], 2),  # the thinking is ended
        (2, 5, 8, [8, 1, 1, 9, 5, 6, 7, 0], 2),  # the answer goes on
        (2, 30, 2, [8, 1, 1, 9, 5, 6], 1),  # the answer is not longer than asked
        (20, 3, 2, [8, 1, 1, 9, 5, 6], 2),
        (2, 5, 2, [8, 1, 1, 9, 5, 6], 2),
    ],
)
def test_thinking_ends_at_its_limit(thoughts: int, budget: int, longest: int, expected: list[int], calls: int) -> None:
    made = Steps(thoughts)
    limit = ThinkingLimit(budget, start=8, end=9, ends=[0])
    ((_, (tokens,)),) = generate_with_limited_thinking(
        made, [SeededPrompt((4,), 1)], limit, longest=longest, temperature=0.0
    )
    assert tokens == expected
    assert len(made.asked) == calls


def test_a_reply_that_begins_in_the_message_is_thinking_until_its_end(thinking: str) -> None:
    """The template opens the thinking, so a reply that is cut off before its end contains no answer."""
    assert "<think>" in TEMPLATE
    ((_, reply),) = opened(thinking, thinking="on").stream_replies([QUESTION], SamplingOptions(max_tokens=6))
    assert reply.thinking
    assert reply.text == ""
    with raises_mentioning(UsageError, "--thinking-tokens", "--thinking on"):
        opened(thinking, thinking_tokens=4)


def test_servers_get_the_limit_of_the_thinking(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(name: str, temperature: float = 0.0, **options: object) -> Reply:
        model = open_given_model(name, ModelOptions(**options))  # type: ignore[arg-type]
        sampling = SamplingOptions(temperature=temperature, max_tokens=20)
        budget = Budget.estimate(model, [QUESTION], sampling, ChatOptions())  # type: ignore[arg-type]
        assert budget.tokens_out == 20 + options.get("thinking_tokens", 1024)  # type: ignore[operator]
        ((_, reply),) = model.stream_replies([QUESTION], sampling)  # type: ignore[union-attr]
        return reply

    server = ChatServer(lambda _prompt, _sample: "A")
    server.reply = {"choices": [{"message": {"content": "Is it A? Perhaps"}, "finish_reason": "length"}]}
    with chat_serving(server) as name:
        reply = ask(name, thinking="on", thinking_tokens=300, persona=GARDENER)
    assert (reply.text, reply.thinking, reply.cut) == ("", "Is it A? Perhaps", True)
    assert server.bodies[0]["max_tokens"] == 320
    assert server.bodies[0]["messages"][0]["content"] == GARDENER
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret-key-of-nobody")
    messages = MessagesServer(lambda _prompt, _sample: "A")
    with messages_serving(messages) as name:
        ask(name, 1.0, thinking="on", thinking_tokens=2048, persona=GARDENER)
        ask(name, 1.0, thinking="on")
        with raises_mentioning(UsageError, "1,024"):
            ask(name, 1.0, thinking="on", thinking_tokens=20)
    body, default = messages.bodies
    assert (default["thinking"]["budget_tokens"], default["max_tokens"]) == (1024, 1044)
    assert (body["thinking"]["budget_tokens"], body["max_tokens"], body["system"]) == (2048, 2068, GARDENER)


def swayed(prompt: str, sample: int) -> str:
    """It follows the stereotype in 1950 and with children, and is unbiased otherwise."""
    share = 0.9 if "1950" in prompt or "children" in prompt else 0.5
    return biased(share)(prompt, sample)


def test_frames_are_a_condition_that_compare_contrasts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on, server = str(pairs_file(tmp_path, 60)), ChatServer(swayed)
    with chat_serving(server) as name:
        words = ["run", name, "--on", on]
        assert command(monkeypatch, *words, "--out", str(tmp_path / "plain")) == 0, capsys.readouterr().err
        assert command(monkeypatch, *words, "--frame", "year=1950", "--out", str(tmp_path / "then")) == 0
        for wrong in ("colour=red", "year=", "place=Here/there", "place=a,b"):
            assert command(monkeypatch, *words, "--frame", wrong) == 2
            assert_mentions(capsys.readouterr().err, "--frame")
        assert command(monkeypatch, *words, "--frame", "year=1950", "--frame", "year=1951") == 2
    assert server.answered[-1].startswith("Year: 1950\n\n")
    assert len(set(server.answered)) == 2 * 60 * 4  # a framed message is another message
    plain, then = (Result.load(tmp_path / folder) for folder in ("plain", "then"))
    manifest = json.loads((tmp_path / "then" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["request"]["frames"] == manifest["models"][0]["frames"] == ["year=1950"]
    assert {record.protocol for record in then.records} == {"forced-choice/frame year=1950"}
    found = compare([("plain", plain), ("then", then)], across=["protocols"], measures=["chosen stereotype"])
    (difference,) = found.differences
    assert abs(difference.contrast.difference) > 20
    assert difference.contrast.low * difference.contrast.high > 0


def test_sensitivity_to_frames(tmp_path: Path) -> None:
    on, server = str(pairs_file(tmp_path, 60)), ChatServer(swayed)
    with chat_serving(server) as name:
        result = evaluate(name, on)
        (row,) = measure_sensitivity(result, only=["frame"], limit=40)
        with raises_mentioning(UsageError, "louder", "frame"):
            measure_sensitivity(result, only=["louder"])
    values = {one.name: one.value for one in row.variations}
    assert len(values) == 9
    assert {name for name, value in values.items() if value > 75} == {"year=1950", "audience=children"}
    assert {one.name for one in row.variations if one.difference_interval and one.difference_interval[0] > 0} == {
        "year=1950",
        "audience=children",
    }


def test_a_frame_is_in_the_language_of_the_items(tmp_path: Path) -> None:
    chat = MadeChat(lambda prompt, sample: min(options_of(prompt)) if chance(prompt, sample) < 2 else "A")
    for code, line, protocol in (("de", "Jahr: 1950", "frame year=1950"), ("eo", "Year: 1950", "frame in English")):
        on = pairs_file(tmp_path, 2, language=code)
        result = evaluate(chat, str(on), chat=ChatOptions(frames=["year=1950"]))
        assert chat.asked[-1].startswith(f"{line}\n\n")
        assert protocol in result.records[0].protocol
