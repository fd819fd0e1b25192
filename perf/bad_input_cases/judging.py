"""Evaluation of calls on bad input."""

from pathlib import Path

import pandas as pd

from perf.bad_input_cases.calls import RAISED, Ending, in_fork
from perf.bad_input_cases.scene import Case, Scene
from tiltmeter.errors import TiltmeterError
from tiltmeter.runs.result import Result

# Good outcomes: a message and an exit code; or exit code 0 with the values of the clean run, with a note about a
# change, or of a command without values.
GOOD = ("sentence", "same scores", "reported", "no numbers")
FAILURES = ("traceback", "fault", "hang", "crash", "silent", "no words")
EDITED = "changed since"
_KEYS = ["benchmark", "part", "language", "item", "candidate", "role"]
_FIELDS = ("model", "benchmark", "part", "language", "view", "group", "measure", "value", "low", "high", "n", "p_value")


def judged(scene: Scene, case: Case, folder: Path, ending: Ending) -> str:
    """Return the outcome: one of `GOOD` or `FAILURES`."""
    if ending.code is None:
        return "hang"
    if "Traceback (most recent call last)" in ending.output + ending.errors or ending.code == RAISED:
        return "traceback"
    if ending.code == 70:
        return "fault"
    if ending.code < 0 or ending.code > 128:
        return "crash"
    if ending.code:
        # A limit on the size of files also applies to output.
        return "sentence" if ending.errors.strip() or ending.output or case.largest_file is not None else "no words"
    if case.judge is not None:
        return case.judge(folder, ending.output, ending.errors)
    return str(in_fork(lambda: _numbers_judged(scene, case, folder, ending)))


def _numbers_judged(scene: Scene, case: Case, folder: Path, ending: Ending) -> str:
    clean = Result.load(case.clean or scene.run)
    if case.scores is not None and (folder / case.scores).is_dir():
        return _compared(clean, folder / case.scores)
    if case.scores is not None and case.largest_file is None:
        return "silent"  # a run without output
    if not (folder / "run").is_dir():
        return "no numbers"
    if EDITED in ending.errors:
        return "reported"
    return _compared(clean, folder / "run")


def _compared(clean: Result, folder: Path) -> str:
    """Compare scores and values with those of the clean run; omitted items must be listed."""
    try:
        found = Result.load(folder)
    except TiltmeterError:
        return "silent"
    keys = [key for key in _KEYS if key not in ("benchmark",)]
    both = pd.merge(clean.scores[[*keys, "score"]], found.scores[[*keys, "score"]], on=keys, how="outer")
    differs = ~(both["score_x"] - both["score_y"]).abs().lt(1e-5)
    if not differs.any():
        return "same scores" if _numbers(clean) == _numbers(found) else "silent"
    listed = {entry.item for entry in found.manifest.skipped}
    gone = both["score_y"].isna() & (both["item"].isin(listed) | (found.manifest.request.get("limit") is not None))
    return "reported" if (gone | ~differs).all() else "silent"


def _numbers(result: Result) -> list[tuple[str, ...]]:
    """Return the printed values of records, rounded to five digits, because weights may be read differently."""
    return sorted(
        (
            *(_rounded(getattr(record, name)) for name in _FIELDS if name not in ("model", "benchmark")),
            record.verdict.words if record.verdict else "",
        )
        for record in result.records
    )


def _rounded(value: object) -> str:
    return f"{value:.5f}" if isinstance(value, float) else str(value)
