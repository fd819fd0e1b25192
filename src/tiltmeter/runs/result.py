"""The result of a run, in memory and as a folder."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

import tiltmeter
from tiltmeter.errors import DataError, UsageError
from tiltmeter.files import reject_unwritable_folder, write_atomically, write_text
from tiltmeter.measures.records import Record, from_dicts, to_dicts, to_frame
from tiltmeter.printable_text import escape_unsafe
from tiltmeter.runs.answer_table import ANSWERS_SCHEMA
from tiltmeter.runs.file_digests import describe_changed_files, list_changed_files, with_digests
from tiltmeter.runs.measurement import remeasure_scores
from tiltmeter.runs.run_files import ANSWERS, ITEMS, MANIFEST, MEASURES, SCORES, TOKENS, finish_save, replace_files
from tiltmeter.runs.run_items import SCHEMA
from tiltmeter.runs.run_validation import (
    read_table,
    validate_consistency,
    validate_manifest,
    validate_rows,
    validate_scores,
    validate_table,
)
from tiltmeter.runs.token_table import TOKENS_SCHEMA
from tiltmeter.text_files import expand_home, read_json

logger = logging.getLogger(__name__)

# Rows of a table that are compressed at once.
_ROW_GROUP = 100_000


@dataclass(frozen=True, repr=False)
class Result:
    """The result of a run: scores, records of measures, and manifest.

    `texts` are those of the items as they were measured; None for runs of earlier versions. `answers` are the
    replies of chat models, one row each; None for other models. `tokens` are what models say of each token, if the run
    was to keep it. `changed` are files of the folder that were changed since the run was saved.
    """

    scores: pd.DataFrame
    records: list[Record]
    manifest: Mapping[str, Any]
    texts: pd.DataFrame | None = None
    answers: pd.DataFrame | None = None
    tokens: pd.DataFrame | None = None
    changed: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """What was measured, in a line."""
        models = list(dict.fromkeys(self.scores["model"].astype(str)))
        asked = list(
            dict.fromkeys(zip(*(self.scores[name].astype(str) for name in ("benchmark", "language")), strict=True))
        )
        items = self.scores[["benchmark", "part", "language", "item"]].drop_duplicates()
        on = [f"{name}:{language}" for name, language in asked]
        return escape_unsafe(
            f"<Result: {_shorten_names(models)} on {_shorten_names(on)}, "
            f"{len(items):,} items, {len(self.records):,} numbers>"
        )

    def _repr_html_(self) -> str:
        """The summary as a table, for notebooks."""
        return str(self.summary().to_html(index=False, border=0, notebook=True))

    # What follows is in rooms to the right, which this one does not import: the package's own functions.

    def summary(self) -> pd.DataFrame:
        """The numbers that decide, with interval, n, p and verdict, as a table: `tiltmeter.summary`."""
        return tiltmeter.summary(self)

    def plot(self, benchmark: str | None = None, figure: str | None = None) -> Any:
        """A figure of the report as an Altair chart: `tiltmeter.plot`."""
        return tiltmeter.plot(self, benchmark, figure)

    def compare(self, other: "Result | Path | str", **options: Any) -> Any:
        """The differences between this run and another, item by item: `tiltmeter.compare`."""
        return tiltmeter.compare([self, other], **options)

    def items(self, top: int = 20) -> pd.DataFrame:
        """The items with the strongest preference for the stereotype, and their texts: `tiltmeter.strongest_items`."""
        return tiltmeter.strongest_items(self, top)

    @cached_property
    def measures(self) -> pd.DataFrame:
        """The records as a data frame."""
        return to_frame(self.records)

    def remeasure(self) -> "Result":
        """The same run with records computed from its scores, whatever `measures.json` says."""
        return replace(self, records=remeasure_scores(self.scores, self.manifest))

    def save(self, folder: Path | str, *, force: bool = False) -> Path:
        """Write the run's folder.

        A folder with another run is not overwritten unless `force` is given; one with the same request is. The manifest
        is written last, so a folder with a manifest is complete.
        """
        folder = expand_home(folder)
        reject_other_run(folder, self.manifest["request"], force=force)
        with replace_files(folder) as part:
            with write_atomically(part / SCORES) as file:
                self.scores.to_parquet(file, index=False, row_group_size=_ROW_GROUP)
            for name, table, schema in (
                (ITEMS, self.texts, SCHEMA),
                (ANSWERS, self.answers, ANSWERS_SCHEMA),
                (TOKENS, self.tokens, TOKENS_SCHEMA),
            ):
                if table is not None:
                    with write_atomically(part / name) as file:
                        table.to_parquet(file, index=False, schema=schema, row_group_size=_ROW_GROUP)
            write_text(part / MEASURES, _to_json(to_dicts(self.records)))
            write_manifest(part, with_digests(json.loads(_to_json(self.manifest)), part))
        return folder

    def with_saved_manifest(self, folder: Path | str) -> "Result":
        """This result with the manifest of the folder that it was saved to, which has the digests of its files."""
        return replace(self, manifest=validate_manifest(read_json(expand_home(folder) / MANIFEST)))

    @classmethod
    def load(cls, folder: Path | str) -> "Result":
        """Read a run's folder; a DataError if a file of it is missing, damaged or not as a run writes it.

        Files that were changed since the run was saved are named in a warning, and in `changed`.
        """
        folder = expand_home(folder)
        try:
            finish_save(folder)
            if not (folder / MANIFEST).is_file():
                raise UsageError(
                    f"{folder} holds no {MANIFEST}, so it is not a finished run; make one with `tiltmeter run`."
                )
            manifest = validate_manifest(read_json(folder / MANIFEST))
            scores = validate_scores(read_table(folder / SCORES))
            rows = validate_rows(read_json(folder / MEASURES))
            records = from_dicts(rows)
            if not all("verdict" in row for row in rows):
                # Written before records had verdicts.
                records = remeasure_scores(scores, manifest)
            validate_consistency(manifest, scores, records)
            items, answers, tokens = (
                validate_table(name, read_table(folder / name), schema) if (folder / name).exists() else None
                for name, schema in ((ITEMS, SCHEMA), (ANSWERS, ANSWERS_SCHEMA), (TOKENS, TOKENS_SCHEMA))
            )
            changed = list_changed_files(manifest, folder)
            for sentence in describe_changed_files(changed, folder):
                logger.warning("%s", sentence)
            return cls(scores, records, manifest, items, answers, tokens, tuple(changed))
        except DataError as error:
            raise DataError(f"The run in {folder} cannot be read: {error} Make it again, or copy it whole.") from error
        except (OSError, ValueError, MemoryError) as error:
            reason = str(error) or type(error).__name__
            raise DataError(f"The run in {folder} cannot be read ({reason}); make it again.") from error


def _shorten_names(names: Sequence[str], limit: int = 3) -> str:
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest of a run's folder, which makes it complete; one that is there is replaced."""
    write_text(folder / MANIFEST, _to_json(manifest))


def reject_other_run(folder: Path, request: Mapping[str, Any], *, force: bool = False) -> None:
    """An error if a folder holds a finished run with another request, or cannot be written: before the work."""
    reject_unwritable_folder(folder)
    if not folder.is_dir():
        return
    finish_save(folder)
    manifest = folder / MANIFEST
    if force or not manifest.is_file():
        return
    try:
        existing = read_json(manifest)["request"]
    except (DataError, KeyError, TypeError):
        existing = None
    if existing != json.loads(json.dumps(request)):
        raise UsageError(f"{folder} already holds another run; choose another place with --out, or pass --force.")


def _to_json(value: object) -> str:
    # NaN is not valid JSON.
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
