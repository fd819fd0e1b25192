"""The short form of `perf/kills_runs.py`: a few kills of a few commands."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from perf.killed_scenes import World
from perf.killing import attempt, even_sample
from perf.kills_runs import at_operations, made_world
from tiltmeter.engine.answer_store import AnswerStore

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork processes")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with made_world(tmp_path_factory.mktemp("kills")) as made:
        yield made


@pytest.mark.parametrize(("kind", "most"), [("replace", 3), ("resume", 1), ("chat", 1), ("fetch data", 4)])
def test_a_killed_command_loses_nothing_and_continues(kind: str, most: int, world: World) -> None:
    assert at_operations(world, kind, most)["kills"] == most


def test_a_process_killed_while_it_sets_a_damaged_store_aside_leaves_a_usable_one(tmp_path: Path) -> None:
    digests = [number.to_bytes(16) for number in range(150)]
    with AnswerStore(tmp_path / "damaged.sqlite") as store:
        store.put("m", {digest: np.full(40, number, np.float32) for number, digest in enumerate(digests)})
    content = bytearray((tmp_path / "damaged.sqlite").read_bytes())
    content[24576:24640] = bytes(64)

    def damaged(name: str) -> Path:
        (tmp_path / name).mkdir()
        path = tmp_path / name / "answers.sqlite"
        path.write_bytes(content)
        return path

    def kept(path: Path) -> set[bytes]:
        with AnswerStore(path) as store:
            return set(store.get("m", digests))

    path = damaged("clean")
    operations = attempt(lambda: kept(path), count="operations").operations
    expected = kept(path)
    assert expected == set()
    files = sorted(file.name for file in path.parent.iterdir())
    assert "answers.sqlite.damaged-1" in files
    for place in _few_of_each(operations):
        path = damaged(str(place))
        assert attempt(lambda path=path: kept(path), operation=place).killed  # type: ignore[misc]
        assert kept(path) == expected, f"killed before {operations[place - 1]}, operation {place}"
        assert sorted(file.name for file in path.parent.iterdir()) == files


def _few_of_each(operations: Sequence[str]) -> list[int]:
    """Return the places, from 1, of all renames and deletions, and of a few of each other operation."""
    places: dict[str, list[int]] = {}
    for place, name in enumerate(operations, 1):
        places.setdefault(name, []).append(place)
    return sorted(
        at[index - 1]
        for name, at in places.items()
        for index in even_sample(len(at), None if name in ("os.rename", "os.remove") else 2)
    )
