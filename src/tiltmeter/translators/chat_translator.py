"""Chat models as translation systems: each request asks for the translations as a JSON object, which is validated."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any, Self

from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.datasets.language_facts import get_language_facts
from tiltmeter.errors import UsageError
from tiltmeter.forms.blank import BLANK
from tiltmeter.forms.case_folding import fold_case
from tiltmeter.models.model_opener import open_given_model
from tiltmeter.models.model_protocol import ChatModel
from tiltmeter.models.reply_store import ReplyStore
from tiltmeter.options import ModelOptions
from tiltmeter.translators.json_replies import (
    PLACEHOLDER,
    ObjectFailure,
    ObjectQuestion,
    UnusableReplyError,
    ask_for_objects,
    build_text_schema,
    compute_reply_key,
    list_new_questions,
    validate_texts,
)
from tiltmeter.translators.translator_protocol import SOURCE, GlossaryTerm, ItemRequest, ItemTranslation

# Increase this version if the messages or the checks change; it is part of the key of stored translations.
_VERSION = 2
_TRANSLATION = "translation"


class ChatTranslator:
    """A chat model as a translation system; each text, or each item with all its texts, is one request."""

    price = None
    # The requests of a batch are sent in parallel.
    batch_size = 64

    def __init__(self, model: ChatModel) -> None:
        self.model = model
        self.name = model.name
        self.source = SOURCE

    @cached_property
    def key(self) -> str:
        """The key of stored translations: the fingerprint of the model, and the version of the messages."""
        return f"chat translator {_VERSION} {compute_reply_key(self.model)} from {self.source}"

    def check(self, language: str) -> None:
        """Accept every language, because chat models do not say which languages they know."""

    def with_source_language(self, language: str) -> Self:
        """Return a copy with another source language."""
        other = copy(self)
        other.__dict__.pop("key", None)
        other.source = language
        return other

    def translate(self, texts: Sequence[str], language: str) -> list[str]:
        """Return the translations; a text without a usable reply has an empty translation."""
        questions = [self._build_text_question(text, language) for text in texts]
        translations = [""] * len(texts)
        with _open_store() as store:
            for index, result in ask_for_objects(self.model, questions, store):
                if not isinstance(result, ObjectFailure):
                    translations[index] = result[_TRANSLATION]
        return translations

    def translate_items(self, requests: Sequence[ItemRequest], language: str) -> Iterator[tuple[int, ItemTranslation]]:
        """Yield the index of each item with its translation; one request is sent for all texts of an item."""
        questions = [self._build_item_question(request, language) for request in requests]
        with _open_store() as store:
            for index, result in ask_for_objects(self.model, questions, store):
                if isinstance(result, ObjectFailure):
                    yield index, ItemTranslation({}, result.reason)
                else:
                    yield index, ItemTranslation(result)

    def list_new_items(self, requests: Sequence[ItemRequest], language: str) -> list[int]:
        """Return the indexes of the items without a stored reply."""
        questions = [self._build_item_question(request, language) for request in requests]
        with _open_store() as store:
            return list_new_questions(self.model, questions, store)

    def _build_text_question(self, text: str, language: str) -> ObjectQuestion[dict[str, str]]:
        source, target = (get_language_facts(code).name for code in (self.source, language))
        prompt = (
            f"Translate this text from {source} into {target}. Choose one translation, without alternatives or "
            f"explanations.\n\nText: {_format_json(text)}\n\n"
            f"{build_reply_instruction({_TRANSLATION: PLACEHOLDER})}"
        )
        sources = {_TRANSLATION: text}
        schema = build_text_schema(sources)
        return ObjectQuestion(prompt, schema, len(text), lambda values, _is_last: validate_texts(values, sources))

    def _build_item_question(self, request: ItemRequest, language: str) -> ObjectQuestion[dict[str, str]]:
        source, target = (get_language_facts(code).name for code in (self.source, language))
        sources = {text.key: text.text for text in request.texts}
        lines = [
            f"Translate the texts of a test item from {source} into {target}. The item tests whether language models "
            "have stereotypes. A native speaker should find the texts natural, and they should mean the same as the "
            "originals.",
            "",
            *build_rules(sources.values()),
            "",
            "Texts:",
            _format_json(sources),
            "",
            "Meaning of the keys:",
            *(f"- {text.key}: {text.meaning}" for text in request.texts if text.meaning),
            *build_glossary_lines(request.glossary),
            "",
            build_reply_instruction(dict.fromkeys(sources, PLACEHOLDER)),
        ]

        def read(values: dict[str, Any], is_last: bool) -> dict[str, str]:
            texts = validate_texts(values, sources)
            if not is_last:
                _require_term(request, sources, texts)
            return texts

        return ObjectQuestion("\n".join(lines), build_text_schema(sources), sum(map(len, sources.values())), read)


def open_chat_translator(
    name: str,
    *,
    beams: int | None = None,
    device: str = "auto",
    dtype: str = "auto",
    trust_remote_code: bool = False,
) -> ChatTranslator:
    """Open the chat model `name`, such as `chat:MODEL@ADDRESS`, as a translation system."""
    if beams is not None:
        raise UsageError(f"{name} is a chat model, which has no beams; omit --beams.")
    options = ModelOptions(device=device, dtype=dtype, trust_remote_code=trust_remote_code)
    model = open_given_model(name, options)
    if not isinstance(model, ChatModel):
        raise UsageError(f"{name} is not a chat model, so it cannot translate; use for example chat:{name}.")
    return ChatTranslator(model)


def build_rules(texts: Iterable[str]) -> list[str]:
    """Return the rules for all translations as lines of a message; the rule about BLANK only if a text contains it."""
    rules = ["Rules:", "- Choose one form: no alternatives, no brackets, no slashes, no explanations."]
    if any(BLANK in text for text in texts):
        rules += [
            f"- {BLANK} marks a gap. Keep {BLANK} in capital letters, exactly once, at the place where each of the "
            "words for the gap fits grammatically.",
            f"- The words for the gap have the form that they need in place of {BLANK}.",
        ]
    return rules


def build_glossary_lines(glossary: Sequence[GlossaryTerm]) -> list[str]:
    """Return the fixed translations as lines of a message; an empty list if there are none."""
    if not glossary:
        return []
    notes = {term: f" ({term.note})" if term.note else "" for term in glossary}
    return [
        "",
        "Use these translations, with the endings that the sentence needs:",
        *(f"- {term.term}: {term.translation}{notes[term]}" for term in glossary),
    ]


def build_reply_instruction(form: Mapping[str, Any]) -> str:
    """Return the instruction to reply with a JSON object of a form, such as `{"translation": "…"}`."""
    return (
        "Reply with only a JSON object of this form, with the same keys, and without any text before or after "
        f"it. Replace each {PLACEHOLDER}:\n"
        f"{_format_json(form)}"
    )


def _require_term(request: ItemRequest, sources: Mapping[str, str], texts: Mapping[str, str]) -> None:
    """Raise an UnusableReplyError if the term of the item occurs in its source context, but not in its translation."""
    term, context = request.term_key, request.context_key
    if not term or not context or fold_case(sources[term]) not in fold_case(sources[context]):
        return
    if fold_case(texts[term]) not in fold_case(texts[context]):
        raise UnusableReplyError(
            f"the text {context!r} does not contain the text {term!r}; give {term!r} in the form in which it occurs "
            f"in {context!r}"
        )


def _format_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)


def _open_store() -> ReplyStore:
    return ReplyStore(get_cache_folder() / "replies.sqlite")
