"""The rates of GEST's stereotypes in one's own runs, row by row as in the tables of the paper."""

from collections.abc import Iterator, Sequence

from tiltmeter.forms.gest import STEREOTYPES
from tiltmeter.measures.gest import AS_PUBLISHED
from tiltmeter.measures.records import Record
from tiltmeter.papers.figures.rate_rows import FROM_RUNS, Rate, RateRow
from tiltmeter.runs.result import Result

_PARTS = {f"template-{number}": str(number) for number in range(1, 5)}
# The views and measures with the rates on the scale of the tables.
_RATES = (("stereotype", "p_i"), ("as published", f"q_i {AS_PUBLISHED}"))


def list_run_rows(runs: Sequence[tuple[str, Result]]) -> list[RateRow]:
    """Return the rows of all runs; results with all templates together are left out."""
    rows: dict[tuple[str, ...], RateRow] = {}
    for record in (record for _, result in runs for record in result.records):
        table = _find_table(record)
        if table and record.group.isdigit() and int(record.group) in STEREOTYPES:
            place = (table, record.model, record.language, _PARTS.get(record.part, ""))
            row = rows.setdefault(place, RateRow(*place, FROM_RUNS))
            row.rates[int(record.group)] = Rate(record.value, record.low, record.high)
    return list(rows.values())


def list_run_sizes(runs: Sequence[tuple[str, Result]]) -> dict[str, tuple[str, float]]:
    """Return the family (the type of the model) and the millions of parameters of each model in the runs."""
    return dict(_list_sizes(runs))


def _list_sizes(runs: Sequence[tuple[str, Result]]) -> Iterator[tuple[str, tuple[str, float]]]:
    for _, result in runs:
        for entry in result.manifest.models:
            if entry.parameters:
                yield entry.name, (entry.type or "other models", entry.parameters / 1e6)


def _find_table(record: Record) -> str:
    """Return the number of the table of the paper that has such rates; empty if no table has them."""
    if (record.view, record.measure) not in _RATES:
        return ""
    if record.measure == "p_i":
        return "8"
    if record.part not in _PARTS:
        return "11" if record.part == "" else ""
    return "10" if record.kind == "causal" else "9"
