"""Placeholders, which replace BLANK in texts that are sent to a translation system.

Translation systems may translate, drop, double, split or respell a placeholder, or join it to a neighbouring word. So
the placeholder in every translation is checked and, if possible, repaired. If it cannot be repaired, the text is sent
again with the next placeholder.
"""

import html
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from tiltmeter.errors import UsageError
from tiltmeter.forms.blank import BLANK
from tiltmeter.forms.word_difference import is_script_without_spaces

# The state of a placeholder in a translation. kept: it is unchanged. respelled, merged: it was changed and is safely
# repaired. attached: it was found, but letters are joined to it. doubled, lost: the number of placeholders is wrong.
Outcome = Literal["kept", "respelled", "merged", "attached", "doubled", "lost"]
# SURE: outcomes after which no other placeholder is tried. USABLE: all outcomes with a usable blank. Best first.
SURE: tuple[Outcome, ...] = ("kept", "respelled", "merged")
USABLE: tuple[Outcome, ...] = (*SURE, "attached")

# Brackets and marks that can belong to the token of a placeholder. Quotation marks belong to the sentence.
_WRAPPER = r"[{}\[\]()<>#/【】「」]"
_FULL_WIDTH = {code + 0xFEE0: code for code in range(ord("!"), ord("~") + 1)}
_SPLIT_LETTERS = r"[\s\-_.·]{0,2}"
_SPLIT_MARKS = r"\W{0,4}"


@dataclass(frozen=True, slots=True)
class PlaceholderMatch:
    """A translation in which BLANK replaces the placeholder; `outcome` says how the placeholder was translated."""

    text: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A placeholder: its name, and the token that replaces BLANK in the text that is sent."""

    name: str
    token: str

    def insert_into(self, text: str) -> str:
        """Return a text in which the token replaces BLANK.

        >>> Placeholder("letters", "XBLANKX").insert_into("The cook was BLANK.")
        'The cook was XBLANKX.'
        """
        return text.replace(BLANK, self.token)

    def find_in_translation(self, translation: str, wanted: int) -> PlaceholderMatch:
        """Return a match: the translation with BLANK instead of the token, and how the token was translated.

        The source text contained the token `wanted` times.

        >>> Placeholder("letters", "XBLANKX").find_in_translation("El cocinero era x blankX.", 1)
        PlaceholderMatch(text='El cocinero era BLANK.', outcome='respelled')
        """
        pattern = _compile_respellings(self.token)
        if translation.count(self.token) == wanted and not pattern.search(
            _convert_to_ascii(translation.replace(self.token, ""))
        ):
            return self._validate_match(translation.replace(self.token, BLANK), "kept")
        text = translation if "<" not in self.token else html.unescape(translation)
        # The matches are replaced from the last to the first, so that the positions of earlier matches stay valid.
        for match in reversed(list(pattern.finditer(_convert_to_ascii(text)))):
            text = text[: match.start()] + BLANK + text[match.end() :]
        if text.count(BLANK) == wanted:
            return self._validate_match(text, "respelled")
        merged = re.sub(rf"{BLANK}(?:[\s,;/\-]*{BLANK})+", BLANK, text)
        if merged.count(BLANK) == wanted:
            return self._validate_match(merged, "merged")
        return PlaceholderMatch(text, "doubled" if text.count(BLANK) > wanted else "lost")

    def _validate_match(self, text: str, outcome: Outcome) -> PlaceholderMatch:
        """Return a match for a translation with BLANK; its outcome is `attached` if letters are joined to BLANK."""
        # If a token with marks is joined to letters on both sides, it has only lost its spaces, which are added again.
        # Letters on only one side may be a word ending.
        if not self.token.isalnum():
            text = re.sub(
                rf"([^\W_]){BLANK}([^\W_])",
                lambda match: match[1] + _get_space_before(match[1]) + BLANK + _get_space_before(match[2]) + match[2],
                text,
            )
        neighbours = (letter for pair in re.findall(rf"(\w?){BLANK}(\w?)", text) for letter in pair)
        attached = any(letter and not is_script_without_spaces(letter) for letter in neighbours)
        return PlaceholderMatch(text, "attached" if attached else outcome)


def select_placeholders(system: str, names: Sequence[str] = ()) -> list[Placeholder]:
    """Return the placeholders to try with a translation system, in order. If `names` are given, return only these.

    >>> [placeholder.token for placeholder in select_placeholders("apertium:eng-spa")]
    ['___', 'XBLANKX', '{xx0xx}']
    """
    data = _load_placeholders()
    tokens, orders = data["tokens"], data["orders"]
    for name in names:
        if name not in tokens:
            raise UsageError(f"There is no placeholder {name!r}; choose from {', '.join(tokens)}.")
    order = list(names) or orders.get(system.partition(":")[0], orders["otherwise"])
    return [Placeholder(name, tokens[name]) for name in order]


@cache
def _load_placeholders() -> dict[str, Any]:
    return tomllib.loads(files("tiltmeter.making").joinpath("placeholders.toml").read_text(encoding="utf-8"))


@cache
def _compile_respellings(token: str) -> re.Pattern[str]:
    """Return a pattern that matches BLANK and the token.

    The pattern also matches the token in other letter case, with spaces inside, or in other brackets.
    """
    core = [character for character in token if character.isalnum()]
    if not core:
        mark = re.escape(token[0])
        spelled = rf"{mark}(?:[\s\-\\]?{mark})+"
    elif len(core) == len(token):
        spelled = _SPLIT_LETTERS.join(core)
    else:
        closing = rf"(?:{_WRAPPER}|\")" if '"' in token else _WRAPPER
        spelled = rf"(?:{_WRAPPER}[\s\-]?)*{_SPLIT_MARKS.join(core)}(?:[\s\-]?{closing})*"
    return re.compile(rf"{spelled}|{BLANK}", re.IGNORECASE)


def _convert_to_ascii(text: str) -> str:
    """Replace full-width letters, digits and brackets by ASCII characters; the length of the text stays the same."""
    return text.translate(_FULL_WIDTH)


def _get_space_before(neighbour: str) -> str:
    return "" if is_script_without_spaces(neighbour) else " "
