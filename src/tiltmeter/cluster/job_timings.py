"""What the cells of jobs took, kept in the cache for estimates of the time."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from tiltmeter.cluster.job_state import read_state
from tiltmeter.cluster.plan_cells import ModelCells, list_forms
from tiltmeter.cluster.timing_store import Timing, TimingStore
from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.errors import TiltmeterError
from tiltmeter.files import write_text
from tiltmeter.runs.run_files import MANIFEST
from tiltmeter.text_files import read_json

_TIMINGS = "timings.sqlite"
# Which jobs' timings are kept already, in the folder of the matrix.
_RECORDED = "recorded.json"


def save_timings(out: Path, entry: ModelCells) -> None:
    """Keep how fast a job's model answered, for estimates of the time."""
    state = read_state(entry.folder)
    with suppress(TiltmeterError, OSError, KeyError, TypeError, ValueError):
        known = read_json(out / _RECORDED) if (out / _RECORDED).is_file() else []
        if state.get("job") in known:
            return
        found = [_build_timing(entry, values) for values in state.get("timings", []) if values["asked"]]
        with TimingStore(get_cache_folder() / _TIMINGS) as timings:
            timings.add(found)
        write_text(out / _RECORDED, json.dumps([*known, state["job"]]))


def _build_timing(entry: ModelCells, values: dict[str, Any]) -> Timing:
    """What a cell took, from the state of its job and the manifest of its run."""
    manifest = read_json(entry.folder / values["cell"] / MANIFEST)
    model = manifest["models"][0]
    compute = model.get("compute") or {}
    return Timing(
        model=str(model["name"]),
        kind=str(model.get("kind", "chat")),
        bytes=model.get("bytes"),
        device=", ".join(compute.get("hardware") or [str(model.get("device", "server"))]),
        forms=" ".join(list_forms(manifest["request"]["on"])),
        protocol=str(manifest["request"]["protocol"]),
        items=sum(int(portion["items"]) for portion in manifest["data"]),
        questions=values["questions"],
        start_seconds=values["start_seconds"],
        asked=values["asked"],
        asking_seconds=values["asking_seconds"],
        end_seconds=max(0.0, values["seconds"] - values["start_seconds"] - values["asking_seconds"]),
    )


def load_timings() -> list[Timing]:
    """What runs took before; empty if nothing is known."""
    if not (get_cache_folder() / _TIMINGS).is_file():
        return []
    with TimingStore(get_cache_folder() / _TIMINGS) as timings:
        return timings.list_newest()
