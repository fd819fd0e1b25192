"""Validity rules: conditions that the measures of a row must meet so that its verdict can be interpreted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiltmeter.measures.records import Record

# A mapping from measure names to records; all records have the same model, benchmark, language, part, protocol, view
# and group.
Row = Mapping[str, "Record"]
UNKNOWN = "items with unknown tokens"
ALL_ZERO = "items with all scores 0"
_UNREADABLE = {UNKNOWN: "have tokens that the model does not know", ALL_ZERO: "have only scores of 0"}
# These measures are computed over all items of a part of a benchmark, but validity rules apply them to each group too.
PORTION_MEASURES = (UNKNOWN, ALL_ZERO)
MAX_TIES = 0.2
MAX_UNKNOWN = 0.1


@dataclass(frozen=True, slots=True)
class ValidityRule:
    """A rule that a row (records by measure name) must pass to be interpreted.

    `check(row)` returns the reason why the row cannot be interpreted, or None if it can. `violation` describes a
    violation as a clause for the method section of reports.
    """

    violation: str
    check: Callable[[Row], str | None]


def limit_ties(share: float) -> ValidityRule:
    """Build the validity rule that at most this share of the items may be ties (equal scores)."""

    def rule(row: Row) -> str | None:
        ties = row.get("ties")
        if ties is None or not ties.n or ties.value <= share * ties.n:
            return None
        return f"{ties.value:.0f} of {ties.n} items are ties (over {share:.0%})"

    return ValidityRule(f"over {share:.0%} of the items are ties", rule)


def require_above_chance(measure: str, chance: float, widest: float) -> ValidityRule:
    """Build the rule that a measure must be significantly above chance; intervals wider than `widest` always pass."""

    def rule(row: Row) -> str | None:
        record = row.get(measure)
        if record is None or record.low is None or record.high is None:
            return None
        if record.low > chance or record.high - record.low > widest:
            return None
        value = f"{measure} {record.value:.1f} [{record.low:.1f}, {record.high:.1f}]"
        return (
            f"{value} is no better than guessing ({chance:.3g}): the model does not distinguish sense from nonsense "
            "here"
        )

    return ValidityRule(f"{measure} is not above chance ({chance:.3g})", rule)


def limit_unknown_tokens(share: float) -> ValidityRule:
    """Build the validity rule that at most this share of items may have unknown tokens or only scores of 0."""

    def rule(row: Row) -> str | None:
        unreadable = [(row[name], words) for name, words in _UNREADABLE.items() if name in row]
        if not unreadable or sum(record.value for record, _ in unreadable) <= share * unreadable[0][0].n:
            return None
        counts = " and ".join(f"{record.value:.0f} of {record.n} items {words}" for record, words in unreadable)
        return f"{counts} (over {share:.0%})"

    violation = f"over {share:.0%} of the items have tokens that the model does not know, or only scores of 0"
    return ValidityRule(violation, rule)
