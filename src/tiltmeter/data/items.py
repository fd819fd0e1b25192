"""Items: the test units of the data sets."""

from dataclasses import dataclass
from typing import Literal

Part = Literal["intrasentence", "intersentence"]
Role = Literal["stereotype", "anti-stereotype", "unrelated"]

PARTS: tuple[Part, ...] = ("intrasentence", "intersentence")
ROLES: tuple[Role, ...] = ("stereotype", "anti-stereotype", "unrelated")
BLANK = "BLANK"

# The ways to ask about a GEST sentence. They divide what is asked, not the data: every sentence belongs to all four.
TEMPLATES = ("template-1", "template-2", "template-3", "template-4")
WINOBIAS_PARTS = ("type1-dev", "type1-test", "type2-dev", "type2-test")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of the three continuations of a context.

    `sentence` is the whole candidate sentence. `word` is what stands in the place of BLANK; it is empty for
    intersentence candidates.
    """

    id: str
    role: Role
    sentence: str
    word: str = ""


@dataclass(frozen=True, slots=True)
class AssociationItem:
    """A StereoSet context with its three candidates.

    `target` is the group the item is about, by the name that is shared between languages; `target_term` is that
    name as it stands in this language.
    """

    id: str
    part: Part
    language: str
    bias_type: str
    target: str
    target_term: str
    context: str
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class PairItem:
    """Two sentences that differ in the group they speak of; `more` is the more stereotypical one."""

    id: str
    language: str
    bias_type: str
    direction: Literal["stereo", "antistereo"]
    more: str
    less: str


@dataclass(frozen=True, slots=True)
class GestItem:
    """A first-person sentence that belongs to one of the sixteen gender stereotypes."""

    id: str
    language: str
    stereotype: int
    sentence: str


@dataclass(frozen=True, slots=True)
class GestPairItem:
    """A translation of a GEST sentence, once as a man and once as a woman would say it.

    `original` is the English sentence, `translator` what translated it; both may be unknown.
    """

    id: str
    language: str
    stereotype: int
    male: str
    female: str
    original: str = ""
    translator: str = ""


@dataclass(frozen=True, slots=True)
class WinoBiasItem:
    """A sentence about two occupations, with the pronouns for one of them once masculine and once feminine.

    `occupation` is the one that the pronouns stand for, and `gender` the one that it is stereotypically of.
    """

    id: str
    part: str
    language: str
    occupation: str
    gender: Literal["male", "female"]
    male: str
    female: str


Item = AssociationItem | PairItem | GestItem | GestPairItem | WinoBiasItem


def belongs_to(item: Item, part: str) -> bool:
    """Whether the item is asked in this part of its data set."""
    match item:
        case AssociationItem() | WinoBiasItem():
            return item.part == part
        case GestItem():
            return part in TEMPLATES
        case _:
            return False
