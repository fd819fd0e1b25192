"""The files that a user can download for a run: tables, and the formats of `tiltmeter export`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tiltmeter.csv_text import format_csv
from tiltmeter.errors import DataError, UsageError
from tiltmeter.reports.exports import FORMATS, ExportOptions
from tiltmeter.runs.result import Result
from tiltmeter.runs.run_files import SCORES
from tiltmeter.runs.run_validation import read_table


@dataclass(frozen=True, slots=True)
class DownloadFormat:
    """A format in which the results of a run can be downloaded; `words` is its label, and `media` its media type.

    `make` returns the text of the file for the folder of a run and a model. If `per_model` is true, a file is about one
    model; if the run has several models, the user must choose a model.
    """

    words: str
    suffix: str
    media: str
    make: Callable[[Path, str | None], str]
    per_model: bool = False


def _export_measures(folder: Path, _model: str | None) -> str:
    from tiltmeter.reports.record_tables import format_records_csv

    return format_records_csv(Result.load(folder).records) + "\n"


def _export_scores(folder: Path, _model: str | None) -> str:
    try:
        scores = read_table(folder / SCORES)
    except DataError as error:
        raise DataError(f"The scores of {folder.name} cannot be read: {error} Repeat the run.") from error
    return format_csv(list(scores.columns), scores.itertuples(index=False))


def _export_format(name: str, folder: Path, model: str | None) -> str:
    return FORMATS[name](Result.load(folder), ExportOptions(model=model))


DOWNLOADS: Mapping[str, DownloadFormat] = {
    "measures": DownloadFormat("All values (CSV)", "measures.csv", "text/csv", _export_measures),
    "scores": DownloadFormat("Scores of all items (CSV)", "scores.csv", "text/csv", _export_scores),
    "jsonl": DownloadFormat(
        "All values (JSON Lines)", "measures.jsonl", "application/jsonl", partial(_export_format, "jsonl")
    ),
    "model-card": DownloadFormat(
        "Model card (Markdown)", "model-card.md", "text/markdown", partial(_export_format, "model-card"), per_model=True
    ),
    "lm-eval": DownloadFormat(
        "LM Evaluation Harness (JSON)",
        "lm-eval.json",
        "application/json",
        partial(_export_format, "lm-eval"),
        per_model=True,
    ),
}


def build_download(name: str, folder: Path, model: str | None) -> tuple[DownloadFormat, str]:
    """Return the download format with this name, and the text of the file for the run in `folder`."""
    if name not in DOWNLOADS:
        raise UsageError(f"Unknown download format {name!r}; choose one of {', '.join(DOWNLOADS)}.")
    chosen = DOWNLOADS[name]
    return chosen, chosen.make(folder, model)
