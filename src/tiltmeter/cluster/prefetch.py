"""Bring the models and data of a plan to this machine, for jobs on nodes without a network."""

import json
from collections.abc import Callable
from pathlib import Path

from tiltmeter.cluster.engine import is_served
from tiltmeter.cluster.plan_cells import RunMatrix
from tiltmeter.datasets.cache import cache_dir
from tiltmeter.errors import DataError, TiltmeterError
from tiltmeter.files import check_folder, make_folder, write_text
from tiltmeter.models.opening import opened
from tiltmeter.reading import read_json
from tiltmeter.runs.portions import portions

_PREFETCHED = "prefetched.json"


def prefetch(matrix: RunMatrix, tell: Callable[[str], None]) -> dict[str, str]:
    """Download what the plan's cells need, by the code that opens it in a run; the reasons of what failed, by name.

    Jobs of the models that are here then run without a network.
    """
    check_folder(matrix.out)
    failed: dict[str, str] = {}
    for on in dict.fromkeys(cell.on for entry in matrix.models for cell in entry.cells):
        tell(on)
        try:
            for _ in portions(on):
                pass
        except (TiltmeterError, OSError) as error:
            failed[on] = str(error)
    data_failed = bool(failed)
    here = []
    for entry in matrix.models:
        name = entry.model.name
        if is_served(entry):
            continue
        tell(name)
        try:
            with opened(name, entry.model.model_options(cache_dir())):
                here.append(name)
        except (TiltmeterError, OSError) as error:
            failed[name] = str(error)
    make_folder(matrix.out)
    write_text(matrix.out / _PREFETCHED, json.dumps([] if data_failed else here, ensure_ascii=False, indent=1) + "\n")
    return failed


def prefetched(out: Path) -> frozenset[str]:
    """The models of a matrix whose files were brought here, so that their jobs need no network."""
    path = out / _PREFETCHED
    names = read_json(path) if path.is_file() else []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DataError(f"{path} is not as --prefetch writes it; call that again, or delete the file.")
    return frozenset(names)
