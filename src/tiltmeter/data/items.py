"""Items: the test units of the data sets."""

from dataclasses import dataclass
from typing import Literal

Part = Literal["intrasentence", "intersentence"]
Role = Literal["stereotype", "anti-stereotype", "unrelated"]

PARTS: tuple[Part, ...] = ("intrasentence", "intersentence")
ROLES: tuple[Role, ...] = ("stereotype", "anti-stereotype", "unrelated")
BLANK = "BLANK"


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


Item = AssociationItem | PairItem | GestItem
