"""Runs of several models with a file of attributes, a finished matrix, and the evaluation of calls on them."""

import json
import re
import shutil
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from perf.bad_input_cases.calls import called
from perf.bad_input_cases.scene import Case, Scene
from tiltmeter.cluster.model_job import run_job, write_job
from tiltmeter.cluster.plan_cells import make_matrix
from tiltmeter.cluster.plan_file import read_plan
from tiltmeter.cluster.prefetch import prefetch_files
from tiltmeter.runs.manifest_file import parse_manifest
from tiltmeter.runs.measurement import remeasure_scores
from tiltmeter.runs.result import Result
from tiltmeter.runs.typed_json import to_json

MODELS = ("tiny/a", "tiny/b", "other/c", "other/d")
DESCRIBED = "".join(
    f'[[models]]\nname = "{name}"\nseries = "{name[:4]}"\nstep = {number}\n'
    f'attributes = {{ family = "{name[:4]}", instruct = {str(number % 2 == 1).lower()} }}\n'
    for number, name in enumerate(MODELS)
)
# Values that a key of a plan or of attributes cannot have, as TOML.
WRONG_TOML = {"a number": "-7", "a text": '"\\u001b]52;c;AA\\u0007"', "a list": "[[1]]", "a table": "{ a = 1 }"}


def make_many(scene: Scene) -> None:
    """Create runs of four models with a file of attributes, and a finished matrix."""
    clean = Result.load(scene.run)
    for number, name in enumerate(MODELS):
        text = json.dumps(to_json(clean.manifest)).replace(json.dumps(scene.model), json.dumps(name))
        values = {key: value for key, value in json.loads(text).items() if key != "digests"}
        values["models"][0]["parameters"] = 10 ** (5 + number)
        manifest = parse_manifest(values)
        scores = clean.scores.assign(model=name)
        scores["score"] += np.random.default_rng(number).normal(0, 0.5, len(scores))
        run = Result(scores, remeasure_scores(scores, manifest), manifest, clean.texts)
        run.save(many(scene) / name.replace("/", "-"))
    (many(scene) / "plan.toml").write_text(DESCRIBED, encoding="utf-8")
    folder = scene.root / "planned"
    folder.mkdir()
    (folder / "plan.toml").write_text(sound_plan(scene), encoding="utf-8")
    matrix = make_matrix(read_plan(folder / "plan.toml"), folder / "matrix")
    prefetch_files(matrix, lambda _name: None)
    write_job(matrix.models[0])
    run_job(matrix.models[0].folder)
    (folder / "matrix" / "plan.toml").write_text(sound_plan(scene), encoding="utf-8")


def many(scene: Scene) -> Path:
    return scene.root / "many"


def sound_plan(scene: Scene) -> str:
    lines = [f"benchmarks = [{json.dumps(str(scene.items))}]", 'languages = ["en"]', 'protocols = ["published"]']
    return "\n".join([*lines, "limit = 6", "[[models]]", f"name = {json.dumps(scene.model)}"]) + "\n"


def with_text(name: str, text: str) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")

    return prepare


def with_replaced(name: str, old: str, new: str) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        text = (folder / name).read_text(encoding="utf-8")
        (folder / name).write_text(re.sub(old, new, text, count=1), encoding="utf-8")

    return prepare


def with_copy(source: Path, change: Callable[[Path], None] | None = None, target: str = ".") -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        shutil.copytree(source, folder / target, dirs_exist_ok=True)
        if change is not None:
            change(folder)

    return prepare


def made_of_sound(scene: Scene, name: str, words: Sequence[str], prepare: Callable[[Path], None], file: str) -> str:
    """Return the file that a command writes for valid input; raise an error if it fails."""
    folder = scene.root / f"clean {name}"
    ending = called(Case(name, words, prepare), folder, 60.0)
    if ending.code:
        raise RuntimeError(f"{name} fails on sound input: {ending.errors}")
    return (folder / file).read_text(encoding="utf-8") if file else ending.output


def printed_of_sound(
    scene: Scene, name: str, words: Sequence[str], prepare: Callable[[Path], None]
) -> Callable[[], str]:
    """Return a function that returns the output of a command for valid input."""
    return cache(lambda: made_of_sound(scene, name, words, prepare, ""))


def refused(_folder: Path, _output: str, _errors: str) -> str:
    return "silent"  # with exit code 0


def said(_folder: Path, _output: str, errors: str) -> str:
    return "reported" if errors.strip() else "silent"


def same_words(clean: Callable[[], str]) -> Callable[[Path, str, str], str]:
    def judge(_folder: Path, output: str, errors: str) -> str:
        if output == clean():
            return "same scores"
        # The output mentions cells that have to be repeated and jobs that seem to be queued.
        return "reported" if errors.strip() or "0 of 1" in output or "queued" in output else "silent"

    return judge
