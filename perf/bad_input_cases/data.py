"""Bad data files: each field of each form, whole files, and every upstream format."""

import json
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from perf.bad_input_cases.scene import FORMS, Case, Scene, broken_files, edits, json_file
from tiltmeter.datasets.readers import FORMATS

_ODD_TEXTS = {"half a character": "\ud800", "a null": "a\0b", "spaces": "  "}


def cases(scene: Scene) -> Iterator[Case]:
    """Yield bad files of items for `run` and `data validate`."""
    for form in FORMS:
        lines = scene.few(form).read_text(encoding="utf-8").splitlines()
        clean = scene.few(form).with_suffix(".run")
        for edit, changed in _edited(json.loads(lines[1])):
            if edit == "direction missing":  # optional for pairs
                continue
            prepare = _written("\n".join([lines[0], json_file(changed), *lines[2:]]))
            yield Case(f"{form}: {edit}", scene.measuring(on="mine.jsonl"), prepare, scores="out", clean=clean)
    for way, broken in broken_files(scene.items):
        yield _run(scene, f"file {way}", _at("mine.jsonl", broken))
        yield Case(f"validated file {way}", ["data", "validate", "mine.jsonl"], _at("mine.jsonl", broken))
        yield Case(f"converted file {way}", ["data", "convert", "mine.jsonl", "c.jsonl"], _at("mine.jsonl", broken))
    for format_name in FORMATS:
        for way, content in GARBAGE.items():
            words = ["data", "validate", "file", "--from", format_name, "--language", "en"]
            yield Case(f"{format_name}: {way}", words, _bytes("file", content))
        for way in ("a folder", "a pipe", "a dangling link"):
            broken = next(function for name, function in broken_files(scene.items) if name == f"is {way}")
            yield Case(f"{format_name}: {way}", words, _at("file", broken))


def _edited(item: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    yield from edits(item)
    for key, value in item.items():
        if isinstance(value, str) and key not in ("bias_type", "target", "direction", "id"):
            for name, text in _ODD_TEXTS.items():
                yield f"{key} is {name}", {**item, key: text}
    yield "an unknown field", {**item, "surprise": 1}
    yield "a number of 5,000 digits", {**item, "id": int("9" * 4000)}


def _run(scene: Scene, name: str, prepare: Callable[[Path], None]) -> Case:
    return Case(name, scene.measuring(on="mine.jsonl"), prepare, scores="out")


def _written(text: str) -> Callable[[Path], None]:
    return _bytes("mine.jsonl", text.encode())


def _bytes(name: str, content: bytes) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return prepare


def _at(name: str, broken: Callable[[Path], None]) -> Callable[[Path], None]:
    return lambda folder: broken(folder / name)


def _bomb() -> bytes:
    """Return a pickle that requests memory for 2**31 entries."""
    return b"\x80\x04]r\xff\xff\xff\x7f."


GARBAGE: dict[str, bytes] = {
    "empty": b"",
    "binary": bytes(range(256)),
    "JSON of another shape": b'{"data": {"intrasentence": [1, {"sentences": null}], "intersentence": 3}}',
    "a list of numbers": b"[1, 2, 3]",
    "deep JSON": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "half a JSON": b'{"data": {"intrasentence": [',
    "a table of other columns": b"one,two\n1,2\n",
    "a table with a quote that does not end": b'from,to\n"abc,def\n',
    "a table with nulls": b"sent_more,sent_less\n\0,\0\n",
    "a field of 200,000 letters": b"from,to\n" + b"x" * 200_000 + b",y\n",
    "a pickle of numbers": pickle.dumps([1, 2, 3]),
    "a pickle that fills memory": _bomb(),
    "a pickle of 10**9 bytes": b"\x80\x05\x96" + (10**11).to_bytes(8, "little") + b"x.",
    "a deep pickle": b"\x80\x04" + b"]" * 50_000 + b"a" * 49_999 + b".",
    "half a pickle": pickle.dumps({"a": list(range(1000))})[:-200],
    "UTF-16": "from,to\na,b\n".encode("utf-16"),
    "half a character": b'[{"id": "\\ud800", "sentence": "\\udfff"}]',
}
