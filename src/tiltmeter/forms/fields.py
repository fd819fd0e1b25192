"""Checks that all forms share: texts, languages, choices."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem without a location: what is wrong with which field."""

    code: str
    field: str
    message: str


class Fields:
    """The values of a record. Its methods take values out and note what is wrong with them in `problems`."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self.values = values
        self.problems: list[Problem] = []

    def note(self, code: str, field: str, message: str) -> None:
        """Add a problem."""
        self.problems.append(Problem(code, field, message))

    def text(self, key: str) -> str:
        """The text at `key`; empty, and noted, if there is none."""
        return self.text_in(self.values, key, key)

    def text_in(self, values: Mapping[str, object], key: str, field: str) -> str:
        """The text at `key` of an object inside the record, which a problem calls `field`."""
        if key not in values:
            self.note("missing-field", field, f"{key} is missing")
            return ""
        value = values[key]
        if not isinstance(value, str):
            self.note("wrong-type", field, f"should be text, and is {json_type(value)}")
            return ""
        if not value.strip():
            self.note("empty-text", field, "the text is empty")
            return ""
        if not _is_unicode(value):
            self.note("bad-encoding", field, "holds half of a surrogate pair, which is no character")
            return ""
        return value

    def language(self) -> str:
        """The language."""
        language = self.text("language")
        if language and not _LANGUAGE.fullmatch(language):
            self.note("bad-language", "language", f"{language!r} is not a language code such as de or pt-BR")
        return language

    def choice(self, key: str, choices: Sequence[str], code: str) -> str:
        """The text at `key`, which has to be one of the choices; empty, and noted, if it is not."""
        text = self.text(key)
        if text and text not in choices:
            listed = " or ".join(choices) if len(choices) == 2 else f"one of {', '.join(choices)}"
            self.note(code, key, f"should be {listed}, and is {text!r}")
            return ""
        return text


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def json_type(value: object) -> str:
    """What a value is, in words for people who write JSON.

    >>> json_type(None), json_type([]), json_type(True)
    ('null', 'a list', 'true or false')
    """
    kinds = {str: "text", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return "null" if value is None else kinds.get(type(value), f"a {type(value).__name__}")
