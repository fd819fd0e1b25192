"""Options of all commands with invalid values."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from perf.bad_input_cases.scene import Case, Scene, copied
from tiltmeter.cli import make_app

_TEXTS = {
    "empty": "",
    "unknown": "no-such-thing",
    "bytes that are no UTF-8": "\udcff\udcfe",
    "of 5,000 letters": "x" * 5000,
    "with escapes": "\x1b]52;c;AAAA\x07",
}
_PATHS = {
    "of a user who is not known": "~nobody-here/x",
    "over 255 letters": "x" * 300,
    "bytes that are no UTF-8": "\udcff",
    "in a file": "/dev/null/x",
    "in /proc": "/proc/x",
}
_NUMBERS = {"a word": "x", "below zero": "-4", "empty": "", "not a number": "nan", "endless": "inf", "huge": "9" * 30}


def cases(scene: Scene) -> Iterator[Case]:
    """Yield each option of each command with invalid values for its type."""
    command: Any = get_command(make_app())
    for name, words in sound_calls(scene).items():
        found = command
        for word in _COMMAND.get(name, name).split():
            found = found.commands[word]
        for parameter in found.params:
            if not parameter.opts[0].startswith("-") or parameter.is_flag or parameter.name == "help":
                continue
            option = max(parameter.opts, key=len)
            given = list(words)
            for spelling in set(parameter.opts) & set(given):
                at = given.index(spelling)
                del given[at : at + 2]
            prepare = copied(scene.root / "project", "project") if name in _IN_PROJECTS else _nothing
            for kind, value in _values(parameter).items():
                scores = "out" if name in ("run", "score") and option != "--out" else None
                clean = scene.predictions.with_suffix(".run") if name == "score" else None
                yield Case(f"{name} {option} {kind}", [*given, option, value], prepare, scores=scores, clean=clean)


def _nothing(_folder: Path) -> None:
    """Create no files."""


def _values(parameter: Any) -> dict[str, str]:
    kind = str(parameter.type_descriptor.annotation).lower()
    if "int" in kind or "float" in kind:
        return _NUMBERS
    return _PATHS if "path" in kind else _TEXTS


_COMMAND = {"gender": "gender detect", "groups": "compare", "sizes": "compare", "show of several": "show"}
_IN_PROJECTS = ("make status", "make source", "make translate", "make repair", "make export", "make publish")


def sound_calls(scene: Scene) -> dict[str, list[str]]:
    """Return a valid call of each command."""
    run, items, model = str(scene.run), str(scene.items), scene.model
    several = [str(path.parent) for path in sorted((scene.root / "many").glob("*/manifest.json"))]
    on = ["--on", items, "--kind", "masked", "--out", "out"]
    return {
        "run": scene.measuring(),
        "show": ["show", run],
        "report": ["report", run, "--out", "r.html"],
        "compare": ["compare", run, str(scene.few("association").with_suffix(".run")), "--html", "c.html"],
        "check": ["check", run, "--max", f"{items}.SS distance 50"],
        "export": ["export", run, "--to", "lm-eval", "--out", "e.json"],
        "items": ["items", run],
        "sensitivity": ["sensitivity", run, "--limit", "2"],
        "score": [
            "score",
            "--predictions",
            str(scene.predictions),
            "--as",
            "stereotypes-multi",
            *on,
            "--kind",
            "masked",
        ],
        "data list": ["data", "list"],
        "data describe": ["data", "describe", items],
        "data get": ["data", "get", "starter"],
        "data show": ["data", "show", items],
        "data validate": ["data", "validate", items],
        "data convert": ["data", "convert", items, "c.jsonl"],
        "make new": ["make", "new", items, "--to", "de", "--with", "file:x.csv", "--out", "p"],
        "make status": ["make", "status", "project"],
        "make source": ["make", "source", "project"],
        "make translate": ["make", "translate", "project", "--dry-run"],
        "make repair": ["make", "repair", "project"],
        "make export": ["make", "export", "project", "--out", "e.csv"],
        "make publish": ["make", "publish", "project", "--out", "edition"],
        "train pairs": ["train", "pairs", "--articles", str(scene.articles), "--out", "pairs"],
        "train next-sentence": ["train", "next-sentence", model, "--pairs", "nowhere", "--out", "head"],
        "matrix": ["matrix", str(scene.root / "planned" / "plan.toml"), "--out", "m", "--dry-run"],
        "board": ["board", str(scene.root / "many"), "--out", "site"],
        "groups": ["compare", *several, "--group", "instruct"],
        "sizes": ["compare", *several, "--size"],
        "show of several": ["show", *several],
        "gender": ["gender", "--language", "sk", items],
    }
