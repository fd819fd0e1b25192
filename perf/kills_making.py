"""Kill each step of making a test set at random moments, and check that nothing is lost or paid twice.

    python -m perf.kills_making --kills 100

A step runs in a forked process that is killed (SIGKILL) at a random Python call, at a file operation (`--at
operations`) or after a random time (`--at times`). It is repeated several times and then finished. The project must be
the same as without kills, and no temporary files may remain. A text may be sent twice only if it was in a request in
flight at a kill.
"""

import argparse
import os
import random
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from perf.breaking_engine import BreakingEngine
from perf.killing import Ending, attempt, even_sample
from perf.making_items import source_file
from tiltmeter.datasets.readers.jsonl import read_jsonl
from tiltmeter.making import repair_step, translation_step
from tiltmeter.making.exchange import export_project, import_project
from tiltmeter.making.project import create_project, open_project
from tiltmeter.making.project_settings import SETTINGS
from tiltmeter.making.publication import publish_project
from tiltmeter.making.repair_step import repair_project
from tiltmeter.making.source_corrections import apply_corrections
from tiltmeter.making.translation_step import translate_project

# Placeholders fail in different ways, so that every path of the step is executed.
WAY = {"underscores": "translated", "letters": "split", "braces": "dropped"}
ITEMS = 30


@dataclass
class Scene:
    """A folder with the files of the steps; each step logs the texts that it sends in every run."""

    root: Path
    runs: int = 0
    logs: list[Path] = field(default_factory=list)

    @property
    def project(self) -> Path:
        return self.root / "project"

    def next_log(self) -> Path:
        self.runs += 1
        self.logs.append(self.root / f"sent.{self.runs}.log")
        return self.logs[-1]


def run_new(scene: Scene, _log: Path) -> None:
    if (scene.project / SETTINGS).exists():
        return
    source = str(scene.root / "source.jsonl")
    create_project(scene.project, source, language="es", system="apertium:eng-xyz").close()


def run_source(scene: Scene, _log: Path) -> None:
    with open_project(scene.project) as project:
        apply_corrections(project, scene.root / "corrections.csv", by="Ana")


def run_translate(scene: Scene, log: Path) -> None:
    with open_project(scene.project) as project:
        translate_project(project, BreakingEngine(way=WAY, log=log), yes=True)


def run_repair(scene: Scene, _log: Path) -> None:
    with open_project(scene.project) as project:
        repair_project(project)


def run_export(scene: Scene, _log: Path) -> None:
    with open_project(scene.project) as project:
        export_project(project, scene.root / "review.csv", format="csv", everything=True)


def run_import(scene: Scene, _log: Path) -> None:
    with open_project(scene.project) as project:
        import_project(project, scene.root / "filled.csv", format="csv", reviewer="Ana")


def run_publish(scene: Scene, _log: Path) -> None:
    with open_project(scene.project) as project:
        publish_project(project, scene.root / "out", open_items="keep", licence="MIT")


STEPS: dict[str, Callable[[Scene, Path], None]] = {
    "new": run_new,
    "source": run_source,
    "translate": run_translate,
    "repair": run_repair,
    "export": run_export,
    "import": run_import,
    "publish": run_publish,
}


def prepare(root: Path, step: str, items: int = ITEMS) -> Scene:
    """Prepare a scene in which all earlier steps are done."""
    scene = Scene(root)
    translation_step._BATCH = repair_step._BATCH = 7  # so that a step has several transactions
    os.environ["TILTMETER_CACHE"] = str(root / "cache")
    source_file(root / "source.jsonl", blanks=items, nexts=items // 3)
    rows = [f"i{number},correct,target_term,term{number},clearer" for number in range(1, items, 4)]
    rows += [f"i{number},drop,,,faulty" for number in range(2, items, 5)]
    (root / "corrections.csv").write_text("item,action,field,text,reason\n" + "\n".join(rows) + "\n", encoding="utf-8")
    for name, run in STEPS.items():
        if name == step:
            break
        run(scene, root / "before.log")
        if name == "export":
            _fill_in(root / "review.csv", root / "filled.csv")
    return scene


def _fill_in(exported: Path, filled: Path) -> None:
    """Decide on all items: drop every third, accept the others, some with another term."""
    lines = exported.read_text(encoding="utf-8-sig").splitlines()
    done = [lines[0]]
    for number, line in enumerate(lines[1:]):
        item = line.split(",")[0]
        decision = "drop" if int(item[1:]) % 3 == 0 else "accept"
        corrected = f"term{number}" if ",target_term," in line and decision == "accept" else ""
        done.append(line.rsplit(",", 3)[0] + f",{corrected},{decision},seen")
    filled.write_text("\n".join(done) + "\n", encoding="utf-8")


def state(scene: Scene) -> dict[str, Any]:
    """Return the content of the project, without times and values that depend on the number of runs."""
    content: dict[str, Any] = {}
    database = scene.project / "project.sqlite"
    if database.exists():
        with sqlite3.connect(database) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            for table, columns in {
                "items": "*",
                "texts": "*",
                "history": "item, role, field, before, after, step, by, why",
                "attempts": "item, field, placeholder, received, outcome, used",
                "findings": "item, step, field, rule, kind, reason, before, proposals, closed_by, closed_why",
                "accepted": "item, code, by, why",
                "decisions": "item, reviewer, verdict, texts, comment",
            }.items():
                content[table] = sorted(db.execute(f"SELECT {columns} FROM {table}").fetchall(), key=str)
        db.close()
    for path in sorted(scene.root.glob("out/*")) + sorted(scene.root.glob("review.csv")):
        if path.suffix in (".jsonl", ".csv"):
            content[path.name] = path.read_text(encoding="utf-8")
    content["editions"] = sorted(path.name for path in scene.project.glob("editions/[0-9]*"))
    return content


def sent_twice(scene: Scene) -> tuple[int, int]:
    """Return how many texts were sent more than once, and how many of them were not in flight at a kill."""
    seen: set[str] = set()
    excused: set[str] = set()
    twice = unexcused = 0
    for log in scene.logs:
        events = [line.split("\t", 1) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []
        for event, text in events:
            if event == "sent":
                twice += text in seen
                unexcused += text in seen and text not in excused
                seen.add(text)
        size = BreakingEngine().batch_size
        excused |= {text for event, text in events if event == "sent"} & {text for _, text in events[-2 * size :]}
    return twice, unexcused


def storm(
    step: str, kills: int, seed: int, *, at: Literal["calls", "operations", "times"] = "calls", items: int = ITEMS
) -> dict[str, Any]:
    """Kill a step this number of times, finish it, and compare; raise an AssertionError if something was lost.

    It is killed at random calls or times, several times in a row, or once at each of an even sample of its file
    operations.
    """
    dice = random.Random(seed)
    run = STEPS[step]
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        reference = prepare(_folder(folder, "reference"), step, items)
        clean = _attempt(run, reference, count="calls" if at == "times" else at)
        expected = state(reference)
        done = rounds = twice = unexcused = 0
        places = even_sample(len(clean.operations), kills)
        while done < kills and (at != "operations" or places):
            rounds += 1
            scene = prepare(_folder(folder, "killed"), step, items)
            # A resumed run has less work and ends earlier.
            while done < kills:
                if at == "operations":
                    moment: dict[str, Any] = {"operation": places.pop(0)}
                elif at == "times":
                    moment = {"seconds": dice.uniform(0, clean.seconds)}
                else:
                    moment = {"calls": dice.randint(1, clean.calls)}
                killed = _attempt(run, scene, **moment).killed
                done += killed
                if not killed or at == "operations":
                    break
            _attempt(run, scene)
            found = state(scene)
            for part, content in expected.items():
                assert found[part] == content, f"{step}: {part} differs after {done} kills, the last at {moment}"
            left = [str(path.relative_to(scene.root)) for path in scene.root.rglob("*part*")]
            assert not left, f"{step}: left over after {moment}: {left}"
            own_twice, own_unexcused = sent_twice(scene)
            twice, unexcused = twice + own_twice, unexcused + own_unexcused
            if (scene.root / "out").is_dir():
                read_jsonl(scene.root / "out" / "items.jsonl")
    assert unexcused == 0, f"{step}: {unexcused} texts were sent twice"
    return {"step": step, "kills": done, "rounds": rounds, "sent twice, in flight": twice}


def _attempt(run: Callable[[Scene, Path], None], scene: Scene, **moment: Any) -> Ending:
    log = scene.next_log()
    ending = attempt(lambda: run(scene, log), **moment)
    if ending.error:
        raise RuntimeError(ending.error)
    return ending


def _folder(parent: str, name: str) -> Path:
    path = Path(parent) / name
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="the number of kills of each step")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--at",
        choices=["calls", "operations", "times"],
        default="calls",
        help="kill at random Python calls, at file operations, or after random times",
    )
    options = parser.parse_args()
    for step in STEPS:
        began = time.monotonic()
        result = storm(step, options.kills, options.seed, at=options.at)
        print(*(f"{key}: {value}" for key, value in result.items()), f"{time.monotonic() - began:.0f} s", sep=", ")


if __name__ == "__main__":
    main()
