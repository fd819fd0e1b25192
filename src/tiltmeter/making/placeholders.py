"""Placeholders: what is sent to a translation system in place of BLANK, and how it is found again.

Systems translate a placeholder, drop it, double it, split it, respell it or join it to a neighbouring word. Every
translation is therefore checked; what cannot be mended is sent again with the next placeholder.
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
from tiltmeter.forms.word_difference import is_unspaced

# kept: as it was sent; respelled, merged: mended without doubt; attached: there, but with letters joined to it.
Outcome = Literal["kept", "respelled", "merged", "attached", "doubled", "lost"]
# Outcomes after which no other placeholder is tried, and all outcomes with a blank; the best first.
SURE: tuple[Outcome, ...] = ("kept", "respelled", "merged")
USABLE: tuple[Outcome, ...] = (*SURE, "attached")

# Brackets and marks that belong to a token, in any style; quotation marks belong to the sentence.
_WRAPPER = r"[{}\[\]()<>#/【】「」]"
_FULL_WIDTH = {code + 0xFEE0: code for code in range(ord("!"), ord("~") + 1)}
_SPLIT_LETTERS = r"[\s\-_.·]{0,2}"
_SPLIT_MARKS = r"\W{0,4}"


@dataclass(frozen=True, slots=True)
class PlaceholderMatch:
    """A translation with BLANK in place of the placeholder, and what had happened to the placeholder."""

    text: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A placeholder by name, and the token that is sent."""

    name: str
    token: str

    def put(self, text: str) -> str:
        """The text with the token in place of BLANK.

        >>> Placeholder("letters", "XBLANKX").put("The cook was BLANK.")
        'The cook was XBLANKX.'
        """
        return text.replace(BLANK, self.token)

    def find(self, translation: str, wanted: int) -> PlaceholderMatch:
        """The translation of a text in which the token was sent `wanted` times, with BLANK in its place.

        >>> Placeholder("letters", "XBLANKX").find("El cocinero era x blankX.", 1)
        PlaceholderMatch(text='El cocinero era BLANK.', outcome='respelled')
        """
        pattern = _compile_respellings(self.token)
        if translation.count(self.token) == wanted and not pattern.search(
            _to_ascii(translation.replace(self.token, ""))
        ):
            return self._validate(translation.replace(self.token, BLANK), "kept")
        text = translation if "<" not in self.token else html.unescape(translation)
        # From the end, so that earlier positions stay valid.
        for match in reversed(list(pattern.finditer(_to_ascii(text)))):
            text = text[: match.start()] + BLANK + text[match.end() :]
        if text.count(BLANK) == wanted:
            return self._validate(text, "respelled")
        merged = re.sub(rf"{BLANK}(?:[\s,;/\-]*{BLANK})+", BLANK, text)
        if merged.count(BLANK) == wanted:
            return self._validate(merged, "merged")
        return PlaceholderMatch(text, "doubled" if text.count(BLANK) > wanted else "lost")

    @property
    def _has_marks(self) -> bool:
        return not self.token.isalnum()

    def _validate(self, text: str, outcome: Outcome) -> PlaceholderMatch:
        """The text; with the outcome `attached` if letters are joined to BLANK.

        Marks between two words lost their spaces; letters on one side only may be an ending.
        """
        if self._has_marks:
            text = re.sub(
                rf"([^\W_]){BLANK}([^\W_])",
                lambda match: match[1] + _get_gap(match[1]) + BLANK + _get_gap(match[2]) + match[2],
                text,
            )
        neighbours = (letter for pair in re.findall(rf"(\w?){BLANK}(\w?)", text) for letter in pair)
        attached = any(letter and not is_unspaced(letter) for letter in neighbours)
        return PlaceholderMatch(text, "attached" if attached else outcome)


def select_placeholders(system: str, names: Sequence[str] = ()) -> list[Placeholder]:
    """The placeholders to try with a translation system such as `apertium:eng-spa`, in order; or those in `names`.

    >>> [placeholder.token for placeholder in select_placeholders("apertium:eng-spa")]
    ['___', 'XBLANKX', '{xx0xx}']
    """
    data = _load_placeholders()
    tokens, orders = data["tokens"], data["orders"]
    for name in names:
        if name not in tokens:
            raise UsageError(f"There is no placeholder {name!r}; there are {', '.join(tokens)}.")
    order = list(names) or orders.get(system.partition(":")[0], orders["otherwise"])
    return [Placeholder(name, tokens[name]) for name in order]


@cache
def _load_placeholders() -> dict[str, Any]:
    return tomllib.loads(files("tiltmeter.making").joinpath("placeholders.toml").read_text(encoding="utf-8"))


@cache
def _compile_respellings(token: str) -> re.Pattern[str]:
    """The token or BLANK as systems respell them: in other letter case, split, in other brackets."""
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


def _to_ascii(text: str) -> str:
    """The text, character by character, with full-width letters, digits and brackets as ASCII."""
    return text.translate(_FULL_WIDTH)


def _get_gap(neighbour: str) -> str:
    return "" if is_unspaced(neighbour) else " "
