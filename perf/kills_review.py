"""Kill two reviewers who decide on the same items at the same time; no decision may be lost.

    python -m perf.kills_review --kills 100

Each reviewer is a process that decides on the same items and logs each decision before and after it is stored, synced
to disk. It kills itself (SIGKILL) at a random Python call and is restarted, until both have decided on all items. Then
every decision that was logged as stored must be in the project, no item may be partly changed, and the listed conflicts
must match the decisions.
"""

import argparse
import json
import os
import random
import signal
import sqlite3
import tempfile
import time
from pathlib import Path
from typing import Any

from perf.killing import KillAt
from perf.reviewed_project import make_project
from tiltmeter.making.project import DATABASE, Project, open_project
from tiltmeter.making.review.review import Review
from tiltmeter.making.review.review_outcomes import get_unreviewed_texts
from tiltmeter.making.review.review_rule import ReviewVerdict

REVIEWERS = ("Ana", "Eva")
VERDICTS: tuple[ReviewVerdict, ...] = ("accept", "accept", "edit", "drop")


def review_until_killed(folder: Path, name: str, log: Path, calls: int | None, seed: int) -> None:
    """Decide on all items, or until the process kills itself after this number of Python calls."""
    choice = random.Random(f"{seed} {name}")
    plan = {f"i{number}": choice.choice(VERDICTS) for number in range(1000)}
    with open_project(folder / "project") as project, log.open("a", encoding="utf-8") as lines:
        # Items are not reserved, so that both reviewers get the same ones.
        review = Review(project, held=0.0)
        decided = {decision.item for decision in project.store.list_decisions() if decision.reviewer == name}
        review.show_item("i0", name)  # values that are computed once are not counted
        kill = KillAt(calls)
        if calls is not None:
            kill.count_calls()
        for entry in project.store.list_items(dropped=None):
            if entry.id in decided:
                continue
            shown = review.show_item(entry.id, name)
            verdict = plan[entry.id]
            texts = {"context": shown.texts["context"].replace("hoy", "ayer")} if verdict == "edit" else {}
            _log(lines, "deciding", entry.id, verdict)
            review.decide_on_item(name, entry.id, verdict, texts=texts, shown=shown.shown)
            _log(lines, "stored", entry.id, verdict)
    kill.stop()


def _log(lines: Any, *words: str) -> None:
    lines.write(json.dumps(words) + "\n")
    lines.flush()
    os.fsync(lines.fileno())


def storm(kills: int, seed: int, items: int, agree: int, of: int) -> dict[str, int]:
    """Kill reviewers this number of times, let them finish, check the project, and return counts."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_project(folder, items, REVIEWERS, agreeing=agree, per_item=of)
        random_ = random.Random(seed)
        logs = {who: folder / f"{who}.log" for who in REVIEWERS}
        done = 0
        while done < kills:
            before = time.monotonic()
            children = [_start(folder, who, logs[who], random_.randint(900, 6000), seed) for who in REVIEWERS]
            statuses = [os.waitpid(child, 0)[1] for child in children]
            killed = sum(os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL for status in statuses)
            assert killed or all(status == 0 for status in statuses), f"a reviewer failed: {statuses}"
            done += killed
            if not killed:  # all items are decided: withdraw the decisions and start again
                _withdraw_all(folder)
            assert time.monotonic() - before < 120
        for child in [_start(folder, who, logs[who], None, seed) for who in REVIEWERS]:
            assert os.waitpid(child, 0)[1] == 0
        return {"kills": done, **check(folder, logs, items)}


def _start(folder: Path, who: str, log: Path, calls: int | None, seed: int) -> int:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            review_until_killed(folder, who, log, calls, seed)
            code = 0
        finally:
            os._exit(code)
    return child


def _withdraw_all(folder: Path) -> None:
    with open_project(folder / "project") as project:
        review = Review(project)
        for decision in list(project.store.list_decisions()):
            review.undo_decision(decision.reviewer, decision.item)


def check(folder: Path, logs: dict[str, Path], items: int) -> dict[str, int]:
    """Compare the project with the logs."""
    database = sqlite3.connect(folder / "project" / DATABASE)
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()
    reported = {who: [json.loads(line) for line in log.read_text().splitlines()] for who, log in logs.items()}
    with open_project(folder / "project") as project:
        everything = list(project.store.list_decisions(undone=True))
        interrupted = 0
        for who, lines in reported.items():
            stored = [item for word, item, _ in lines if word == "stored"]
            begun = [item for word, item, _ in lines if word == "deciding"]
            interrupted += len(begun) - len(stored)
            for item in set(begun):
                kept = sum(decision.reviewer == who and decision.item == item for decision in everything)
                assert stored.count(item) <= kept <= begun.count(item), (who, item)
        review = Review(project)
        conflicts = {conflict.item.item for conflict in review.list_conflicts()}
        expected = set()
        for number in range(items):
            item = f"i{number}"
            decisions = {decision.reviewer: decision for decision in project.store.list_decisions(item)}
            assert set(decisions) == set(REVIEWERS), item
            if not decisions["Ana"].is_same_as(decisions["Eva"]):
                expected.add(item)
            _check_item(project, item, is_conflict=item in conflicts)
        assert conflicts == expected
    return {
        "decisions": len(everything),
        "interrupted while deciding": interrupted,
        "items": items,
        "conflicts": len(conflicts),
    }


def _check_item(project: Project, item: str, *, is_conflict: bool) -> None:
    """Check that an item follows from its decisions, and is unchanged if they conflict."""
    entry, texts = project.store.get_item(item), project.store.list_texts("text", item)[item]
    decision = next(project.store.list_decisions(item))
    if is_conflict:
        assert (entry.dropped, entry.stage, texts) == (None, "translated", get_unreviewed_texts(project, item))
        assert project.store.get_applied_outcome(item) is None
    elif decision.verdict == "drop":
        assert entry.dropped is not None
    else:
        assert (entry.dropped, entry.stage, texts) == (None, "reviewed", decision.texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--items", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    os.environ["TILTMETER_CACHE"] = tempfile.mkdtemp()
    for agree, of in ((1, 1), (2, 2)):
        began = time.monotonic()
        found = storm(options.kills, options.seed, options.items, agree, of)
        print(f"{agree} of {of}: {found}, {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
