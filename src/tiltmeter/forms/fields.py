"""Checks of the fields of a data record (the values of one item in a file); all forms use them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem in a data record: the code of the problem, the field, and a message."""

    code: str
    field: str
    message: str


class Fields:
    """The raw values of a data record (one item). Methods return checked values and append to `problems`."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self.values = values
        self.problems: list[Problem] = []

    def note(self, code: str, field: str, message: str) -> None:
        """Add a problem."""
        self.problems.append(Problem(code, field, message))

    def text(self, key: str) -> str:
        """Return the text at `key`; if it is missing or invalid, add a problem and return an empty string."""
        return self.get_nested_text(self.values, key, key)

    def get_nested_text(self, values: Mapping[str, object], key: str, field: str) -> str:
        """Return the text at `key` in `values`; if it is missing or invalid, add a problem and return an empty string.

        `values` may be a nested object. `field` is the name of the field in the problem.
        """
        if key not in values:
            self.note("missing-field", field, f"{key} is missing")
            return ""
        value = values[key]
        if not isinstance(value, str):
            self.note("wrong-type", field, f"must be a text, not {describe_json_type(value)}")
            return ""
        if not value.strip():
            self.note("empty-text", field, "the text is empty")
            return ""
        if not _is_unicode(value):
            self.note("bad-encoding", field, "contains an unpaired surrogate, which is not a character")
            return ""
        if "\0" in value:
            self.note("bad-encoding", field, "contains a null character")
            return ""
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the texts of the list at `key`; add a problem for a missing or empty list, and for each invalid text.

        >>> fields = Fields({"names": ["Ada", ""]})
        >>> fields.texts("names"), fields.problems[0].field
        (('Ada', ''), 'names[1]')
        """
        listed = self._get_list(key)
        if listed is not None and not listed:
            self.note("empty-text", key, "the list is empty")
        entries = {f"{key}[{number}]": entry for number, entry in enumerate(listed or ())}
        return tuple(self.get_nested_text(entries, name, name) for name in entries)

    def objects(self, key: str) -> list[tuple[str, Mapping[str, object]]]:
        """Return pairs (field name, object) for the objects in the list at `key`; add a problem for other entries."""
        found = []
        for number, entry in enumerate(self._get_list(key) or ()):
            name = f"{key}[{number}]"
            if isinstance(entry, Mapping):
                found.append((name, entry))
            else:
                self.note("wrong-type", name, f"must be an object, not {describe_json_type(entry)}")
        return found

    def _get_list(self, key: str) -> Sequence[object] | None:
        """Return the list at `key`; if it is missing or not a list, add a problem and return None."""
        value = self.values.get(key)
        if value is None:
            self.note("missing-field", key, f"{key} is missing")
            return None
        if not isinstance(value, Sequence) or isinstance(value, str):
            self.note("wrong-type", key, f"must be a list, not {describe_json_type(value)}")
            return None
        return value

    def language(self) -> str:
        """Return the value of `language`; add a problem if it is not a language code."""
        language = self.text("language")
        if language and not is_language_code(language):
            self.note("bad-language", "language", f"{language!r} is not a language code such as de or pt-BR")
        return language

    def choice(self, key: str, choices: Sequence[str], code: str) -> str:
        """Return the text at `key`; if it is not one of the choices, add a problem and return an empty string."""
        text = self.text(key)
        if text and text not in choices:
            listed = " or ".join(choices) if len(choices) == 2 else f"one of {', '.join(choices)}"
            self.note(code, key, f"must be {listed}, not {text!r}")
            return ""
        return text


def is_language_code(text: str) -> bool:
    """Return whether a text has the format of a language code.

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
    """Return the name of the JSON type of a value.

    >>> describe_json_type(None), describe_json_type([]), describe_json_type(True)
    ('null', 'a list', 'true or false')
    """
    kinds = {str: "text", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return "null" if value is None else kinds.get(type(value), f"a {type(value).__name__}")
