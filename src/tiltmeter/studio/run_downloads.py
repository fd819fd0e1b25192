"""Files on a run to take away: tables, and the formats of `tiltmeter export`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tiltmeter.csv_text import csv_text
from tiltmeter.errors import DataError, UsageError
from tiltmeter.reports.exports import FORMATS, Options
from tiltmeter.runs.result import Result
from tiltmeter.runs.run_files import SCORES
from tiltmeter.runs.run_shape import read_table


@dataclass(frozen=True, slots=True)
class Download:
    """A kind of file. `per_model`: it is on one model, which has to be named if the run has several."""

    words: str
    suffix: str
    media: str
    make: Callable[[Path, str | None], str]
    per_model: bool = False


def _measures(folder: Path, _model: str | None) -> str:
    from tiltmeter.reports.tables import as_csv

    return as_csv(Result.load(folder).records) + "\n"


def _scores(folder: Path, _model: str | None) -> str:
    try:
        scores = read_table(folder / SCORES)
    except DataError as error:
        raise DataError(f"The scores in {folder.name} cannot be read: {error} Make the run again.") from error
    return csv_text(list(scores.columns), scores.itertuples(index=False))


def _export(name: str, folder: Path, model: str | None) -> str:
    return FORMATS[name](Result.load(folder), Options(model=model))


DOWNLOADS: Mapping[str, Download] = {
    "measures": Download("All numbers (CSV)", "measures.csv", "text/csv", _measures),
    "scores": Download("Scores of all items (CSV)", "scores.csv", "text/csv", _scores),
    "jsonl": Download("All numbers (JSON Lines)", "measures.jsonl", "application/jsonl", partial(_export, "jsonl")),
    "model-card": Download(
        "Model card (Markdown)", "model-card.md", "text/markdown", partial(_export, "model-card"), per_model=True
    ),
    "lm-eval": Download(
        "Evaluation harness (JSON)", "lm-eval.json", "application/json", partial(_export, "lm-eval"), per_model=True
    ),
}


def download(name: str, folder: Path, model: str | None) -> tuple[Download, str]:
    """The kind of file with this name, and its text for a run."""
    if name not in DOWNLOADS:
        raise UsageError(f"There is no download {name!r}; there is {', '.join(DOWNLOADS)}.")
    kind = DOWNLOADS[name]
    return kind, kind.make(folder, model)
