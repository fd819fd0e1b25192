"""The short form of `perf/kills_review.py`: two reviewers at once, and a decision on a group, killed a few times."""

import os
import shutil
from pathlib import Path

import pytest

from perf.killing import Log, attempt, even_sample
from perf.kills_review import storm
from perf.reviewed_project import make_project
from perf.studio_review_list import add_proposals
from tiltmeter.making.project import open_project
from tiltmeter.making.review.identical_proposals import decide_on_group, list_proposal_groups, preview_group
from tiltmeter.making.review.review import Review
from tiltmeter.making.review.review_list import ReviewList

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork processes")


@pytest.mark.parametrize(("agree", "of"), [(1, 1), (2, 2)])
def test_reviewers_at_once_lose_nothing(agree: int, of: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path))
    found = storm(kills=8, seed=3, items=8, agree=agree, of=of)
    assert found["kills"] >= 8
    assert found["interrupted while deciding"] > 0
    assert found["conflicts"] > 0


def decide_on_largest_group(folder: Path, log: Log) -> None:
    """Use the proposal of the largest group in all its items, and log the decisions that were reported as stored."""
    with open_project(folder) as project:
        review = Review(project)
        items = ReviewList(review)
        group = list_proposal_groups(review, items, "Ana")[0]
        shown = {one.item: one.shown for one in preview_group(review, items, group)}
        done = decide_on_group(review, items, "Ana", group.key, "use", shown)
        log.write("stored", *done.stored)


def test_a_killed_decision_on_a_group_is_stored_completely_or_not_at_all(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "cache"))
    make_project(tmp_path, 12, ["Ana"], agreeing=1, per_item=1)
    add_proposals(tmp_path / "project")

    def decide_on_copy(name: str, operation: int | None = None) -> tuple[tuple[str, ...], int, list[str]]:
        """Return the file operations, the number of stored decisions, and the decisions reported as stored."""
        folder, log = tmp_path / name, Log(tmp_path / f"{name}.log")
        shutil.copytree(tmp_path / "project", folder)
        count = "operations" if operation is None else None
        ending = attempt(lambda: decide_on_largest_group(folder, log), operation=operation, count=count)
        assert not ending.error
        reported = [item for _, *items in log.lines() for item in items]
        log.close()
        with open_project(folder) as project:
            decided = {decision.item for decision in project.store.list_decisions()}
            # An item is changed exactly if its decision is stored.
            assert {entry.id for entry in project.store.list_items("reviewed")} == decided
        assert set(reported) <= decided
        return ending.operations, len(decided), reported

    operations, whole, reported = decide_on_copy("undisturbed")
    assert whole == len(reported) > 2
    counts = [decide_on_copy(f"killed-{at}", at)[1] for at in even_sample(len(operations), 14)]
    assert set(counts) == {0, whole}
