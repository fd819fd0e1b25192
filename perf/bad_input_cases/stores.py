"""Bad answer stores and caches, and outputs that cannot be written."""

import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from perf.bad_input_cases.scene import Case, Scene, broken_files

_ANSWERS = "answers.sqlite"
_NOBODY = 65534


def stores(scene: Scene) -> Iterator[Case]:
    """Yield runs with a damaged, foreign or full answer store, which must have the same scores."""
    chance = random.Random(5)
    sound = scene.cache / _ANSWERS
    size = sound.stat().st_size

    def case(name: str, change: Callable[[Path], None], **limits: int) -> Case:
        def prepare(folder: Path) -> None:
            (folder / "cache").mkdir()
            shutil.copy(sound, folder / "cache" / _ANSWERS)
            change(folder / "cache" / _ANSWERS)
            os.chmod(folder, 0o777)  # noqa: PTH101

        return Case(name, scene.measuring(), prepare, {"TILTMETER_CACHE": "cache"}, scores="out", **limits)

    for way, broken in broken_files(sound):
        yield case(f"answers: {way}", broken)
    for number in range(40):
        at = chance.randrange(size)
        yield case(f"answers: byte {at} changed ({number})", _changed(at, chance.randrange(256)))
    schema = sound.read_bytes().index(b"CREATE TABLE")
    for at in range(schema - 60, 4096, 7):
        yield case(f"answers: byte {at} of the schema changed", _changed(at, chance.randrange(256)))
    for page in range(size // 4096):
        yield case(f"answers: page {page} of zeros", _zeroed(page * 4096, 4096))
        yield case(f"answers: ends before page {page}", _ended(page * 4096))
    for name, script in _SCRIPTS.items():
        yield case(f"answers: {name}", _scripted(script))
    for limit in (4096, 20_000, 40_000):
        yield case(f"answers: no file over {limit} bytes", lambda at: at.unlink(), largest_file=limit)
    yield case("answers: all there, in a folder that cannot be written", _closed, user=_NOBODY)


def caches(scene: Scene) -> Iterator[Case]:
    """Yield invalid settings of the cache and the mirror."""
    places = {
        "a file": str(scene.items),
        "of a user who is not known": "~nobody-here/x",
        "too long": "x" * 300,
        "in /proc": "/proc/nowhere",
        "a device": "/dev/null",
        "in a device": "/dev/null/cache",
        "no UTF-8": "\udcff",
        "of another user": "/root/cache",
        "the root": "/",
    }
    for name, place in places.items():
        for variable in ("TILTMETER_CACHE", "TILTMETER_MIRROR"):
            for command, words in {
                "run": scene.measuring(),
                "get": ["data", "get", "stereoset:de"],
                "list": ["data", "list"],
            }.items():
                user = _NOBODY if place.startswith("/root") or place == "/" else None
                scores = "out" if command == "run" else None
                environment = {variable: place, "https_proxy": "http://127.0.0.1:9", "TILTMETER_CACHE": "own"}
                environment[variable] = place
                yield Case(f"{command}: {variable} is {name}", words, _open, environment, scores=scores, user=user)


def outputs(scene: Scene) -> Iterator[Case]:
    """Yield commands with outputs that are folders, files, devices, closed, too long or full."""
    run, many = str(scene.run), scene.root / "many"
    several = [str(path.parent) for path in sorted(many.glob("*/manifest.json"))]
    writers = {
        "run": ["run", scene.model, "--on", str(scene.items), "--out", "OUT"],
        "report": ["report", run, "--out", "OUT"],
        "figures": ["report", run, "--out", "r.html", "--figures", "OUT"],
        "export": ["export", run, "--to", "jsonl", "--force", "--out", "OUT"],
        "compare": ["compare", run, "other", "--html", "OUT"],
        "markdown": ["check", run, "--max", f"{scene.items}.SS distance 50", "--markdown", "OUT"],
        "summary": ["check", run, "--max", f"{scene.items}.SS distance 50"],
        "convert": ["data", "convert", str(scene.items), "OUT", "--force"],
        "describe": ["data", "describe", str(scene.items), "--out", "OUT"],
        "project": ["make", "new", str(scene.items), "--to", "de", "--with", "file:x.csv", "--out", "OUT"],
        "board": ["board", str(many), "--out", "OUT"],
        "groups": ["compare", *several, "--group", "instruct", "--html", "OUT"],
        "sizes": ["compare", *several, "--size", "--html", "OUT"],
        "figures of sizes": ["compare", *several, "--size", "--figures", "OUT"],
        "matrix": ["matrix", str(scene.root / "planned" / "plan.toml"), "--out", "OUT", "--prefetch"],
        "pairs": ["train", "pairs", "--articles", str(scene.articles), "--out", "OUT"],
    }
    places = {
        "a file's child": "file/x",
        "a device": "/dev/full",
        "nothing": "/dev/null",
        "in /proc": "/proc/nowhere/x",
        "too long": "x" * 300,
        "of a user who is not known": "~nobody-here/x",
        "no UTF-8": "\udcff",
        "a dangling link's child": "link/x",
        "a pipe": "pipe",
        "closed": "closed/x",
        "empty": "",
    }
    for writer, words in writers.items():
        for name, place in places.items():
            given = [place if word == "OUT" else word for word in words]
            environment = {"GITHUB_STEP_SUMMARY": place} if writer == "summary" else {}
            user = _NOBODY if name == "closed" else None
            yield Case(f"{writer}: {name}", given, _outputs(scene), environment, user=user)
        given = ["out" if word == "OUT" else word for word in words]
        environment = {"GITHUB_STEP_SUMMARY": "out"} if writer == "summary" else {}
        for limit in (0, 2000):
            yield Case(f"{writer}: full after {limit}", given, _outputs(scene), environment, largest_file=limit)


def _outputs(scene: Scene) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        (folder / "file").write_text("x", encoding="utf-8")
        (folder / "link").symlink_to("nowhere")
        os.mkfifo(folder / "pipe")
        (folder / "closed").mkdir(mode=0o500)
        shutil.copytree(scene.run, folder / "other")

    return prepare


def _open(folder: Path) -> None:
    folder.chmod(0o777)


def _closed(at: Path) -> None:
    at.chmod(0o444)
    at.parent.chmod(0o555)


def _changed(at: int, value: int) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        content = bytearray(path.read_bytes())
        content[at] = value
        path.write_bytes(content)

    return change


def _zeroed(at: int, count: int) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        content = path.read_bytes()
        path.write_bytes(content[:at] + bytes(count) + content[at + count :])

    return change


def _ended(at: int) -> Callable[[Path], None]:
    return lambda path: os.truncate(path, at)


def _scripted(script: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        db = sqlite3.connect(path)
        db.executescript(script)
        db.close()

    return change


_SCRIPTS = {
    "without its table": "DROP TABLE answers",
    "without its models": "DROP TABLE models",
    "of other columns": "DROP TABLE answers; CREATE TABLE answers (who TEXT)",
    "with a view": "DROP TABLE answers; CREATE VIEW answers AS SELECT 1 AS model, x'00' AS question",
    "of another program": "DROP TABLE answers; DROP TABLE models; CREATE TABLE theirs (a)",
    "with answers of another length": "UPDATE answers SET answer = x'00'",
    "with answers that are empty": "UPDATE answers SET answer = x''",
}
