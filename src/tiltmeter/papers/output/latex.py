"""A reproduction as LaTeX tables with printed and recomputed numbers, for the packages booktabs and longtable."""

from collections.abc import Iterator, Sequence

from tiltmeter.papers.output.layout import SIGNS, Grid, grids, ours, value_of
from tiltmeter.papers.printed import table_title
from tiltmeter.papers.reproduction import ReproducedNumber, Reproduction, Status
from tiltmeter.reports.formatting import escape_latex

_SIGNS = {Status.DIFFERS: r"$\neq$", Status.KNOWN: r"$\sim$"}


def to_latex(reproduction: Reproduction) -> str:
    """All tables."""
    lines = ["% Needs \\usepackage{booktabs,longtable}. Each cell: printed, sign, ours."]
    for paper in reproduction.papers():
        for grid in grids(reproduction, paper):
            lines += _table(grid, paper.key)
    return "\n".join(lines) + "\n"


def _table(grid: Grid, key: str) -> Iterator[str]:
    yield f"\\begin{{longtable}}{{l{'l' * len(grid.columns)}}}"
    yield f"\\caption{{{escape_latex(grid.caption)} ({key}, {escape_latex(table_title([grid.table]))})}}\\\\"
    yield "\\toprule"
    yield " & ".join(["", *map(escape_latex, grid.columns)]) + r" \\"
    yield "\\midrule"
    for row in grid.rows:
        cells = [_cell(grid.cells.get((row, column), [])) for column in grid.columns]
        yield " & ".join([escape_latex(row), *cells]) + r" \\"
    yield "\\bottomrule"
    yield "\\end{longtable}"


def _cell(outcomes: Sequence[ReproducedNumber]) -> str:
    value = value_of(outcomes)
    if value is None:
        return ""
    sign = _SIGNS.get(value.status, f"${SIGNS[value.status][1]}$")
    return " ".join(filter(None, (value.printed.text, sign, ours(value))))
