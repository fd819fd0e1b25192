"""Folders of finished runs that are edited or incomplete."""

import json
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq

from perf.bad_input_cases.scene import Case, Scene, broken_files, edits, json_file
from tiltmeter.runs.run_files import ITEMS, MANIFEST, MEASURES, SCORES


def cases(scene: Scene) -> Iterator[Case]:
    """Yield all errors of entries and of files, with alternating commands that read runs.

    Every thirteenth command is a report, because it takes ten times as long as the others.
    """
    quick = [(name, words) for name, words in _commands(scene).items() if name != "report"]
    commands = cycle([*quick, *quick, *quick[:2], ("report", _commands(scene)["report"])])
    for name, change in _changes(scene.run):
        command, words = next(commands)
        yield Case(f"{command}: {name}", words, _run(scene.run, change))
    for command, words in _commands(scene).items():
        for file in (MANIFEST, MEASURES, SCORES, ITEMS):
            for way, broken in broken_files(scene.run / file):
                if (file, way) != (ITEMS, "is missing"):
                    yield Case(f"{command}: {file} {way}", words, _run(scene.run, lambda f, b=broken, n=file: b(f / n)))


def _commands(scene: Scene) -> dict[str, list[str]]:
    return {
        "show": ["show", "run", "--json"],
        "report": ["report", "run", "--out", "r.html"],
        "compare": ["compare", str(scene.run), "run", "--html", "c.html"],
        "check": ["check", "run", "--max", f"{scene.items}.SS distance 50"],
        "export": ["export", "run", "--to", "lm-eval"],
        "table": ["show", "run"],
    }


def _run(source: Path, change: Callable[[Path], None]) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        (folder / "run").mkdir()
        for file in source.iterdir():
            if file.is_file():
                (folder / "run" / file.name).write_bytes(file.read_bytes())
        change(folder / "run")

    return prepare


def _changes(run: Path) -> Iterator[tuple[str, Callable[[Path], None]]]:
    for file in (MANIFEST, MEASURES):
        content = json.loads((run / file).read_text(encoding="utf-8"))
        if file == MEASURES:
            content = content[:1] + [row for row in content[1:] if row["verdict"]][:1] + content[1:]
            content = [*content[1:2], *content[:1], *content[2:]]
        for name, changed in edits(content):
            yield f"{file}: {name}", _text(file, json_file(changed))
        for name, text in _odd(content).items():
            yield f"{file}: {name}", _text(file, text)
    for file in (SCORES, ITEMS):
        for column in pq.read_schema(run / file).names:
            for name, change in _COLUMN.items():
                yield f"{file}: {column} {name}", _table(file, column, change)
        yield f"{file}: no rows", _whole(file, lambda t: t.iloc[:0])
        yield f"{file}: half the rows twice", _whole(file, lambda t: pd.concat([t, t.iloc[: len(t) // 2]]))


def _odd(content: Any) -> dict[str, str]:
    return {
        "infinite numbers": json.dumps(content).replace(": 0.05", ": Infinity").replace("50.0", "NaN"),
        "huge numbers": json.dumps(content).replace("50.0", "9" * 400),
        "half a character": json.dumps(content).replace("intrasentence", "\\ud800"),
        "another model": json.dumps(content).replace("model", "mod\\u0000el"),
        "another benchmark": json.dumps(content).replace("items.jsonl", "elsewhere.jsonl"),
    }


def _text(file: str, text: str) -> Callable[[Path], None]:
    return lambda run: _write(run / file, text)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", errors="surrogatepass")


_COLUMN: dict[str, Callable[[pd.Series], Any]] = {
    "is null": lambda _column: None,
    "is numbers": lambda column: range(len(column)),
    "is texts": lambda _column: "x",
    "is infinite": lambda _column: float("inf"),
    "is lists": lambda column: [[1, "a"][:1] for _ in column],
}


def _table(file: str, column: str, change: Callable[[pd.Series], Any]) -> Callable[[Path], None]:
    return _whole(file, lambda table: table.assign(**{column: change(table[column])}))


def _whole(file: str, change: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable[[Path], None]:
    def prepare(run: Path) -> None:
        change(pd.read_parquet(run / file)).to_parquet(run / file, index=False)

    return prepare
