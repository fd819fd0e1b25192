"""A reproduction as LaTeX: each table with printed and recomputed numbers, for the packages booktabs and longtable."""

from collections.abc import Iterator, Sequence

from tiltmeter.papers.output.layout import SIGNS, VALUE, Grid, grids, ours
from tiltmeter.papers.reproduction import Outcome, Reproduction, Status

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
}
_SIGNS = {Status.DIFFERS: r"$\neq$", Status.KNOWN: r"$\sim$"}


def to_latex(found: Reproduction) -> str:
    """All tables, one after the other."""
    lines = ["% Needs \\usepackage{booktabs,longtable}. Each cell: printed, sign, ours."]
    for paper in found.papers():
        for grid in grids(found, paper):
            lines += _table(grid, paper.key)
    return "\n".join(lines) + "\n"


def _table(grid: Grid, key: str) -> Iterator[str]:
    yield f"\\begin{{longtable}}{{l{'l' * len(grid.columns)}}}"
    yield f"\\caption{{{escape(grid.caption)} ({key}, Table {escape(grid.table)})}}\\\\"
    yield "\\toprule"
    yield " & ".join(["", *map(escape, grid.columns)]) + r" \\"
    yield "\\midrule"
    for row in grid.rows:
        cells = [_cell(grid.cells.get((row, column), [])) for column in grid.columns]
        yield " & ".join([escape(row), *cells]) + r" \\"
    yield "\\bottomrule"
    yield "\\end{longtable}"


def _cell(outcomes: Sequence[Outcome]) -> str:
    value = next((outcome for outcome in outcomes if outcome.printed.kind == VALUE), None)
    if value is None:
        return ""
    sign = _SIGNS.get(value.status, f"${SIGNS[value.status][1]}$")
    return " ".join(filter(None, (value.printed.text, sign, ours(value))))


def escape(text: str) -> str:
    """Text that LaTeX prints as it is.

    >>> escape("p_i & 5%")
    'p\\\\_i \\\\& 5\\\\%'
    """
    return "".join(_ESCAPES.get(character, character) for character in text)
