"""The result of a run, in memory and as a folder."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from tiltmeter.errors import DataError, UsageError
from tiltmeter.files import atomic_write, write_text
from tiltmeter.measures.records import Record, from_dicts, to_dicts, to_frame
from tiltmeter.runs.answer_table import ANSWERS_SCHEMA
from tiltmeter.runs.items import SCHEMA
from tiltmeter.runs.measuring import measure_again
from tiltmeter.runs.token_table import TOKENS_SCHEMA

MANIFEST, SCORES, MEASURES, ITEMS = "manifest.json", "scores.parquet", "measures.json", "items.parquet"
ANSWERS, TOKENS = "answers.parquet", "tokens.parquet"


@dataclass(frozen=True)
class Result:
    """The result of a run: scores, records of measures, and manifest.

    `items` are the texts of the items as they were measured; None for runs of earlier versions. `answers` are the
    replies of chat models, one row each; None for other models. `tokens` are what models say of each token, if the run
    was to keep it.
    """

    scores: pd.DataFrame
    records: list[Record]
    manifest: Mapping[str, Any]
    items: pd.DataFrame | None = None
    answers: pd.DataFrame | None = None
    tokens: pd.DataFrame | None = None

    @cached_property
    def measures(self) -> pd.DataFrame:
        """The records as a data frame."""
        return to_frame(self.records)

    def measured_again(self) -> "Result":
        """The same run with records computed from its scores, whatever `measures.json` says."""
        return replace(self, records=measure_again(self.scores, self.manifest))

    def save(self, folder: Path | str, *, force: bool = False) -> Path:
        """Write the run's folder.

        A folder with another run is not overwritten unless `force` is given; one with the same request is. The manifest
        is written last, so a folder with a manifest is complete.
        """
        folder = Path(folder)
        refuse_other_run(folder, self.manifest["request"], force=force)
        (folder / MANIFEST).unlink(missing_ok=True)
        with atomic_write(folder / SCORES) as part:
            self.scores.to_parquet(part, index=False)
        for name, table, schema in (
            (ITEMS, self.items, SCHEMA),
            (ANSWERS, self.answers, ANSWERS_SCHEMA),
            (TOKENS, self.tokens, TOKENS_SCHEMA),
        ):
            (folder / name).unlink(missing_ok=True)
            if table is not None:
                with atomic_write(folder / name) as part:
                    table.to_parquet(part, index=False, schema=schema)
        write_text(folder / MEASURES, _json(to_dicts(self.records)))
        write_manifest(folder, self.manifest)
        return folder

    @classmethod
    def load(cls, folder: Path | str) -> "Result":
        """Read a run's folder."""
        folder = Path(folder)
        if not (folder / MANIFEST).is_file():
            raise UsageError(
                f"{folder} holds no {MANIFEST}, so it is not a finished run; make one with `tiltmeter run`."
            )
        try:
            scores = pd.read_parquet(folder / SCORES)
            rows = json.loads((folder / MEASURES).read_text(encoding="utf-8"))
            manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
            records = from_dicts(rows)
            if not all("verdict" in row for row in rows):
                # Written before records had verdicts.
                records = measure_again(scores, manifest)
            items, answers, tokens = (
                pd.read_parquet(folder / name) if (folder / name).is_file() else None
                for name in (ITEMS, ANSWERS, TOKENS)
            )
            return cls(scores, records, manifest, items, answers, tokens)
        except (OSError, ValueError) as error:
            raise DataError(f"The run in {folder} cannot be read ({error}); make it again.") from error


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest of a run's folder, which makes it complete; one that is there is replaced."""
    write_text(folder / MANIFEST, _json(manifest))


def refuse_other_run(folder: Path, request: Mapping[str, Any], *, force: bool = False) -> None:
    """Raise an error if a folder holds a finished run with another request."""
    manifest = folder / MANIFEST
    if force or not manifest.is_file():
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"{folder} is a file, not a folder; choose another place with --out.")
        return
    try:
        existing = json.loads(manifest.read_text(encoding="utf-8"))["request"]
    except (OSError, ValueError, KeyError, TypeError):
        existing = None
    if existing != json.loads(json.dumps(request)):
        raise UsageError(f"{folder} already holds another run; choose another place with --out, or pass --force.")


def _json(value: object) -> str:
    # NaN is not valid JSON.
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
