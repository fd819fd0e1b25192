"""Plans of tiny models for tests, and the runs that they must equal."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from tiltmeter.cluster.plan_cells import Matrix, ModelCells, make_matrix
from tiltmeter.cluster.plan_file import read_plan
from tiltmeter.runs.evaluate import evaluate

# So few tokens that a cell of a tiny model has several batches.
BATCH = 150
COMPARED = ("scores.parquet", "measures.json", "items.parquet")


def write_plan(folder: Path, models: Sequence[str], on: Sequence[str] = ("starter",), **more: object) -> Path:
    """A plan in English and German with few items."""
    path = folder / "plan.toml"
    lines = [f"benchmarks = {list(on)}", 'languages = ["en", "de"]', f"limit = {more.pop('limit', 6)}"]
    for model in models:
        lines += ["[[models]]", f'name = "{model}"']
        if not model.startswith("chat:"):
            lines.append(f"batch_tokens = {BATCH}")
    path.write_text("\n".join(lines).replace("'", '"') + "\n", encoding="utf-8")
    return path


def matrix_of(folder: Path, models: Sequence[str], on: Sequence[str] = ("starter",)) -> Matrix:
    """The matrix of such a plan, in the folder `out`."""
    return make_matrix(read_plan(write_plan(folder, models, on)), folder / "out")


def digests(folder: Path) -> dict[str, str]:
    """The hashes of the files of a run that must not depend on how it was made."""
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in COMPARED}


def assert_like_single_runs(matrix: Matrix, folder: Path) -> None:
    """Every cell has the bytes of `evaluate`, called for one cell after the other."""
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


def only(matrix: Matrix) -> ModelCells:
    """The one model of a matrix."""
    (entry,) = matrix.models
    return entry
