"""Options of every command with values that they cannot have."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from perf.bad_input_cases.scene import Case, Scene
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
    """Each option of each command, with each value that does not fit its type."""
    command: Any = get_command(make_app())
    for name, words in _commands(scene).items():
        found = command
        for word in name.split():
            found = found.commands[word]
        for parameter in found.params:
            if not parameter.opts[0].startswith("-") or parameter.is_flag or parameter.name == "help":
                continue
            option = max(parameter.opts, key=len)
            for kind, value in _values(parameter).items():
                given = [word for word in words if word != option]
                yield Case(f"{name} {option} {kind}", [*given, option, value], scores="out" if name == "run" else None)


def _values(parameter: Any) -> dict[str, str]:
    kind = str(parameter.type_descriptor.annotation).lower()
    if "int" in kind or "float" in kind:
        return _NUMBERS
    return _PATHS if "path" in kind else _TEXTS


def _commands(scene: Scene) -> dict[str, list[str]]:
    """A sound call of each command; options that ask for much work are left to other classes."""
    run, items, model = str(scene.run), str(scene.items), scene.model
    missing = str(Path("nowhere"))
    return {
        "run": scene.measuring(),
        "show": ["show", run],
        "report": ["report", run, "--out", "r.html"],
        "compare": ["compare", run, run],
        "check": ["check", run, "--max", "items.SS distance 50"],
        "export": ["export", run, "--to", "jsonl"],
        "items": ["items", run],
        "sensitivity": ["sensitivity", run, "--limit", "2"],
        "score": ["score", "--predictions", items, "--as", "stereotypes-multi", "--on", "starter:en"],
        "data list": ["data", "list"],
        "data describe": ["data", "describe", items],
        "data get": ["data", "get", "starter"],
        "data show": ["data", "show", items],
        "data validate": ["data", "validate", items],
        "data convert": ["data", "convert", items, "c.jsonl"],
        "make new": ["make", "new", "p", "--from", items, "--language", "de"],
        "make status": ["make", "status", missing],
        "make translate": ["make", "translate", missing],
        "make repair": ["make", "repair", missing],
        "make publish": ["make", "publish", missing],
        "train pairs": ["train", "pairs", "--out", "pairs", "--articles", items],
        "train next-sentence": ["train", "next-sentence", model, "--pairs", missing, "--out", "head"],
    }
