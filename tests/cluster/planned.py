"""Plans of tiny models for tests, and a comparison of their cells with single runs."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from tiltmeter.cluster.plan_cells import ModelCells, RunMatrix, make_matrix
from tiltmeter.cluster.plan_file import read_plan
from tiltmeter.runs.evaluate import evaluate

# A small number of tokens, so that a cell of a tiny model has several batches.
BATCH = 150
COMPARED = ("scores.parquet", "measures.json", "items.parquet")


def write_plan(folder: Path, models: Sequence[str], on: Sequence[str] = ("starter",), **more: object) -> Path:
    """Write a plan with few items in English and German."""
    path = folder / "plan.toml"
    lines = [f"benchmarks = {list(on)}", 'languages = ["en", "de"]', f"limit = {more.pop('limit', 6)}"]
    for model in models:
        lines += ["[[models]]", f'name = "{model}"']
        if not model.startswith("chat:"):
            lines.append(f"batch_tokens = {BATCH}")
    path.write_text("\n".join(lines).replace("'", '"') + "\n", encoding="utf-8")
    return path


def matrix_of(folder: Path, models: Sequence[str], on: Sequence[str] = ("starter",)) -> RunMatrix:
    """Build the matrix of such a plan, with the folder `out`."""
    return make_matrix(read_plan(write_plan(folder, models, on)), folder / "out")


def digests(folder: Path) -> dict[str, str]:
    """Return the hashes of the files of a run that must be reproducible."""
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in COMPARED}


def assert_like_single_runs(matrix: RunMatrix, folder: Path) -> None:
    """Assert that every cell has the same bytes as a run of `evaluate`."""
    for entry in matrix.models:
        for cell in entry.cells:
            single = folder / entry.folder.name / cell.folder
            evaluate(
                entry.model.name,
                cell.on,
                protocol=cell.protocol,
                limit=cell.limit,
                batch_tokens=entry.model.options.get("batch_tokens"),
                out=single,
            )
            assert digests(entry.folder / cell.folder) == digests(single), cell.folder


def only(matrix: RunMatrix) -> ModelCells:
    """Return the only model of a matrix."""
    (entry,) = matrix.models
    return entry
