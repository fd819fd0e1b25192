"""Export of all records of a run to JSON Lines."""

from tiltmeter.measures.records import to_dicts
from tiltmeter.printable_text import format_json
from tiltmeter.reports.exports.export_options import ExportOptions
from tiltmeter.reports.exports.exported_model import select_model
from tiltmeter.runs.result import Result


def export(result: Result, options: ExportOptions) -> str:
    """Return the records of all views, such as "bias_type", as JSON Lines, for all models or the model in `options`."""
    model = select_model(result, options.model).model if options.model is not None else None
    records = [record for record in result.records if model is None or record.model == model]
    return "".join(format_json(row, indent=None) + "\n" for row in to_dicts(records))
