"""Download the models and data of a plan in advance, for jobs without network access."""

import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tiltmeter.cluster.plan_cells import ModelCells, RunMatrix
from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.errors import DataError, TiltmeterError
from tiltmeter.files import create_folder, reject_unwritable_folder, write_text
from tiltmeter.models.model_opener import use_model
from tiltmeter.runs.portions import load_portions
from tiltmeter.runs.translation.translation_tasks import is_translation_benchmark, load_target
from tiltmeter.text_files import read_json
from tiltmeter.translators import open_translator

_PREFETCHED = "prefetched.json"


@dataclass(frozen=True, slots=True)
class PrefetchedFiles:
    """The models and benchmarks that were downloaded for a matrix."""

    models: frozenset[str]
    benchmarks: frozenset[str]

    def has_all_files_of(self, entry: ModelCells) -> bool:
        """Return whether all models and benchmarks of a job were downloaded; the plan may have changed since then."""
        return entry.model.name in self.models and {cell.on for cell in entry.cells} <= self.benchmarks


NOTHING = PrefetchedFiles(frozenset(), frozenset())


def prefetch_files(matrix: RunMatrix, report: Callable[[str], None]) -> dict[str, str]:
    """Download the models and data of a plan; return the reasons for failures, with the models and benchmarks as keys.

    `report` is called with the name of each benchmark and model before its download. Jobs whose files were all
    downloaded use no network.
    """
    reject_unwritable_folder(matrix.out)
    failed: dict[str, str] = {}
    benchmarks, models = [], []
    editions = {cell.on: entry.edition for entry in matrix.models for cell in entry.cells}
    for on, edition in editions.items():
        report(on)
        try:
            if is_translation_benchmark(on):
                load_target(on, edition)
            else:
                deque(load_portions(on), maxlen=0)
            benchmarks.append(on)
        except (TiltmeterError, OSError) as error:
            failed[on] = str(error)
    for entry in matrix.models:
        name = entry.model.name
        if entry.is_served:
            continue
        report(name)
        try:
            if entry.is_translator:
                open_translator(name, **entry.model.options)
                models.append(name)
                continue
            with use_model(name, entry.model.build_model_options(get_cache_folder())):
                models.append(name)
        except (TiltmeterError, OSError) as error:
            failed[name] = str(error)
    create_folder(matrix.out)
    values = {"models": models, "benchmarks": benchmarks}
    write_text(matrix.out / _PREFETCHED, json.dumps(values, ensure_ascii=False, indent=1) + "\n")
    return failed


def read_prefetched_files(out: Path) -> PrefetchedFiles:
    """Read the list of models and benchmarks that were downloaded for the matrix in the folder `out`."""
    path = out / _PREFETCHED
    if not path.is_file():
        return NOTHING
    values = read_json(path)
    try:
        return PrefetchedFiles(frozenset(values["models"]), frozenset(values["benchmarks"]))
    except (KeyError, TypeError):
        raise DataError(f"{path} is damaged; run --prefetch again to replace it.") from None
