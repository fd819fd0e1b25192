"""Ask a chat model for JSON objects; an unusable reply is asked for again, with the reason."""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Generic, TypeVar

from tiltmeter.errors import ModelError
from tiltmeter.forms.blank import BLANK
from tiltmeter.forms.case_folding import fold_case
from tiltmeter.models.model_protocol import ChatModel
from tiltmeter.models.reply_store import ReplyStore
from tiltmeter.questions import ChatQuestion, Reply, SamplingOptions

# Maximum number of messages about one object: the first one, and repetitions with the reason.
MAX_ATTEMPTS = 3
# Maximum length of a reply in tokens: a fixed number, and this number for each character of the source texts.
_BASE_TOKENS, _TOKENS_PER_CHARACTER = 300, 3
# The maximum length after a model has used all tokens for its thinking.
_THINKING_TOKENS = 8000
# Only complete replies are stored, so the maximum length is no part of the key of stored replies.
_KEY_SAMPLING = SamplingOptions(temperature=0.0, max_tokens=_THINKING_TOKENS)
# If the requests for this number of objects fail one after the other, the server is regarded as unavailable.
_MAX_FAILED_REQUESTS = 2
# A translation that is longer than this, in comparison with its source, contains more than the translation.
_MAX_GROWTH, _MAX_ADDED = 5, 100

# In the form of the reply that a message shows, this character is in the place of each text. A reply that copies the
# character is not a translation, because it has no letters.
PLACEHOLDER = "…"
# A longer text that is the same as its source, or as the translation of another text, is not a translation.
_MIN_WORDS = 4

_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL | re.IGNORECASE)
# Brackets, and letters around a slash, as in "cocinero/a": an explanation, or a choice between forms.
_ADDED_FORMS = re.compile(r"[()\[\]{}<>|（）【】]|[^\W\d]/[^\W\d]")
_Value = TypeVar("_Value")


class UnusableReplyError(Exception):
    """A reply of a chat model cannot be used; the message is the reason, as a sentence without a full stop."""


@dataclass(frozen=True, slots=True)
class ObjectQuestion(Generic[_Value]):
    """A message that asks for a JSON object, and the function that reads the object.

    `schema` is the JSON schema of the object, which some servers enforce. `characters` is the length of the source
    texts, which limits the length of the reply. `read` returns the value of an object, or raises an UnusableReplyError.
    Its second argument is true at the last attempt; then `read` may accept an object with a small fault that people
    will see later.
    """

    prompt: str
    schema: Mapping[str, Any]
    characters: int
    read: Callable[[dict[str, Any], bool], _Value]


@dataclass(frozen=True, slots=True)
class ObjectFailure:
    """The reason why there is no usable reply to a question."""

    reason: str


def ask_for_objects(
    model: ChatModel, questions: Sequence[ObjectQuestion[_Value]], store: ReplyStore
) -> Iterator[tuple[int, _Value | ObjectFailure]]:
    """Yield the index of each question with the value of its reply, or with the reason why there is none.

    Stored replies are reused, and each usable reply is stored when it arrives. A message with an unusable reply is sent
    again with the reason, at most `MAX_ATTEMPTS` times in all. If a request fails, its question is asked again alone. A
    ModelError is raised if the requests for several questions fail one after the other.
    """
    fingerprint = compute_reply_key(model)
    messages = {index: _build_message(question) for index, question in enumerate(questions)}
    stored = store.get(fingerprint, (message.digest for message in messages.values()))
    is_thinking = False
    for attempt in range(MAX_ATTEMPTS):
        lengths = {index: _compute_max_tokens(questions[index].characters, is_thinking) for index in messages}
        is_last = attempt == MAX_ATTEMPTS - 1
        rejected: dict[int, ChatQuestion] = {}
        for index, reply, is_new in _list_replies(model, messages, lengths, stored if attempt == 0 else {}):
            question = questions[index]
            try:
                # A stored reply was usable, perhaps at the last attempt.
                value = _read_reply(reply, question, is_last or not is_new)
            except UnusableReplyError as error:
                if is_last or isinstance(reply, ModelError) or reply.too_long:
                    yield index, ObjectFailure(str(error))
                elif reply.cut and not reply.text.strip():
                    is_thinking = True
                    rejected[index] = _build_message(question)
                else:
                    rejected[index] = _build_message(question, str(error))
                continue
            if is_new and isinstance(reply, Reply):
                # The reply is stored under the first message, so that the next run finds it without asking again.
                store.put(fingerprint, _build_message(question).digest, reply)
            yield index, value
        messages = rejected


def compute_reply_key(model: ChatModel) -> str:
    """Return the key of the stored replies of a model: everything that a reply depends on, except the message."""
    return model.chat_fingerprint(_KEY_SAMPLING)


def list_new_questions(model: ChatModel, questions: Sequence[ObjectQuestion[Any]], store: ReplyStore) -> list[int]:
    """Return the indexes of the questions without a stored reply."""
    digests = [_build_message(question).digest for question in questions]
    stored = store.get(compute_reply_key(model), digests)
    return [index for index, digest in enumerate(digests) if digest not in stored]


def parse_object(text: str) -> dict[str, Any]:
    """Return the JSON object that a reply consists of; a code fence around the whole object is ignored.

    >>> parse_object('```json\\n{"translation": "Guten Tag."}\\n```')
    {'translation': 'Guten Tag.'}
    """
    text = text.strip()
    if fenced := _FENCED.fullmatch(text):
        text = fenced[1].strip()
    try:
        value = json.loads(text, object_pairs_hook=_reject_repeated_keys)
    except (ValueError, RecursionError) as error:
        is_inside = bool(re.search(r"\{.*\}", text, re.DOTALL))
        raise UnusableReplyError(
            "it contains text outside the JSON object, or the object is not valid JSON"
            if is_inside
            else "it is not a JSON object"
        ) from error
    if not isinstance(value, dict):
        raise UnusableReplyError("it is not a JSON object")
    return value


def build_text_schema(keys: Iterable[str], *, all_keys: bool = True) -> dict[str, Any]:
    """Return the JSON schema of an object with a text for each key; without `all_keys`, keys may be missing.

    >>> build_text_schema(["translation"])["required"]
    ['translation']
    """
    keys = list(keys)
    return {
        "type": "object",
        "properties": {key: {"type": "string"} for key in keys},
        "required": keys if all_keys else [],
        "additionalProperties": False,
    }


def validate_texts(values: Mapping[str, Any], sources: Mapping[str, str], *, all_keys: bool = True) -> dict[str, str]:
    """Return the texts of an object; raise an UnusableReplyError unless they can be translations of `sources`.

    Each key of `sources` must have a text: not empty, on one line, with BLANK as often as its source, without
    explanations or alternatives, and not a repetition of its source or of another text, if these have several words.
    Other keys are errors. Without `all_keys`, keys may be missing.

    >>> validate_texts({"context": " El cocinero era BLANK."}, {"context": "The cook was BLANK."})
    {'context': 'El cocinero era BLANK.'}
    """
    missing = [key for key in sources if key not in values] if all_keys else []
    if missing:
        raise UnusableReplyError(f"the JSON object has no {_join_keys(missing)}")
    if unknown := [key for key in values if key not in sources]:
        raise UnusableReplyError(
            f"the JSON object has the unknown keys {_join_keys(unknown)}; its keys must be {_join_keys(sources)}"
        )
    texts = {key: _validate_text(key, values[key], source) for key, source in sources.items() if key in values}
    for (one, text), (other, same) in combinations(texts.items(), 2):
        if text == same and sources[one] != sources[other] and _is_long(sources[one]) and _is_long(sources[other]):
            raise UnusableReplyError(f"the texts {one!r} and {other!r} are the same, but their sources are not")
    return texts


def _validate_text(key: str, value: object, source: str) -> str:
    if not isinstance(value, str):
        raise UnusableReplyError(f"the value of {key!r} is not a text")
    text = value.strip()
    if not re.search(r"\w", text):
        raise UnusableReplyError(f"the text {key!r} is empty")
    if _is_long(source) and fold_case(text) == fold_case(source.strip()):
        raise UnusableReplyError(f"the text {key!r} is the same as its source, so it is not translated")
    blanks = source.count(BLANK)
    if text.count(BLANK) != blanks:
        raise UnusableReplyError(
            f"the text {key!r} contains {BLANK} {text.count(BLANK)} times instead of {blanks} times"
        )
    if any(unicodedata.category(one) in ("Cc", "Cs", "Cn") and one not in source for one in text) or "\ufffd" in text:
        raise UnusableReplyError(f"the text {key!r} contains a line break or an invalid character")
    if len(text) > _MAX_GROWTH * len(source) + _MAX_ADDED:
        raise UnusableReplyError(f"the text {key!r} is much longer than its source")
    if _ADDED_FORMS.search(text) and not _ADDED_FORMS.search(source):
        raise UnusableReplyError(
            f"the text {key!r} contains an explanation in brackets or alternatives; choose one form"
        )
    return text


def _is_long(text: str) -> bool:
    return len(text.split()) >= _MIN_WORDS


def _list_replies(
    model: ChatModel, messages: Mapping[int, ChatQuestion], lengths: Mapping[int, int], stored: Mapping[bytes, Reply]
) -> Iterator[tuple[int, Reply | ModelError, bool]]:
    """Yield the index of each message, its reply or the error of its request, and whether the reply is new.

    `lengths` maps the index of each message to the maximum length of its reply in tokens. Messages with the same
    maximum length are sent in parallel.
    """
    for length in sorted(set(lengths.values())):
        together = {index: message for index, message in messages.items() if lengths[index] == length}
        yield from _list_replies_of_length(model, together, SamplingOptions(0.0, length), stored)


def _list_replies_of_length(
    model: ChatModel, messages: Mapping[int, ChatQuestion], sampling: SamplingOptions, stored: Mapping[bytes, Reply]
) -> Iterator[tuple[int, Reply | ModelError, bool]]:
    waiting: dict[int, ChatQuestion] = {}
    # Only models on this machine know their maximum length; a server rejects messages that are too long.
    get_limit = getattr(model, "compute_message_limit", None)
    limit: int | None = None if get_limit is None else get_limit(sampling)
    for index, message in messages.items():
        if limit is not None and (length := model.tokens(message.prompt)) > limit:
            yield index, Reply("", too_long=f"{length:,} tokens, with at most {limit:,}"), True
        elif (known := stored.get(message.digest)) is not None:
            yield index, known, False
        else:
            waiting[index] = message
    indexes = list(waiting)
    try:
        for place, reply in model.stream_replies([waiting[index] for index in indexes], sampling):
            del waiting[indexes[place]]
            yield indexes[place], reply, True
    except ModelError:
        # The error does not say which of the parallel requests failed, so the remaining questions are asked alone.
        yield from ((index, reply, True) for index, reply in _ask_alone(model, waiting, sampling))


def _ask_alone(
    model: ChatModel, waiting: Mapping[int, ChatQuestion], sampling: SamplingOptions
) -> Iterator[tuple[int, Reply | ModelError]]:
    failed = 0
    for index, question in waiting.items():
        try:
            ((_, reply),) = model.stream_replies([question], sampling)
        except ModelError as error:
            failed += 1
            if failed == _MAX_FAILED_REQUESTS:
                raise
            yield index, error
        else:
            failed = 0
            yield index, reply


def _read_reply(reply: Reply | ModelError, question: ObjectQuestion[_Value], is_last: bool) -> _Value:
    if isinstance(reply, ModelError):
        raise UnusableReplyError(str(reply).rstrip("."))
    if reply.too_long:
        raise UnusableReplyError(f"the message is too long for the model ({reply.too_long})")
    if reply.refused:
        raise UnusableReplyError("the model refused to reply")
    if reply.cut:
        raise UnusableReplyError("it is too long and was cut off")
    return question.read(parse_object(reply.text), is_last)


def _compute_max_tokens(characters: int, is_thinking: bool) -> int:
    """Return the maximum length of a reply: a power of two, so that many messages have the same one.

    >>> [_compute_max_tokens(characters, is_thinking=False) for characters in (20, 60, 100)]
    [512, 512, 1024]
    """
    expected = _BASE_TOKENS + _TOKENS_PER_CHARACTER * characters
    return _THINKING_TOKENS if is_thinking else 1 << (expected - 1).bit_length()


def _build_message(question: ObjectQuestion[Any], fault: str = "") -> ChatQuestion:
    """Return the message of a question; `fault` is the reason why the previous reply could not be used."""
    complaint = f"\n\nYour previous reply could not be used: {fault}. Reply again." if fault else ""
    return ChatQuestion(question.prompt + complaint, (), schema=question.schema)


def _reject_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise UnusableReplyError("the JSON object has the same key twice")
    return values


def _join_keys(keys: Any) -> str:
    return ", ".join(repr(key) for key in keys)
