"""Chat models as translation systems: broken replies end in another request or in a stated failure, never in a text."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.models.chat_served import ChatServer, MadeChat, chat_serving
from tests.support.messages import assert_mentions, raises_mentioning
from tests.translators.conftest import Asked, Failure, Service
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models.model_opener import open_given_model
from tiltmeter.options import ModelOptions
from tiltmeter.questions import ChatQuestion, Reply, SamplingOptions
from tiltmeter.translators import ItemTranslator, open_translator
from tiltmeter.translators.chat_translator import ChatTranslator
from tiltmeter.translators.json_replies import MAX_ATTEMPTS, PLACEHOLDER
from tiltmeter.translators.translator_protocol import GlossaryTerm, ItemRequest, ItemTranslation, RequestedText

SOURCES = {"context": "The cook was BLANK.", "target_term": "cook", "stereotype": "patient", "anti-stereotype": "gruff"}
SPANISH = {
    "context": "El cocinero era BLANK.",
    "target_term": "cocinero",
    "stereotype": "paciente",
    "anti-stereotype": "brusco",
}
GOOD = json.dumps(SPANISH)
REQUEST = ItemRequest(
    tuple(RequestedText(key, text, "a text") for key, text in SOURCES.items()),
    term_key="target_term",
    context_key="context",
)


def change(**texts: Any) -> str:
    return json.dumps({**SPANISH, **texts})


# Replies in a broken format, with a part of the reason that the model is given.
BROKEN: dict[str, tuple[str, str]] = {
    "prose before": (f"Here is the translation: {GOOD}", "text outside"),
    "prose after": (f"{GOOD}\n\nI hope this helps.", "text outside"),
    "fence and prose": (f"Sure.\n```json\n{GOOD}\n```", "text outside"),
    "two objects": (f"{GOOD}\n{GOOD}", "text outside"),
    "missing key": (json.dumps({key: SPANISH[key] for key in list(SPANISH)[:3]}), "'anti-stereotype'"),
    "extra key": (change(note="informal"), "'note'"),
    "repeated key": (GOOD[:-1] + ', "context": "El jardinero era BLANK."}', "twice"),
    "keys of another language": (json.dumps({"contexto": "El cocinero era BLANK.", **SPANISH}), "'contexto'"),
    "blank missing": (change(context="El cocinero era."), "BLANK 0 times"),
    "blank twice": (change(context="El cocinero era BLANK BLANK."), "BLANK 2 times"),
    "blank in a word": (change(stereotype="BLANK"), "BLANK 1 times"),
    "blank translated": (change(context="El cocinero era ESPACIO."), "BLANK 0 times"),
    "empty text": (change(stereotype=" "), "empty"),
    "form repeated": (json.dumps(dict.fromkeys(SPANISH, PLACEHOLDER)), "empty"),
    "untranslated": (json.dumps(SOURCES), "not translated"),
    "number": (change(stereotype=3), "not a text"),
    "null": (change(stereotype=None), "not a text"),
    "list of texts": (change(stereotype=["paciente", "tranquilo"]), "not a text"),
    "list": (json.dumps([SPANISH]), "not a JSON object"),
    "nested": (json.dumps({"texts": SPANISH}), "'context'"),
    "truncated": (GOOD[:60], "not a JSON object"),
    "refusal": ("I'm sorry, but I can't help with stereotypes.", "not a JSON object"),
    "nothing": ("", "not a JSON object"),
    "alternatives": (change(stereotype="paciente/tranquilo"), "alternatives"),
    "both genders": (change(context="El/la cocinero/a era BLANK."), "alternatives"),
    "explanation": (change(stereotype="paciente (adjetivo)"), "alternatives"),
    "long explanation": (change(stereotype="paciente, es decir, " + "muy " * 60 + "tranquilo"), "longer"),
    "two lines": (change(stereotype="paciente\ntranquilo"), "line break"),
    "half a character": (GOOD.replace("brusco", "brusc\\ud800"), "invalid character"),
    "single quotes": (str(SPANISH), "valid JSON"),
    "deep nesting": ("[" * 100_000, "not a JSON object"),
    "other term": (change(target_term="jardinero"), "'target_term'"),
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def server() -> ChatServer:
    return ChatServer(lambda _prompt, _sample: GOOD)


@pytest.fixture
def name(server: ChatServer) -> Iterator[str]:
    with chat_serving(server) as opened:
        yield opened


def open_chat(name: str) -> ChatTranslator:
    opened = open_translator(name)
    assert isinstance(opened, ChatTranslator)
    return opened


def translate(translator: ChatTranslator, *requests: ItemRequest) -> list[ItemTranslation]:
    found = dict(translator.translate_items(requests, "es"))
    assert sorted(found) == list(range(len(requests)))
    return [found[index] for index in range(len(requests))]


def reply_in_turn(*replies: str) -> Callable[[str, int], str]:
    """Return a policy that gives these replies one after the other, and then the last one for ever."""
    remaining = list(replies)
    return lambda _prompt, _sample: remaining.pop(0) if len(remaining) > 1 else remaining[0]


def test_an_item_is_one_request(name: str, server: ChatServer) -> None:
    translator = open_chat(name)
    assert isinstance(translator, ItemTranslator)
    assert translate(translator, REQUEST) == [ItemTranslation(SPANISH)]
    (prompt,) = server.answered
    assert_mentions(prompt, "from English into Spanish", "The cook was BLANK.", "Keep BLANK", "- stereotype: a text")
    assert server.bodies[0]["temperature"] == 0


def test_servers_get_the_schema_of_the_reply(name: str, server: ChatServer) -> None:
    translate(open_chat(name), REQUEST)
    schema = server.bodies[0]["response_format"]["json_schema"]["schema"]
    assert schema["required"] == list(schema["properties"]) == list(SOURCES)
    assert schema["additionalProperties"] is False


def test_a_server_without_schemas_gets_none(name: str, server: ChatServer) -> None:
    server.refuses = {"response_format": "response_format of this type is unavailable"}
    other = ItemRequest(REQUEST.texts, (GlossaryTerm("cook", "cocinero"),))
    assert translate(open_chat(name), REQUEST, other) == [ItemTranslation(SPANISH)] * 2
    assert ["response_format" in body for body in server.bodies] == [True, False, False]


def test_the_glossary_is_part_of_the_request(name: str, server: ChatServer) -> None:
    terms = (GlossaryTerm("cook", "cocinero", "not the machine"),)
    translate(open_chat(name), ItemRequest(REQUEST.texts, terms))
    assert_mentions(server.answered[0], "- cook: cocinero (not the machine)")


@pytest.mark.parametrize("way", BROKEN)
def test_a_broken_reply_is_asked_for_again(name: str, server: ChatServer, way: str) -> None:
    broken, reason = BROKEN[way]
    server.policy = reply_in_turn(broken, GOOD)
    assert translate(open_chat(name), REQUEST) == [ItemTranslation(SPANISH)]
    first, second = server.answered
    assert second.startswith(first)
    assert_mentions(second.removeprefix(first), reason)


@pytest.mark.parametrize("way", sorted(BROKEN.keys() - {"other term"}))
def test_a_model_that_always_breaks_the_format_gives_no_text(name: str, server: ChatServer, way: str) -> None:
    broken, reason = BROKEN[way]
    server.policy = reply_in_turn(broken)
    (found,) = translate(open_chat(name), REQUEST)
    assert found.texts == {}
    assert_mentions(found.failure, reason)
    assert len(server.answered) == MAX_ATTEMPTS


def test_a_term_that_is_not_in_the_context_is_left_to_reviewers(name: str, server: ChatServer) -> None:
    server.policy = reply_in_turn(BROKEN["other term"][0])
    (found,) = translate(open_chat(name), REQUEST)
    assert found.texts["target_term"] == "jardinero"
    assert len(server.answered) == MAX_ATTEMPTS


@pytest.mark.parametrize("fence", ["```json\n{}\n```", "```\n{}\n```", " \n{}\n"])
def test_a_fence_around_the_whole_object_is_ignored(name: str, server: ChatServer, fence: str) -> None:
    server.policy = reply_in_turn(fence.replace("{}", GOOD))
    assert translate(open_chat(name), REQUEST) == [ItemTranslation(SPANISH)]
    assert len(server.answered) == 1


def test_brackets_of_the_source_are_allowed(name: str, server: ChatServer) -> None:
    server.policy = reply_in_turn('{"context": "Los cocineros (y/o jardineros)"}')
    request = ItemRequest((RequestedText("context", "The cooks (and/or gardeners)"),))
    assert translate(open_chat(name), request)[0].texts == {"context": "Los cocineros (y/o jardineros)"}


def test_one_text_for_several_sentences_is_not_used(name: str, server: ChatServer) -> None:
    server.policy = reply_in_turn('{"one": "Cantaba en el coro.", "other": "Cantaba en el coro."}')
    texts = (RequestedText("one", "I sang in the choir."), RequestedText("other", "I ran to the lake."))
    (found,) = translate(open_chat(name), ItemRequest(texts))
    assert_mentions(found.failure, "'one'", "'other'", "the same")
    same = ItemRequest((texts[0], RequestedText("other", texts[0].text)))
    assert len(translate(open_chat(name), same)[0].texts) == 2


def test_words_may_be_the_same_as_their_sources(name: str, server: ChatServer) -> None:
    server.policy = reply_in_turn('{"one": "animal", "other": "animal"}')
    request = ItemRequest((RequestedText("one", "animal"), RequestedText("other", "beast")))
    assert translate(open_chat(name), request)[0].texts == {"one": "animal", "other": "animal"}


def test_one_failure_does_not_stop_the_others(name: str, server: ChatServer) -> None:
    server.policy = lambda prompt, _sample: "No." if "gardener" in prompt else GOOD
    other = ItemRequest((RequestedText("context", "The gardener was BLANK."), *REQUEST.texts[1:]))
    assert [bool(found.failure) for found in translate(open_chat(name), REQUEST, other, REQUEST)] == [
        False,
        True,
        False,
    ]


def test_usable_replies_are_stored_and_others_are_asked_for_again(name: str, server: ChatServer) -> None:
    server.policy = reply_in_turn("No.", GOOD)
    other = ItemRequest((RequestedText("context", "The gardener was BLANK."), *REQUEST.texts[1:]))
    translator = open_chat(name)
    assert translator.list_new_items([REQUEST, other], "es") == [0, 1]
    translate(translator, REQUEST)
    assert translator.list_new_items([REQUEST, other], "es") == [1]
    assert translate(open_chat(name), REQUEST) == [ItemTranslation(SPANISH)]
    assert len(server.answered) == 2
    server.policy = reply_in_turn("No.")
    assert translate(translator, other)[0].failure
    assert translator.list_new_items([REQUEST, other], "es") == [1]


def test_thinking_that_used_all_tokens_gets_more(name: str, server: ChatServer) -> None:
    cut = {"choices": [{"finish_reason": "length", "message": {"content": "<think>Hm", "reasoning": "Hm"}}]}
    cut["choices"][0]["message"]["content"] = ""  # type: ignore[index]
    whole = {"choices": [{"finish_reason": "stop", "message": {"content": GOOD}}]}
    replies = [cut, whole]
    server.completion = lambda _body: replies.pop(0)  # type: ignore[method-assign]
    assert translate(open_chat(name), REQUEST) == [ItemTranslation(SPANISH)]
    first, second = server.bodies
    assert first["messages"] == second["messages"]
    assert second["max_tokens"] > first["max_tokens"]


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_cut_and_filtered_replies_are_not_used(name: str, server: ChatServer, reason: str) -> None:
    server.reply = {"choices": [{"finish_reason": reason, "message": {"content": GOOD}}]}
    (found,) = translate(open_chat(name), REQUEST)
    assert (found.texts, bool(found.failure)) == ({}, True)


def test_a_message_that_is_too_long_is_not_sent_again(name: str, server: ChatServer) -> None:
    server.filters = lambda _prompt: {"message": "This model's maximum context length is 100 tokens."}
    (found,) = translate(open_chat(name), REQUEST)
    assert_mentions(found.failure, "too long", "100 tokens")
    assert len(server.bodies) == 1


def test_a_message_that_is_too_long_for_a_local_model_is_not_sent() -> None:
    class ShortChat(MadeChat):
        def compute_message_limit(self, sampling: SamplingOptions) -> int:
            return 1000 - sampling.max_tokens

    made = ShortChat(lambda _prompt, _sample: GOOD)
    long = ItemRequest((RequestedText("context", "The cook was BLANK." + " And so on." * 99), *REQUEST.texts[1:]))
    found = translate(ChatTranslator(made), REQUEST, long)
    assert found[0] == ItemTranslation(SPANISH)
    assert_mentions(found[1].failure, "too long", "tokens")
    assert len(made.asked) == 1


def complete(_asked: Asked) -> dict[str, Any]:
    return {"choices": [{"finish_reason": "stop", "message": {"content": GOOD}}]}


@pytest.mark.parametrize("status", [429, 500, 503])
def test_server_errors_are_retried(service: Service, slept: list[float], status: int) -> None:
    service.answer = complete
    service.failures = [Failure(status, "busy", {"Retry-After": "7"})]
    assert translate(open_chat(f"chat:made@{service.url}"), REQUEST) == [ItemTranslation(SPANISH)]
    assert len(slept) == 1


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_a_server_that_always_fails_is_reported(service: Service, slept: list[float], status: int) -> None:
    service.failures = [Failure(status, "out of order")] * 100
    translator = open_chat(f"chat:made@{service.url}")
    (found,) = translate(translator, REQUEST)
    assert_mentions(found.failure, str(status))
    other = ItemRequest((RequestedText("context", "The gardener was BLANK."),))
    with raises_mentioning(ModelError, str(status)):
        translate(translator, REQUEST, other)


def test_a_reply_that_is_no_json_is_reported(service: Service) -> None:
    service.answer = lambda _asked: "<html>"
    (found,) = translate(open_chat(f"chat:made@{service.url}"), REQUEST)
    assert_mentions(found.failure, "JSON", "address")


def test_a_timeout_is_reported(service: Service) -> None:
    ended = threading.Event()

    def wait(asked: Asked) -> dict[str, Any]:
        ended.wait()
        return complete(asked)

    service.answer = wait
    model = open_given_model(f"chat:made@{service.url}", ModelOptions(timeout=0.05))
    (found,) = translate(ChatTranslator(model), REQUEST)  # type: ignore[arg-type]
    ended.set()
    assert_mentions(found.failure, "0.05 seconds")


class FailingChat(MadeChat):
    """A chat model whose requests about gardeners fail."""

    def stream_replies(
        self, questions: Sequence[ChatQuestion], sampling: SamplingOptions
    ) -> Iterator[tuple[int, Reply]]:
        for index, question in enumerate(questions):
            if "gardener" in question.prompt:
                raise ModelError("The line is dead.")
            yield from ((index, reply) for _, reply in super().stream_replies([question], sampling))


def test_a_failed_request_does_not_stop_the_others() -> None:
    made = FailingChat(lambda _prompt, _sample: GOOD)
    other = ItemRequest((RequestedText("context", "The gardener was BLANK."), *REQUEST.texts[1:]))
    last = ItemRequest(REQUEST.texts, (GlossaryTerm("cook", "cocinero"),))
    found = translate(ChatTranslator(made), REQUEST, other, last)
    assert [one.failure for one in found] == ["", "The line is dead", ""]
    assert len(made.asked) == 2


def test_texts_are_translated_one_by_one(name: str, server: ChatServer) -> None:
    def policy(prompt: str, _sample: int) -> str:
        return (
            "I cannot." if "bread" in prompt else json.dumps({"translation": "Canté." if "sang" in prompt else "Fui."})
        )

    server.policy = policy
    translator = open_chat(name)
    assert translator.translate(["I sang.", "I baked bread.", "I went."], "es") == ["Canté.", "", "Fui."]
    assert len(server.answered) == 2 + MAX_ATTEMPTS
    assert translator.translate(["I went.", "I sang."], "es") == ["Fui.", "Canté."]
    assert len(server.answered) == 2 + MAX_ATTEMPTS


def test_the_source_language_is_part_of_the_request_and_of_the_key(name: str, server: ChatServer) -> None:
    server.policy = reply_in_turn('{"translation": "I sang."}')
    english = open_chat(name)
    turkish = english.with_source_language("tr")
    assert turkish.key != english.key
    assert turkish.translate(["Şarkı söyledim."], "en") == ["I sang."]
    assert_mentions(server.answered[0], "from Turkish into English")


def test_all_schemes_of_chat_models_are_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-nobody")
    assert open_translator("anthropic:made").name == "anthropic:made"
    with raises_mentioning(UsageError, "'openai:made@", "chat:MODEL@ADDRESS"):
        open_translator("openai:made@http://localhost:1/v1")
    with raises_mentioning(UsageError, "'chat:'", "chat:MODEL@ADDRESS"):
        open_translator("chat:")
    with raises_mentioning(UsageError, "--device", "--beams"):
        open_translator("chat:made@http://localhost:1/v1", device="cpu", beams=2)
    with raises_mentioning(UsageError, "--beams"):
        open_translator("chat:embedded", beams=2)
