"""Field checks shared by all forms: texts, languages, choices."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem without a location: its code, the field, and a message."""

    code: str
    field: str
    message: str


class Fields:
    """The raw values of a record; the methods return checked values and add to `problems`."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self.values = values
        self.problems: list[Problem] = []

    def note(self, code: str, field: str, message: str) -> None:
        """Add a problem."""
        self.problems.append(Problem(code, field, message))

    def text(self, key: str) -> str:
        """The text at `key`; if it is missing or invalid, an empty string, and a problem is added."""
        return self.get_nested_text(self.values, key, key)

    def get_nested_text(self, values: Mapping[str, object], key: str, field: str) -> str:
        """Like `text`, for an object nested in the record; `field` is its name in problems."""
        if key not in values:
            self.note("missing-field", field, f"{key} is missing")
            return ""
        value = values[key]
        if not isinstance(value, str):
            self.note("wrong-type", field, f"should be text, and is {describe_json_type(value)}")
            return ""
        if not value.strip():
            self.note("empty-text", field, "the text is empty")
            return ""
        if not _is_unicode(value):
            self.note("bad-encoding", field, "holds half of a surrogate pair, which is no character")
            return ""
        if "\0" in value:
            self.note("bad-encoding", field, "holds a null character, which no text has")
            return ""
        return value

    def language(self) -> str:
        """The value of `language`, checked to look like a language code."""
        language = self.text("language")
        if language and not is_language_code(language):
            self.note("bad-language", "language", f"{language!r} is not a language code such as de or pt-BR")
        return language

    def choice(self, key: str, choices: Sequence[str], code: str) -> str:
        """The text at `key` if it is one of the choices; else an empty string, and a problem with `code` is added."""
        text = self.text(key)
        if text and text not in choices:
            listed = " or ".join(choices) if len(choices) == 2 else f"one of {', '.join(choices)}"
            self.note(code, key, f"should be {listed}, and is {text!r}")
            return ""
        return text


def is_language_code(text: str) -> bool:
    """Whether a text looks like a language code.

    >>> is_language_code("pt-BR"), is_language_code("Portuguese")
    (True, False)
    """
    return _LANGUAGE.fullmatch(text) is not None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def describe_json_type(value: object) -> str:
    """The JSON type of a value, in words.

    >>> describe_json_type(None), describe_json_type([]), describe_json_type(True)
    ('null', 'a list', 'true or false')
    """
    kinds = {str: "text", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return "null" if value is None else kinds.get(type(value), f"a {type(value).__name__}")
