"""The short form of `perf/kills_runs.py`: a few kills of a few commands."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from perf.killed_scenes import World
from perf.killing import attempt
from perf.kills_runs import at_operations, made_world
from tiltmeter.engine.answer_store import AnswerStore

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork processes")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with made_world(tmp_path_factory.mktemp("kills")) as made:
        yield made


@pytest.mark.parametrize(("kind", "most"), [("replace", 4), ("resume", 2), ("chat", 2), ("fetch data", 6)])
def test_a_killed_command_loses_nothing_and_goes_on(kind: str, most: int, world: World) -> None:
    assert at_operations(world, kind, most)["kills"] == most


def test_a_process_killed_while_it_mends_a_store_loses_none_of_it(tmp_path: Path) -> None:
    def damaged(folder: Path) -> Path:
        folder.mkdir()
        path = folder / "answers.sqlite"
        with AnswerStore(path) as store:
            store.put("m", {number.to_bytes(16): np.full(40, number, np.float32) for number in range(400)})
        content = bytearray(path.read_bytes())
        content[40960:41024] = bytes(64)
        path.write_bytes(content)
        return path

    def kept(path: Path) -> set[bytes]:
        with AnswerStore(path) as store:
            return set(store.get("m", [number.to_bytes(16) for number in range(400)]))

    path = damaged(tmp_path / "clean")
    operations = attempt(lambda: kept(path), count="operations").operations
    expected = kept(path)
    assert 100 < len(expected) < 400
    files = sorted(file.name for file in path.parent.iterdir())
    # Of the rows that are copied, one in a hundred.
    inserts = iter(range(10_000))
    places = [at for at, name in enumerate(operations, 1) if name != "SQLite INSERT" or next(inserts) % 100 == 50]
    assert len(places) > 20
    for place in places:
        path = damaged(tmp_path / str(place))
        attempt(lambda path=path: kept(path), operation=place)  # type: ignore[misc]
        assert kept(path) == expected, f"killed before {operations[place - 1]}, operation {place}"
        assert sorted(file.name for file in path.parent.iterdir()) == files
