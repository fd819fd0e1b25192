"""All records of a run as JSON Lines."""

from tiltmeter.measures.records import to_dicts
from tiltmeter.printable import json_text
from tiltmeter.reports.exports.chosen import choose
from tiltmeter.reports.exports.export_options import Options
from tiltmeter.runs.result import Result


def export(result: Result, options: Options) -> str:
    """The records of all views, of all models or of the one chosen."""
    model = choose(result, options.model).model if options.model is not None else None
    records = [record for record in result.records if model is None or record.model == model]
    return "".join(json_text(row, indent=None) + "\n" for row in to_dicts(records))
