"""Bad rules of gates, projects, articles and other files that people write."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from perf.bad_input_cases.scene import Case, Scene, broken_files

_TOML = {
    "deep": "a = " + "[" * 100_000,
    "deep tables": "[" + "a." * 20_000 + "a]\nb = 1",
    "not TOML": "max = = 3",
    "of numbers": "check = 7",
    "of texts": 'check = ["a"]',
    "with an unknown key": '[[check]]\nmost = "x"',
    "with a rule of nothing": '[[check]]\nmax = ""',
    "with a rule of a list": "[[check]]\nmax = [[1]]",
    "with a date": "[[check]]\nmax = 2020-01-01",
    "with a number without end": "[[check]]\nmax = inf",
    "with a baseline that is a number": '[[check]]\nmax = "stereoset.SS 5"\nbaseline = 7',
    "with a baseline nowhere": "[[check]]\nno-worse-than = 2\nbaseline = 'nowhere'",
    "with a null": '[[check]]\nmax = "a\\u0000b"',
}
_RULES = (
    "",
    "x",
    "SS",
    "a.SS",
    "items.SS distance",
    "items.SS distance -1",
    "items.SS nan",
    "items.SS 5 6",
    "\udcff.SS 5",
)
_STEPS: dict[str, list[str]] = {
    "status": ["make", "status", "project"],
    "repair": ["make", "repair", "project"],
    "translate": ["make", "translate", "project", "--yes"],
    "publish": ["make", "publish", "project", "--out", "edition"],
}


def cases(scene: Scene) -> Iterator[Case]:
    """Yield all cases of this class, for `check`, `make` and `train`."""
    run, clean = str(scene.run), scene.predictions.with_suffix(".run")
    for name, text in _TOML.items():
        yield Case(f"rules {name}", ["check", run, "--config", "rules.toml"], _text("rules.toml", text))
        yield Case(f"rules in this folder {name}", ["check", run], _text("tiltmeter.toml", text))
        yield Case(f"settings {name}", ["make", "status", "project"], _project(scene, "project.toml", text))
    for option in ("--max", "--min", "--no-worse-than"):
        for rule in _RULES:
            yield Case(f"{option} {rule!r}", ["check", run, option, rule, "--baseline", run])
    project = scene.root / "project"
    settings = (project / "project.toml").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(settings):
        if " = " not in line:
            continue
        key = line.partition(" = ")[0]
        for name, value in {"a number": "-7", "a text": '"\\u001b]52;x"', "a list": "[[1]]", "a table": "{}"}.items():
            changed = "\n".join([*settings[:number], f"{key} = {value}", *settings[number + 1 :]])
            yield Case(f"project: {key} is {name}", _STEPS["status"], _project(scene, "project.toml", changed))
        without = "\n".join([*settings[:number], *settings[number + 1 :]])
        yield Case(f"project: {key} missing", _STEPS["status"], _project(scene, "project.toml", without))
    for step, words in _STEPS.items():
        for file in sorted(path.name for path in project.iterdir() if path.is_file()):
            for way, broken in broken_files(project / file):
                yield Case(f"{step}: {file} {way}", words, _broken(scene, file, broken))
    for way, broken in broken_files(scene.articles):
        words = ["train", "pairs", "--articles", "a.jsonl", "--out", "pairs"]
        yield Case(f"articles: {way}", words, lambda f, b=broken: b(f / "a.jsonl"))
    for way, broken in broken_files(scene.predictions):
        yield Case(f"predictions: {way}", _score(scene), lambda f, b=broken: b(f / "p.json"), scores="out", clean=clean)
    for way, broken in broken_files(scene.items):
        yield Case(f"translations: {way}", _TRANSLATIONS, lambda f, b=broken: b(f / "t.csv"))
        yield Case(
            f"texts with a gender: {way}", ["gender", "--language", "sk", "s.txt"], lambda f, b=broken: b(f / "s.txt")
        )
    for name, content in _PREDICTIONS.items():
        yield Case(
            f"predictions: {name}", _score(scene), _text("p.json", json.dumps(content)), scores="out", clean=clean
        )


def _score(scene: Scene) -> list[str]:
    """Return the words of a run from the file p.json."""
    words = ["score", "--predictions", "p.json", "--as", "stereotypes-multi", "--on", str(scene.items)]
    return [*words, "--kind", "masked", "--out", "out"]


_TRANSLATIONS = ["run", "--translations", "t.csv", "--system", "S", "--on", "starter-gest-mt:sk"]
_PREDICTIONS: dict[str, object] = {
    "a list": [],
    "a number": 7,
    "of numbers": {"intrasentence": [1]},
    "of nulls": {"intrasentence": [{"id": None, "score": None}]},
    "of texts": {"intrasentence": [{"id": "a", "score": "high"}]},
    "twice": {"intrasentence": [{"id": "a", "score": 1}, {"id": "a", "score": 2}]},
    "without scores": {"intrasentence": [{"id": "a"}]},
    "of no item": {"intrasentence": [{"id": "a", "score": 1.0}]},
    "not finite": {"intrasentence": [{"id": "a", "score": float("nan")}]},
}


def _text(name: str, text: str) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        (folder / name).write_text(text, encoding="utf-8")

    return prepare


def _project(scene: Scene, name: str, text: str) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        shutil.copytree(scene.root / "project", folder / "project")
        (folder / "project" / name).write_text(text, encoding="utf-8")

    return prepare


def _broken(scene: Scene, name: str, broken: Callable[[Path], None]) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        shutil.copytree(scene.root / "project", folder / "project")
        broken(folder / "project" / name)

    return prepare
