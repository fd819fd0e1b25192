"""What a verdict is, and how it is said."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tiltmeter.errors import DataError

Kind = Literal["significant", "no bias", "inconclusive", "too few", "contradictory", "not interpretable"]
Side = Literal["towards", "against", "none"]
Size = Literal["", "within", "beyond"]

# In the order of precedence.
KINDS: tuple[Kind, ...] = ("not interpretable", "contradictory", "too few", "significant", "no bias", "inconclusive")
_SIDES, _SIZES = ("towards", "against", "none"), ("", "within", "beyond")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said of a number.

    `side` and `size` belong to a significant bias: towards or against stereotypes; shown to be within the margin, shown
    to be beyond it, or neither. `margin` is the margin in words. `reason` is a clause: what contradicts what, why
    nothing can be said, what so many items could have shown.
    """

    kind: Kind
    side: Side = "none"
    size: Size = ""
    margin: str = ""
    reason: str = ""

    @property
    def short(self) -> str:
        """The verdict in a few words.

        >>> Verdict("significant", "towards", "beyond", "5 points").short
        'significant bias towards stereotypes'
        >>> Verdict("no bias", margin="5 points").short
        'no bias beyond ±5 points'
        """
        if self.kind == "significant":
            return f"significant bias {self.side} stereotypes"
        if self.kind == "no bias":
            return f"no bias beyond {self._bounds}"
        return "too few items" if self.kind == "too few" else self.kind

    @property
    def words(self) -> str:
        """The whole verdict.

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
        """The verdict as measures.json has it; what is empty is left out."""
        fields = {"kind": self.kind, "side": self.side, "size": self.size, "margin": self.margin, "reason": self.reason}
        return {name: value for name, value in fields.items() if value and value != "none"} | {"words": self.words}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Verdict":
        """The verdict of a measures.json that was read back."""
        known = {"kind", "side", "size", "margin", "reason"}
        found = {name: str(value) for name, value in fields.items() if name in known}
        valid = found.get("kind") in KINDS and found.get("side", "none") in _SIDES and found.get("size", "") in _SIZES
        if not valid:
            raise DataError(f"{dict(fields)} is not a verdict.")
        return cls(**found)  # type: ignore[arg-type]
