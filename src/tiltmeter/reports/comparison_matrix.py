"""The summary of a comparison of many models or languages: for each measure, a matrix of significant differences."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from tiltmeter.comparing.paired_difference import Comparison, Difference
from tiltmeter.measures import Measure
from tiltmeter.measures.records import OVERALL
from tiltmeter.measures.verdict import UNRELIABLE_KINDS
from tiltmeter.reports.console_tables import create_table
from tiltmeter.reports.formatting import format_count, format_p
from tiltmeter.reports.grouping import group_by

MOST_SIDES = 4  # a comparison with more models or languages than this begins with a summary
SIGNS = {
    "+": "the row is significantly farther from the ideal than the column",
    "-": "the row is significantly closer to the ideal than the column",
    "/": "significantly different, but neither is significantly farther from the ideal",
    "=": "no difference beyond the margin, or the same answers",
    ".": "inconclusive",
    "?": "not interpretable",
    "!": "contradictory parts or measures",
}
_OPPOSITE = {"+": "-", "-": "+"}


@dataclass(frozen=True, slots=True)
class DifferenceMatrix:
    """The differences between all sides (models or languages) in one measure on one subject, such as `stereoset:de`.

    `labels` are the names of the sides, sorted by distance from the ideal value, farthest first; sides that can be
    compared with no other side come last. `values` are the values of the sides in the same order. The keys of `signs`
    are (row index, column index). If all sides are compared with one baseline, `against` is the name of the baseline,
    and `differences` are the differences from the baseline.
    """

    subject: str
    part: str
    measure: Measure
    labels: tuple[str, ...]
    values: tuple[float, ...]
    signs: dict[tuple[int, int], str]
    against: str = ""
    differences: tuple[Difference, ...] = ()

    @property
    def title(self) -> str:
        """The title of the matrix: the measure, the benchmark, and the part."""
        part = "" if self.part in ("all", OVERALL) else f"/{self.part}"
        return f"{self.measure.name}, {self.subject}{part}"

    @property
    def pair_counts(self) -> str:
        """A phrase with the number of pairs that differ significantly."""
        different = sum(sign in "+-/" for (row, column), sign in self.signs.items() if row < column)
        pairs = sum(row < column for row, column in self.signs)
        return f"{different:,} of {format_count(pairs, 'pair')} significantly different"


def is_large(comparison: Comparison) -> bool:
    """Return whether a comparison has too many models or languages to show each pair."""
    sides: dict[str, set[str]] = {}
    for difference in comparison.differences:
        sides.setdefault(difference.subject, set()).update((difference.left.label, difference.right.label))
    return any(len(labels) > MOST_SIDES for labels in sides.values())


def build_matrices(comparison: Comparison) -> list[DifferenceMatrix]:
    """Return a matrix for each subject (benchmark and language), part of the benchmark, and measure.

    If there are results over all parts, the single parts have a matrix only if one of these results is contradictory
    or not interpretable.
    """
    pooled = group_by((d for d in comparison.differences if d.part == OVERALL), lambda d: (d.subject, d.quantity.name))
    reliable = {key for key, ds in pooled.items() if not any(d.verdict in UNRELIABLE_KINDS for d in ds)}
    shown = (d for d in comparison.differences if d.part == OVERALL or (d.subject, d.quantity.name) not in reliable)
    groups = group_by(shown, lambda d: (d.subject, d.part, d.quantity.name))
    return [_build_matrix(subject, part, differences) for (subject, part, _), differences in groups.items()]


def print_matrices(matrices: Sequence[DifferenceMatrix], console: Console) -> None:
    """Print each matrix in blocks of columns that fit the terminal; then print the meaning of the signs."""
    signs: set[str] = set()
    for matrix in matrices:
        signs |= set(matrix.signs.values())
        console.print(Text.assemble((matrix.title, "bold"), f": {matrix.pair_counts}"), soft_wrap=True)
        if matrix.against:
            _print_list(matrix, console)
        else:
            for columns in _split_columns(matrix, console):
                _print_columns(matrix, columns, console)
        console.print()
    if any(not matrix.against for matrix in matrices):
        for sign, words in SIGNS.items():
            if sign in signs:
                console.print(Text(f"{sign}  {words}", style="dim"))
        console.print(
            Text(
                "Rows and columns are sorted by distance from the ideal, farthest first; models or languages that "
                "cannot be compared with any other come last.",
                style="dim",
            )
        )


def _build_matrix(subject: str, part: str, differences: Sequence[Difference]) -> DifferenceMatrix:
    values: dict[str, float] = {}
    for d in differences:
        values.setdefault(d.left.label, d.contrast.left)
        values.setdefault(d.right.label, d.contrast.right)
    quantity = differences[0].quantity
    ordered_labels = {label for d in differences if d.verdict not in UNRELIABLE_KINDS for label in d.labels}
    labels = sorted(values, key=lambda label: (label not in ordered_labels, -abs(values[label] - quantity.ideal)))
    signs: dict[tuple[int, int], str] = {}
    for d in differences:
        row, column, sign = labels.index(d.left.label), labels.index(d.right.label), get_sign(d)
        signs[row, column], signs[column, row] = sign, _OPPOSITE.get(sign, sign)
    right_labels = {d.right.label for d in differences}
    against = right_labels.pop() if len(right_labels) == 1 and len(labels) > 2 else ""
    ordered = sorted(differences, key=lambda d: labels.index(d.left.label)) if against else ()
    return DifferenceMatrix(
        subject, part, quantity.measure, tuple(labels), tuple(values[label] for label in labels), signs, against,
        tuple(ordered),
    )  # fmt: skip


def get_sign(difference: Difference) -> str:
    """Return the sign for a difference; SIGNS has the meaning of each sign."""
    verdict, (farther_low, farther_high) = difference.verdict, difference.possible_farther
    if verdict == "significant":
        return "+" if farther_low > 0 else "-" if farther_high < 0 else "/"
    return {
        "not interpretable": "?",
        "contradictory": "!",
        "identical": "=",
        "no difference": "=",
    }.get(verdict, ".")


def _print_columns(matrix: DifferenceMatrix, columns: Sequence[int], console: Console) -> None:
    grid = create_table(console, padding=(0, 1, 0, 0))
    grid.add_column("", justify="right", no_wrap=True)
    grid.add_column("", overflow="fold", width=_compute_label_width(matrix, console))
    grid.add_column(matrix.measure.heading or matrix.measure.name, justify="right", no_wrap=True)
    for column in columns:
        grid.add_column(str(column + 1), justify="right", no_wrap=True)
    for row, label in enumerate(matrix.labels):
        signs = (matrix.signs.get((row, column), "") for column in columns)
        grid.add_row(str(row + 1), Text(label), matrix.measure.number(matrix.values[row]), *map(Text, signs))
    console.print(grid)


def _split_columns(matrix: DifferenceMatrix, console: Console) -> Iterator[range]:
    """Yield blocks of column indexes; the columns of one block fit side by side in the terminal."""
    count = len(matrix.labels)
    digits = len(str(count))
    heading = max(
        cell_len(matrix.measure.heading or matrix.measure.name),
        *(cell_len(matrix.measure.number(value)) for value in matrix.values),
    )
    used = digits + 2 + _compute_label_width(matrix, console) + 2 + heading + 1
    fitting = max(1, (console.width - used) // (digits + 2))
    for start in range(0, count, fitting):
        yield range(start, min(start + fitting, count))


def _compute_label_width(matrix: DifferenceMatrix, console: Console) -> int:
    return min(max(map(cell_len, matrix.labels)), console.width // 3)


def _print_list(matrix: DifferenceMatrix, console: Console) -> None:
    """Print a table with the difference of each side from the baseline."""
    number = matrix.measure.number
    grid = create_table(console, padding=0)
    grid.add_column(f"minus {matrix.against}", overflow="fold")
    for name in (matrix.measure.name, "diff", "95% interval", "Holm", ""):
        grid.add_column(name, justify="right" if name else "left", no_wrap=True)
    for d in matrix.differences:
        ends = (number(end, signed=True) for end in (d.contrast.low, d.contrast.high))
        cells = (
            d.left.label,
            number(d.contrast.left),
            number(d.contrast.difference, signed=True),
            f"[{', '.join(ends)}]",
            format_p(d.p_holm),
            get_sign(d),
        )
        grid.add_row(*map(Text, cells), style="bold" if d.significant else None)
    console.print(grid)
