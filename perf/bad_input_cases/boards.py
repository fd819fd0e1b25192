"""Bad files of attributes, and boards, tables and comparisons of several runs with a broken one."""

import json
from collections.abc import Callable, Iterator
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Any

from perf.bad_input_cases.calls import in_fork
from perf.bad_input_cases.many_runs import (
    DESCRIBED,
    MODELS,
    WRONG_TOML,
    made_of_sound,
    many,
    printed_of_sound,
    refused,
    said,
    same_words,
    with_copy,
    with_replaced,
    with_text,
)
from perf.bad_input_cases.scene import Case, Scene, broken_files
from tiltmeter.runs.run_files import MANIFEST, MEASURES, SCORES


def cases(scene: Scene) -> Iterator[Case]:
    """Yield all cases of this class."""
    yield from _attributes(scene)
    yield from _boards(scene)
    yield from _several_runs(scene)


def _attributes(scene: Scene) -> Iterator[Case]:
    """Yield bad files of attributes for comparisons by group and size, and for boards."""
    runs = [str(many(scene) / name.replace("/", "-")) for name in MODELS]
    commands = {
        "groups": ["compare", *runs, "--group", "instruct", "--attributes", "a.toml", "--json"],
        "sizes": ["compare", *runs, "--size", "--attributes", "a.toml", "--json"],
        "board": ["board", str(many(scene)), "--attributes", "a.toml", "--out", "site"],
    }
    turns = cycle(commands.items())
    wrong: dict[str, str] = {}
    for key in ("name", "series", "step", "attributes"):
        line = next(line for line in DESCRIBED.splitlines() if line.startswith(key))
        for name, value in WRONG_TOML.items():
            if (key, name) not in (
                ("step", "a number"),
                ("name", "a text"),
                ("series", "a text"),
                ("attributes", "a table"),
            ):
                wrong[f"{key} is {name}"] = DESCRIBED.replace(line, f"{key} = {value}", 1)
    for name, (old, new) in _ATTRIBUTE_CHANGES.items():
        wrong[name] = DESCRIBED.replace(old, new, 1) if old else new
    for name, text in wrong.items():
        command, words = next(turns)
        yield Case(f"{command}: attributes: {name}", words, with_text("a.toml", text), judge=refused)
    for way, broken in broken_files(many(scene) / "plan.toml"):
        command, words = next(turns)
        judge = said if "tenths" in way else refused  # it may be cut after a complete model
        yield Case(f"{command}: attributes {way}", words, lambda f, b=broken: b(f / "a.toml"), judge=judge)


def _boards(scene: Scene) -> Iterator[Case]:
    """Yield boards of several runs with a broken one, which must be listed; the others must be unchanged."""
    words = ["board", "many", "--out", "site"]
    clean = cache(
        lambda: json.loads(
            made_of_sound(scene, "board", words, with_copy(many(scene), target="many"), "site/board.json")
        )
    )
    for file in (MANIFEST, MEASURES, SCORES, "../plan.toml"):
        at = Path("tiny-a") / file
        for way, broken in broken_files((many(scene) / at).resolve()):
            prepare = with_copy(many(scene), lambda folder, b=broken, a=at: b(folder / "many" / a), target="many")
            yield Case(f"board: {file.removeprefix('../')} {way}", words, prepare, judge=_same_board(clean))
    for name, (old, new) in _EDITED.items():
        for file in (MANIFEST, MEASURES):
            prepare = with_copy(many(scene), with_replaced(f"many/tiny-a/{file}", old, new), target="many")
            yield Case(f"board: {file} with {name}", words, prepare, judge=_same_board(clean))
    for name, folders in {
        "nothing": [],
        "a file": ["many/plan.toml"],
        "nowhere": ["x"],
        "the same twice": ["many"] * 2,
    }.items():
        prepare = with_copy(many(scene), target="many")
        yield Case(f"board of {name}", ["board", *folders, "--out", "site"], prepare, judge=_same_board(clean))
    for name, out in {"the runs": "many", "a run": "many/tiny-a", "a board of another": "other"}.items():
        prepare = with_copy(many(scene), with_text("other/board.json", "[]"), target="many")
        yield Case(f"board into {name}", ["board", "many", "--out", out], prepare, judge=refused)


def _several_runs(scene: Scene) -> Iterator[Case]:
    """Yield tables and comparisons of several runs with a broken one."""
    runs = [f"many/{name.replace('/', '-')}" for name in MODELS]
    commands = {
        "table": ["show", *runs],
        "JSON": ["show", *runs, "--json"],
        "LaTeX": ["show", *runs, "--latex"],
        "groups": ["compare", *runs, "--group", "instruct", "--json"],
        "sizes": ["compare", *runs, "--size", "--json"],
    }
    copy = with_copy(many(scene), target="many")
    clean = {name: printed_of_sound(scene, f"several {name}", words, copy) for name, words in commands.items()}
    turns = cycle(commands.items())
    for file in (MANIFEST, MEASURES, SCORES, "../plan.toml"):
        for way, broken in broken_files((many(scene) / "tiny-a" / file).resolve()):
            command, words = next(turns)
            prepare = with_copy(many(scene), lambda f, b=broken, n=file: b(f / "many/tiny-a" / n), target="many")
            name = f"{command} of several: {file.removeprefix('../')} {way}"
            yield Case(name, words, prepare, judge=same_words(clean[command]))
    for name, extra in _OPTIONS.items():
        command = "groups" if "--group" in extra else "sizes" if "--size" in extra else "table"
        start = "show" if command == "table" else "compare"
        yield Case(f"{start} of several, {name}", [start, *runs, *extra], copy, judge=refused)


def _same_board(clean: Callable[[], dict[str, Any]]) -> Callable[[Path, str, str], str]:
    def judge(folder: Path, _output: str, errors: str) -> str:
        expected = clean()
        return str(in_fork(lambda: _compared(expected, json.loads((folder / "site/board.json").read_text()), errors)))

    return judge


def _compared(clean: dict[str, Any], found: dict[str, Any], errors: str) -> str:
    """Return whether a board has the values of the clean one, or names the omitted or changed run."""
    told = " ".join([*found["notes"], *(run["run"] for run in found["not shown"])])
    there = {_key(row): row for row in found["numbers"]}
    for row in clean["numbers"]:
        other = there.get(_key(row))
        same = other is not None and all(row[name] == other[name] for name in ("value", "low", "high", "n", "verdict"))
        if not same and not ("tiny-a" in told and "tiny-a" in errors):
            return "silent"
    return "same scores" if found["numbers"] == clean["numbers"] else "reported" if errors.strip() else "silent"


def _key(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in ("model", "benchmark", "part", "language", "measure"))


_ATTRIBUTE_CHANGES: dict[str, tuple[str, str]] = {
    "no models": ("", "benchmarks = ['starter']\n"),
    "models that are texts": ("", "models = ['x']\n"),
    "a misspelt key": ("attributes", "atributes"),
    "a step without a series": ('series = "tiny"\n', ""),
    "a series without a step": ("step = 0\n", ""),
    "a step that is not finite": ("step = 0", "step = inf"),
    "an attribute that is a list": ("instruct = false", "instruct = [1]"),
    "an attribute that is a date": ("instruct = false", "instruct = 2020-01-01"),
    "an attribute that is not finite": ("instruct = false", "instruct = nan"),
    "a model twice, differently": ("tiny/b", "tiny/a"),
    "a revision twice": ('name = "tiny/a"', 'name = "tiny/a@x"\nrevision = "y"'),
    "no name": ('name = "tiny/a"\n', ""),
    "nested 20,000 deep": ("", "[" + "a." * 20_000 + "a]\nb = 1"),
}
_EDITED = {
    "another name": ("tiny/a", r"tiny/\\u001b[31mz"),
    "a number changed": (r'"value": -?[0-9.]+', '"value": 12.5'),
    "a number that is infinite": (r'"value": -?[0-9.]+', '"value": Infinity'),
    "a measure that is not known": (r'"measure": "[^"]+"', '"measure": "XYZ"'),
    "a name that is a list": (r'"name": "[^"]+"', '"name": ["x"]'),
    "a time that is none": (r'"finished": "[^"]+"', '"finished": "soon"'),
}
_OPTIONS: dict[str, list[str]] = {
    "a measure that is not known": ["--measure", "XYZ"],
    "columns that are not known": ["--columns", "x"],
    "a measure for JSON": ["--measure", "SS", "--json"],
    "the same run twice": ["many/tiny-a"],
    "a view": ["--by", "target"],
    "two outputs": ["--json", "--latex"],
    "a group that is not known": ["--group", "colour"],
    "a group of one value": ["--group", "instruct=true"],
    "a group of values that are not known": ["--group", "instruct=perhaps,never"],
    "a group of nothing": ["--group", ""],
    "groups and sizes": ["--group", "instruct", "--size"],
    "groups and a baseline": ["--group", "instruct", "--baseline", "tiny/a"],
    "sizes by language": ["--size", "--by", "language"],
    "figures without sizes": ["--group", "instruct", "--figures", "f"],
    "groups and all pairs": ["--group", "instruct", "--all"],
    "sizes and a number of items": ["--size", "--items", "3"],
}
