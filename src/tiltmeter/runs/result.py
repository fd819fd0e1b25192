"""The result of a run, in memory and as a folder."""

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

import tiltmeter
from tiltmeter.errors import DataError, UsageError
from tiltmeter.files import reject_unwritable_folder, write_atomically
from tiltmeter.measures.records import Record, from_dicts, to_dicts, to_frame
from tiltmeter.printable_text import escape_unsafe
from tiltmeter.runs.answer_table import ANSWERS_SCHEMA, add_missing_columns
from tiltmeter.runs.file_digests import describe_changed_files, list_changed_files
from tiltmeter.runs.fixed_factors import read_fixed_factors
from tiltmeter.runs.manifest import Manifest
from tiltmeter.runs.manifest_file import (
    ManifestError,
    add_digests,
    read_manifest,
    read_request,
    write_json,
    write_manifest,
)
from tiltmeter.runs.measurement import describe_packages, read_families, remeasure_scores
from tiltmeter.runs.run_files import ANSWERS, ITEMS, MANIFEST, MEASURES, SCORES, TOKENS, finish_save, replace_files
from tiltmeter.runs.run_items import SCHEMA
from tiltmeter.runs.run_validation import (
    read_table,
    validate_consistency,
    validate_rows,
    validate_scores,
    validate_table,
)
from tiltmeter.runs.token_table import TOKENS_SCHEMA
from tiltmeter.text_files import expand_home, read_json

logger = logging.getLogger(__name__)

# The number of rows that are compressed together in a Parquet file.
_ROW_GROUP = 100_000


@dataclass(frozen=True, repr=False)
class Result:
    """The result of a run: scores, records of measures, and manifest.

    `texts` is the table of the items' texts, if the run has them. `answers` has one row for each reply of a chat model;
    it is None for other models. `tokens` is the table of token log-probabilities, if the run stores them. `changed`
    lists the files that were changed after the run was saved.
    """

    scores: pd.DataFrame
    records: list[Record]
    manifest: Manifest
    texts: pd.DataFrame | None = None
    answers: pd.DataFrame | None = None
    tokens: pd.DataFrame | None = None
    changed: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return one line with the models, the benchmarks, the number of items and the number of records."""
        models = list(dict.fromkeys(self.scores["model"].astype(str)))
        benchmarks = list(
            dict.fromkeys(zip(*(self.scores[name].astype(str) for name in ("benchmark", "language")), strict=True))
        )
        items = self.scores[["benchmark", "part", "language", "item"]].drop_duplicates()
        on = [f"{name}:{language}" for name, language in benchmarks]
        return escape_unsafe(
            f"<Result: {_shorten_names(models)} on {_shorten_names(on)}, "
            f"{len(items):,} items, {len(self.records):,} numbers>"
        )

    def _repr_html_(self) -> str:
        """Return the summary as an HTML table, for notebooks."""
        return str(self.summary().to_html(index=False, border=0, notebook=True))

    # The next methods import the top-level package when they are called: this package must not import packages that
    # depend on it.

    def summary(self) -> pd.DataFrame:
        """Return a table of the primary measures with interval, n, p and verdict; see `tiltmeter.summary`."""
        return tiltmeter.summary(self)

    def plot(self, benchmark: str | None = None, figure: str | None = None) -> Any:
        """Return a figure of the report as an Altair chart; see `tiltmeter.plot`."""
        return tiltmeter.plot(self, benchmark, figure)

    def compare(self, other: "Result | Path | str", **options: Any) -> Any:
        """Compare this run with another run item by item; see `tiltmeter.compare`."""
        return tiltmeter.compare([self, other], **options)

    def items(self, top: int = 20) -> pd.DataFrame:
        """Return the `top` items with the strongest preference for the stereotype; see `tiltmeter.strongest_items`."""
        return tiltmeter.strongest_items(self, top)

    @cached_property
    def measures(self) -> pd.DataFrame:
        """The records of measures as a data frame."""
        return to_frame(self.records)

    def remeasure(self, family: str | None = None, fixed: Iterable[str] | None = None) -> "Result":
        """Return a copy of this result whose records are computed again from its scores.

        `family` says which tests are corrected together: `portion` or `run`. `fixed` are factors over which the results
        do not generalise, such as `words`. The defaults are the settings of the run.
        """
        statistics = self.manifest.statistics
        if family is not None:
            statistics = replace(statistics, families=read_families(family))
        if fixed is not None:
            statistics = replace(statistics, fixed=read_fixed_factors(fixed, self.manifest.list_forms()))
        manifest = replace(self.manifest, statistics=statistics)
        return replace(self, records=remeasure_scores(self.scores, manifest), manifest=manifest)

    def save(self, folder: Path | str, *, force: bool = False) -> Path:
        """Write the run's folder.

        A folder with another run is overwritten only with `force`; a run with the same request is always overwritten.
        The manifest is written last, so a folder with a manifest is complete.
        """
        folder = expand_home(folder)
        reject_other_run(folder, self.manifest.request, force=force)
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
            write_json(part / MEASURES, to_dicts(self.records))
            write_manifest(part, add_digests(self.manifest, part))
        return folder

    def with_saved_manifest(self, folder: Path | str) -> "Result":
        """Return this result with the manifest from its saved folder; that manifest contains the files' digests."""
        return replace(self, manifest=read_manifest(expand_home(folder)))

    @classmethod
    def load(cls, folder: Path | str) -> "Result":
        """Read a run's folder; raise a DataError if a file is missing, damaged or invalid.

        A warning and `changed` name the files that were changed after the run was saved.
        """
        folder = expand_home(folder)
        try:
            finish_save(folder)
            if not (folder / MANIFEST).is_file():
                raise UsageError(
                    f"{folder} has no {MANIFEST}, so it is not a finished run; make one with `tiltmeter run`."
                )
            manifest = read_manifest(folder)
            scores = validate_scores(read_table(folder / SCORES))
            records = from_dicts(validate_rows(read_json(folder / MEASURES)))
            validate_consistency(manifest, scores, records)
            items, answers, tokens = (
                validate_table(name, add_missing_columns(read_table(folder / name), schema), schema)
                if (folder / name).exists()
                else None
                for name, schema in ((ITEMS, SCHEMA), (ANSWERS, ANSWERS_SCHEMA), (TOKENS, TOKENS_SCHEMA))
            )
            changed = list_changed_files(manifest, folder)
            for warning in (*describe_changed_files(changed, folder), *describe_packages(manifest, folder)):
                logger.warning("%s", warning)
            return cls(scores, records, manifest, items, answers, tokens, tuple(changed))
        except ManifestError:
            raise
        except DataError as error:
            raise DataError(
                f"The run in {folder} cannot be read: {error} Repeat the run, or copy its complete folder."
            ) from error
        except (OSError, ValueError, MemoryError) as error:
            reason = str(error) or type(error).__name__
            raise DataError(f"The run in {folder} cannot be read ({reason}); repeat the run.") from error


def _shorten_names(names: Sequence[str], limit: int = 3) -> str:
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")


def reject_other_run(folder: Path, request: Mapping[str, Any], *, force: bool = False) -> None:
    """Raise an error if a folder contains a finished run with another request, or if the folder is not writable."""
    reject_unwritable_folder(folder)
    if not folder.is_dir():
        return
    finish_save(folder)
    if force or not (folder / MANIFEST).is_file():
        return
    if read_request(folder) != json.loads(json.dumps(request)):
        raise UsageError(
            f"{folder} already contains another run; choose another folder with --out, or overwrite it with --force."
        )
