"""The folder of a run: saved whole or not at all, and checked when it is read."""

import errno
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.runs.made import association_scores
from tests.runs.made import run as made_run
from tests.support.messages import raises_mentioning
from tiltmeter.errors import DataError, UsageError
from tiltmeter.runs import run_files
from tiltmeter.runs.result import Result
from tiltmeter.runs.run_files import ITEMS, MANIFEST, MEASURES, SCORES, finish_save


@pytest.fixture
def runs() -> tuple[Result, Result]:
    """Two runs with the same request and different scores."""
    return made_run(association_scores(seed=1, n=8)), made_run(association_scores(seed=2, n=8))


def test_a_failed_save_keeps_the_finished_run(
    runs: tuple[Result, Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = runs
    old.save(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(_self: pd.DataFrame, _path: Path, **_options: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_parquet", full)
    with raises_mentioning(UsageError, "No space left"):
        new.save(tmp_path, force=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def steps() -> Iterator[int]:
    yield from range(12)


@pytest.mark.parametrize("step", steps())
def test_a_save_that_is_killed_at_any_file_operation_leaves_one_of_the_two_runs(
    step: int, runs: tuple[Result, Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = runs
    old.save(tmp_path / "run")
    new.save(tmp_path / "new")
    either = [Result.load(tmp_path / name).scores for name in ("run", "new")]
    done = 0

    class Killed(BaseException):
        pass

    def counting(operation: Any) -> Any:
        def counted(self: Path, *args: Any, **options: Any) -> Any:
            nonlocal done
            if run_files._SAVED in str(self) or run_files._MOVING in str(self) or self.parent.name == "run":
                if done == step:
                    raise Killed
                done += 1
            return operation(self, *args, **options)

        return counted

    with monkeypatch.context() as patched:
        for name in ("rename", "replace", "unlink"):
            patched.setattr(Path, name, counting(getattr(Path, name)))
        with suppress(Killed):
            new.save(tmp_path / "run", force=True)
    scores = Result.load(tmp_path / "run").scores
    assert any(scores.equals(one) for one in either)
    finish_save(tmp_path / "run")
    assert not [path for path in (tmp_path / "run").iterdir() if path.name.startswith((".saved", ".moving"))]


def edited(folder: Path, name: str, change: Any) -> None:
    content = json.loads((folder / name).read_text(encoding="utf-8"))
    change(content)
    (folder / name).write_text(json.dumps(content), encoding="utf-8")


def column(folder: Path, change: Any) -> None:
    change(pd.read_parquet(folder / SCORES)).to_parquet(folder / SCORES, index=False)


DAMAGE: dict[str, tuple[Any, str]] = {
    "no scores": (lambda run: (run / SCORES).unlink(), "scores.parquet is missing"),
    "half the scores": (lambda run: (run / SCORES).write_bytes((run / SCORES).read_bytes()[:500]), "is damaged"),
    "no measures": (lambda run: (run / MEASURES).unlink(), "measures.json cannot be read"),
    "a list for a manifest": (lambda run: (run / MANIFEST).write_text("[]"), "manifest.json is not an"),
    "a deep manifest": (lambda run: (run / MANIFEST).write_text("[" * 100_000), "nested too deep"),
    "no models": (lambda run: edited(run, MANIFEST, lambda m: m.pop("models")), "has no 'models'"),
    "a number for a note": (lambda run: edited(run, MANIFEST, lambda m: m.update(notes=[7])), "entry 1 of 'notes'"),
    "a text for items": (
        lambda run: edited(run, MANIFEST, lambda m: m["asked"][0].update(items="x")),
        "'items' of entry 1",
    ),
    "a text for a value": (
        lambda run: edited(run, MEASURES, lambda m: m[0].update(value="x")),
        "value is not a",
    ),
    "a value too large": (lambda run: edited(run, MEASURES, lambda m: m[0].update(value=10**400)), "too large"),
    "no value": (lambda run: edited(run, MEASURES, lambda m: m[0].pop("value")), "Record 1"),
    "an unknown field": (lambda run: edited(run, MEASURES, lambda m: m[0].update(odd=1)), "Record 1"),
    "a verdict of numbers": (lambda run: edited(run, MEASURES, lambda m: m[0].update(verdict={"kind": 7})), "verdict"),
    "no column": (lambda run: column(run, lambda t: t.drop(columns="role")), "no column 'role'"),
    "texts for scores": (lambda run: column(run, lambda t: t.assign(score="x")), "not numbers"),
    "endless scores": (lambda run: column(run, lambda t: t.assign(score=float("inf"))), "not finite"),
    "numbers for items": (lambda run: column(run, lambda t: t.assign(item=1)), "column 'item'"),
    "rows twice": (lambda run: column(run, lambda t: pd.concat([t, t.iloc[:1]])), "duplicate row"),
    "no rows": (lambda run: column(run, lambda t: t.iloc[:0]), "has no rows"),
    "scores of another run": (lambda run: column(run, lambda t: t.assign(benchmark="other")), "different runs"),
    "a table of items that is none": (lambda run: (run / ITEMS).write_text("x"), "items.parquet is damaged"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_run_is_rejected(damage: str, runs: tuple[Result, Result], tmp_path: Path) -> None:
    runs[0].save(tmp_path)
    change, message = DAMAGE[damage]
    change(tmp_path)
    with raises_mentioning(DataError, f"The run in {tmp_path}", message):
        Result.load(tmp_path)


def _is_same_json(content: bytes, changed: bytes) -> bool:
    """Return whether two JSON texts have the same content, for example `\\u00d7` and `\\u00D7`."""
    with suppress(ValueError):
        return bool(json.loads(content) == json.loads(changed))
    return False


@pytest.mark.parametrize("name", [SCORES, ITEMS, MANIFEST, MEASURES])
def test_a_changed_byte_is_refused_or_reported(name: str, runs: tuple[Result, Result], tmp_path: Path) -> None:
    """The byte may be part of numbers, texts, their lengths, or the metadata of the file."""
    texts = [{"role": "more", "text": f"The answer is {number}."} for number in range(8)]
    rows = [
        {"item": f"i-{number}", "form": "pairs", "context": "", "texts": [text]} for number, text in enumerate(texts)
    ]
    items = pd.DataFrame(rows).assign(benchmark="b", part="all", language="en")
    folder = replace(runs[0], texts=items).save(tmp_path / "run")
    content = (folder / name).read_bytes()
    step = max(1, len(content) // 60)
    for number, place in enumerate(range(0, len(content), step)):
        change = (0x80, 0x01, 0xFF, 0x20)[number % 4]
        changed = content[:place] + bytes([content[place] ^ change]) + content[place + 1 :]
        if name.endswith(".json") and _is_same_json(content, changed):
            continue
        (folder / name).write_bytes(changed)
        with suppress(DataError, UsageError):
            assert Result.load(folder).changed, place


def test_invalid_utf_8_in_a_table_is_damage(runs: tuple[Result, Result], tmp_path: Path) -> None:
    folder = runs[0].save(tmp_path / "run")
    content = (folder / SCORES).read_bytes()
    (folder / SCORES).write_bytes(content.replace(b"made/one", b"made/\xffne"))
    with raises_mentioning(DataError, "scores.parquet is damaged"):
        Result.load(folder)
