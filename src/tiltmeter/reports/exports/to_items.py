"""Export of the outcome of each item to CSV.

A row is one item of one model. Columns that begin with `score.` have the scores of the roles, such as
`score.stereotype`; columns that begin with `value.` have the contribution of the item to a measure, such as `value.SS`
(0, 50 or 100); columns that begin with `text.` have the texts. Items that could not be scored have only a reason, in
the column `not scored`.
"""

from tiltmeter.csv_text import format_csv
from tiltmeter.printable_text import escape_row
from tiltmeter.reports.exports.export_options import ExportOptions
from tiltmeter.reports.exports.item_rows import KEY, PREFERENCE, REASON, SCORE, TEXT, VALUE, list_item_rows
from tiltmeter.runs.result import Result

# The order of the groups of columns; attributes of items, such as bias_type, are before them.
_PREFIXES = (SCORE, PREFERENCE, VALUE, REASON, TEXT)


def export(result: Result, options: ExportOptions) -> str:
    """Return a CSV table of all items, of all models or of the model in `options`."""
    rows = [escape_row(row) for row in list_item_rows(result, options.model)]
    names = dict.fromkeys(name for row in rows for name in row if name not in KEY)
    columns = [*KEY, *sorted(names, key=_get_group)]
    return format_csv(columns, ([row.get(name) for name in columns] for row in rows))


def _get_group(column: str) -> int:
    """Return the position of the group of a column: 0 for attributes."""
    return next((place for place, prefix in enumerate(_PREFIXES, 1) if column.startswith(prefix)), 0)
