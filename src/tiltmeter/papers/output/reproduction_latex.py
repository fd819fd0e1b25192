"""A reproduction as LaTeX tables with printed and recomputed numbers, for the packages booktabs and longtable."""

from collections.abc import Iterator, Sequence

from tiltmeter.papers.output.reproduction_tables import SIGNS, TableGrid, build_grids, find_value, format_recomputed
from tiltmeter.papers.printed_numbers import format_table_title
from tiltmeter.papers.reproduction import ReproducedNumber, Reproduction, ReproductionStatus
from tiltmeter.reports.formatting import escape_latex

_SIGNS = {ReproductionStatus.DIFFERS: r"$\neq$", ReproductionStatus.KNOWN: r"$\sim$"}


def to_latex(reproduction: Reproduction) -> str:
    """All tables."""
    lines = ["% Needs \\usepackage{booktabs,longtable}. Each cell: printed, sign, ours."]
    for paper in reproduction.list_papers():
        for grid in build_grids(reproduction, paper):
            lines += _format_table(grid, paper.key)
    return "\n".join(lines) + "\n"


def _format_table(grid: TableGrid, key: str) -> Iterator[str]:
    yield f"\\begin{{longtable}}{{l{'l' * len(grid.columns)}}}"
    yield f"\\caption{{{escape_latex(grid.caption)} ({key}, {escape_latex(format_table_title([grid.table]))})}}\\\\"
    yield "\\toprule"
    yield " & ".join(["", *map(escape_latex, grid.columns)]) + r" \\"
    yield "\\midrule"
    for row in grid.rows:
        cells = [_format_cell(grid.cells.get((row, column), [])) for column in grid.columns]
        yield " & ".join([escape_latex(row), *cells]) + r" \\"
    yield "\\bottomrule"
    yield "\\end{longtable}"


def _format_cell(outcomes: Sequence[ReproducedNumber]) -> str:
    value = find_value(outcomes)
    if value is None:
        return ""
    sign = _SIGNS.get(value.status, f"${SIGNS[value.status][1]}$")
    return " ".join(filter(None, (value.printed.text, sign, format_recomputed(value))))
