"""Bring the models and data of a plan to this machine, for jobs on nodes without a network."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tiltmeter.cluster.plan_cells import ModelCells, RunMatrix
from tiltmeter.datasets.cache import cache_dir
from tiltmeter.errors import DataError, TiltmeterError
from tiltmeter.files import check_folder, make_folder, write_text
from tiltmeter.models.opening import opened
from tiltmeter.reading import read_json
from tiltmeter.runs.portions import portions

_PREFETCHED = "prefetched.json"


@dataclass(frozen=True, slots=True)
class Prefetched:
    """The models and benchmarks that were brought here."""

    models: frozenset[str]
    benchmarks: frozenset[str]

    def has_all_of(self, entry: ModelCells) -> bool:
        """Whether a job needs no network: the plan may have grown since."""
        return entry.model.name in self.models and {cell.on for cell in entry.cells} <= self.benchmarks


NOTHING = Prefetched(frozenset(), frozenset())


def prefetch(matrix: RunMatrix, tell: Callable[[str], None]) -> dict[str, str]:
    """Download what the plan's cells need, by the code that opens it in a run; the reasons of what failed, by name.

    Jobs of the models that are here then run without a network.
    """
    check_folder(matrix.out)
    failed: dict[str, str] = {}
    benchmarks, models = [], []
    for on in dict.fromkeys(cell.on for entry in matrix.models for cell in entry.cells):
        tell(on)
        try:
            for _ in portions(on):
                pass
            benchmarks.append(on)
        except (TiltmeterError, OSError) as error:
            failed[on] = str(error)
    for entry in matrix.models:
        name = entry.model.name
        if entry.is_served:
            continue
        tell(name)
        try:
            with opened(name, entry.model.model_options(cache_dir())):
                models.append(name)
        except (TiltmeterError, OSError) as error:
            failed[name] = str(error)
    make_folder(matrix.out)
    here = {"models": models, "benchmarks": benchmarks}
    write_text(matrix.out / _PREFETCHED, json.dumps(here, ensure_ascii=False, indent=1) + "\n")
    return failed


def prefetched(out: Path) -> Prefetched:
    """What was brought here for a matrix, so that its jobs need no network."""
    path = out / _PREFETCHED
    if not path.is_file():
        return NOTHING
    values = read_json(path)
    try:
        return Prefetched(frozenset(values["models"]), frozenset(values["benchmarks"]))
    except (KeyError, TypeError):
        raise DataError(f"{path} was not written by --prefetch; delete it, or call --prefetch again.") from None
