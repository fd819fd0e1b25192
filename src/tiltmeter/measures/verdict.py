"""Verdicts: conclusions from a value, its tests and its margin, and the words for these conclusions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tiltmeter.errors import DataError

VerdictKind = Literal["significant", "no bias", "inconclusive", "too few", "contradictory", "not interpretable"]
VerdictDirection = Literal["towards", "against", "none"]
Size = Literal["", "within", "beyond"]

# The kinds of verdicts, in order of precedence.
KINDS: tuple[VerdictKind, ...] = (
    "not interpretable",
    "contradictory",
    "too few",
    "significant",
    "no bias",
    "inconclusive",
)
# A value with a verdict of one of these kinds cannot be ranked: see `Verdict.is_reliable`.
UNRELIABLE_KINDS: tuple[VerdictKind, ...] = ("not interpretable", "contradictory")
_SIDES, _SIZES = ("towards", "against", "none"), ("", "within", "beyond")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one value of a measure.

    `side` and `size` describe a significant bias. `side` tells whether it is towards or against stereotypes; it is
    "none" for a difference between groups. `size` is
    "within" if it is significantly within the margin, "beyond" if it is significantly beyond the margin, otherwise "".
    `margin` is the margin in words. If there is no significant bias, `reason` is a clause that says why: which results
    contradict each other, which validity rule is violated, why there is no interval, or the minimum detectable bias.
    """

    kind: VerdictKind
    side: VerdictDirection = "none"
    size: Size = ""
    margin: str = ""
    reason: str = ""

    @property
    def short(self) -> str:
        """The verdict in a few words.

        >>> Verdict("significant", "towards", "beyond", "5 points").short
        'significant bias towards stereotypes'
        >>> Verdict("significant").short  # of a measure that compares groups
        'significant difference'
        >>> Verdict("no bias", margin="5 points").short
        'no bias beyond ±5 points'
        """
        if self.kind == "significant":
            return "significant difference" if self.side == "none" else f"significant bias {self.side} stereotypes"
        if self.kind == "no bias":
            return f"no bias beyond {self._bounds}"
        return "too few items" if self.kind == "too few" else self.kind

    @property
    def is_reliable(self) -> bool:
        """Whether the value can be compared: have a rank, be the best value, or be closer to the ideal than another.

        Comparisons, ranks, boards, gates and exports all use this property.
        """
        return self.kind not in UNRELIABLE_KINDS

    @property
    def words(self) -> str:
        """The verdict with its size or reason.

        >>> Verdict("significant", "towards", "beyond", "5 points").words
        'significant bias towards stereotypes, beyond 5 points'
        >>> Verdict("inconclusive", reason="80 items reliably show only a bias of 15.3 points or more").words
        'inconclusive (80 items reliably show only a bias of 15.3 points or more)'
        """
        if self.size:
            return f"{self.short}, {f'within {self._bounds}' if self.size == 'within' else f'beyond {self.margin}'}"
        return f"{self.short} ({self.reason})" if self.reason else self.short

    @property
    def _bounds(self) -> str:
        return self.margin if self.margin.startswith("a factor") else f"±{self.margin}"

    def to_dict(self) -> dict[str, str]:
        """Convert the verdict to the format of measures.json, without empty fields."""
        fields = {"kind": self.kind, "side": self.side, "size": self.size, "margin": self.margin, "reason": self.reason}
        kept = {name: value for name, value in fields.items() if value and (name, value) != ("side", "none")}
        return kept | {"words": self.words}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Verdict":
        """Read a verdict from measures.json."""
        known = {"kind", "side", "size", "margin", "reason"}
        values = {name: value for name, value in fields.items() if name in known}
        valid = (
            all(isinstance(value, str) for value in values.values())
            and values.get("kind") in KINDS
            and values.get("side", "none") in _SIDES
            and values.get("size", "") in _SIZES
        )
        if not valid:
            raise DataError(
                f"{dict(fields)} is not a verdict of measures.json; kind must be one of {', '.join(KINDS)}."
            )
        return cls(**values)
