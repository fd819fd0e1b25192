"""The tables of a comparison before and after a change, for the terminal, the HTML page and LaTeX."""

from collections.abc import Sequence

from tiltmeter.comparing.model_change import ChangeOutcome, ChangeRow, ModelChange
from tiltmeter.reports.formatting import format_p
from tiltmeter.reports.text_table import TextTable

_OUTCOMES: dict[ChangeOutcome, str] = {
    "closer": "better",
    "farther": "worse",
    "not worse": "not worse",
    "inconclusive": "open",
    "identical": "same answers",
    "contradictory": "contradictory",
    "not interpretable": "not interpretable",
}
_HEADS = ("", "result", "group", "measure", "before", "after", "change", "95% interval", "Holm", "n", "outcome")
LEGEND = (
    "change: the distance from the ideal after the change minus that before it, so negative values are improvements; "
    "for LMS and accuracies, positive values are losses. Holm: the p-value of the change, corrected over all targets, "
    "or over all other results. better, worse: significant. not worse: not worse by more than the margin. open: none "
    "of these."
)


def build_change_table(change: ModelChange, *, everything: bool = True) -> TextTable:
    """Return the table of all results, or only of targets, quality and changed results elsewhere."""
    rows = [row for row in change.rows if everything or _is_notable(row)]
    title = f"{change.before} → {change.after}"
    return _build_table(title, rows)


def build_reduced_table(change: ModelChange) -> TextTable:
    """Return the table of the targets without the items that are similar to tuning texts."""
    return _build_table("Without the items that are similar to tuning texts", change.without_overlap)


def _is_notable(row: ChangeRow) -> bool:
    return row.role != "elsewhere" or row.outcome not in ("not worse", "inconclusive", "identical")


def _build_table(title: str, rows: Sequence[ChangeRow]) -> TextTable:
    cells, role = [], None
    for row in rows:
        cells.append(["" if row.role == role else row.role, *_format_cells(row)])
        role = row.role
    bold = frozenset(number for number, row in enumerate(rows) if row.outcome in ("closer", "farther"))
    return TextTable(title, _HEADS, cells, bold, labels=3, optional=("n", "Holm", "before", "after"))


def _format_cells(row: ChangeRow) -> list[str]:
    difference, (low, high) = row.difference, row.interval
    number = difference.quantity.measure.number
    return [
        row.location,
        ", ".join(row.where.values()),
        difference.quantity.name,
        number(row.before),
        number(row.after),
        number(row.farther, signed=True),
        f"[{number(low, signed=True)}, {number(high, signed=True)}]",
        format_p(min(row.p_closer, row.p_farther)),
        f"{difference.contrast.n:,}",
        _OUTCOMES[row.outcome],
    ]
