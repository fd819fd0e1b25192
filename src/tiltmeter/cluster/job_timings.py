"""Store the timings of cells (single runs of a matrix) in the cache."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from tiltmeter.cluster.job_state import read_state
from tiltmeter.cluster.plan_cells import ModelCells
from tiltmeter.errors import TiltmeterError
from tiltmeter.files import write_text
from tiltmeter.runs.manifest_file import read_manifest
from tiltmeter.runs.run_timings import get_timings_file
from tiltmeter.runs.timing_store import Timing, TimingStore
from tiltmeter.text_files import read_json

# The name of a file in the folder of a matrix; it lists the jobs whose timings are already stored.
_RECORDED = "recorded.json"


def save_timings(out: Path, entry: ModelCells) -> None:
    """Store the timings of the cells (runs) of a job, unless they are already stored; ignore errors.

    An error is harmless, because timings are only used for time estimates. `out` is the folder of the matrix.
    """
    state = read_state(entry.folder)
    with suppress(TiltmeterError, OSError, KeyError, TypeError, ValueError):
        known = read_json(out / _RECORDED) if (out / _RECORDED).is_file() else []
        if state.get("job") in known:
            return
        with TimingStore(get_timings_file()) as timings:
            timings.add_timings(_build_timing(entry, values) for values in state.get("timings", []) if values["asked"])
        write_text(out / _RECORDED, json.dumps([*known, state["job"]]))


def _build_timing(entry: ModelCells, values: dict[str, Any]) -> Timing:
    """Build the timing of a cell (one run) from its entry in the state of the job, and from the manifest of the run."""
    manifest = read_manifest(entry.folder / values["cell"])
    model = manifest.models[0]
    return Timing(
        model=model.name,
        kind=model.kind or "chat",
        bytes=model.bytes,
        device=model.hardware,
        forms=" ".join(manifest.list_forms()),
        protocol=str(manifest.request["protocol"]),
        items=sum(portion.items for portion in manifest.data),
        questions=values["questions"],
        start_seconds=values["start_seconds"],
        asked=values["asked"],
        asking_seconds=values["asking_seconds"],
        end_seconds=max(0.0, values["seconds"] - values["start_seconds"] - values["asking_seconds"]),
        tokens=model.tokens or 0,
    )
