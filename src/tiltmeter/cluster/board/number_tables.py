"""The download files of the board: all values as CSV and JSON."""

from collections.abc import Iterator
from typing import Any

from tiltmeter.cluster.board.board_content import Board
from tiltmeter.csv_text import format_csv
from tiltmeter.printable_text import escape_unsafe, format_json

# The first value in the JSON file; it identifies the folder of the file as a board that may be replaced.
FORMAT = "tiltmeter board 1"


def list_rows(board: Board) -> Iterator[dict[str, Any]]:
    """Yield one row for each value on the board, as a dictionary from column names to values."""
    for column in board.columns:
        key = column.key
        for cell in column.cells:
            record, rank = cell.record, cell.rank
            yield {
                "model": cell.model,
                "benchmark": key.benchmark,
                "part": key.part,
                "pooled_parts": key.parts or None,
                "language": key.language,
                "measure": key.measure,
                "kind": key.kind or None,
                "protocol": key.protocol,
                "answers": key.family,
                "edition": key.edition or None,
                "value": record.value,
                "low": record.low,
                "high": record.high,
                "ideal": record.ideal,
                "n": record.n,
                "verdict": cell.verdict.words,
                "rank_first": None if rank is None else rank.first,
                "rank_last": None if rank is None else rank.last,
                "models_ranked": cell.ranked or None,
                "reference": column.reference or None,
                "distance_from_ideal_and_reference": cell.relation or None,
                "p_reference": cell.p_reference,
                "paired": column.paired if cell.ranked else None,
                "run": cell.run.name,
            }


def format_board_csv(board: Board) -> str:
    """Return all values of the board as CSV."""
    rows = list(list_rows(board))
    texts = ([escape_unsafe(value) if isinstance(value, str) else value for value in row.values()] for row in rows)
    return format_csv(list(rows[0]), texts)


def format_board_json(board: Board) -> str:
    """Return all values of the board as JSON, with the attributes of the models and the runs that could not be read."""
    content = {
        "format": FORMAT,
        "models": [
            {
                "name": model.view.name,
                "attributes": dict(model.described.attributes),
                "series": model.described.series or None,
                "step": model.described.step,
            }
            for model in board.models
        ],
        "numbers": list(list_rows(board)),
        "not shown": [{"run": run.name, "reason": run.reason} for run in board.broken],
        "notes": list(board.notes),
    }
    return format_json(content, indent=None) + "\n"
