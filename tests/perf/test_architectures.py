"""`perf.architectures`: isolation of the checks, and its tables."""

import os
import signal
from pathlib import Path

from perf.architectures.checking import Outcome
from perf.architectures.isolation import Failure, run_isolated
from perf.architectures.table import count, make_table, write_between_markers
from tests.support.messages import raises_mentioning

ROWS = {
    "causal/a": [Outcome("causal/a", "window 8", "agrees", 2e-6), Outcome("causal/a", "window 90", "agrees", 1e-5)],
    "causal/b": [
        Outcome("causal/b", "window 8", "agrees", 2e-6),
        Outcome("causal/b", "window 90", "wrong", 3.5, where="pairs, one more, default"),
    ],
    "masked/c": [Outcome("masked/c", "window 8", "cannot be built", reason="needs | a kernel")],
    "seq2seq/d": [Outcome("seq2seq/d", "window 8", "refused", reason="too odd")],
}


def _work(job: str) -> str:
    if job == "raises":
        raise KeyError("lost")
    if job == "ends":
        os._exit(3)
    if job == "hangs":
        signal.pause()
    return job.upper()


def test_a_failed_job_does_not_stop_the_others() -> None:
    found = dict(run_isolated(_work, ["raises", "ends", "works"], at_once=2, seconds=600))
    assert found["works"] == "WORKS"
    assert isinstance(found["raises"], Failure)
    assert "lost" in found["raises"].reason
    assert isinstance(found["ends"], Failure)
    assert "3" in found["ends"].reason


def test_a_job_beyond_its_time_limit_is_killed() -> None:
    ((_, found),) = run_isolated(_work, ["hangs"], at_once=1, seconds=0)
    assert isinstance(found, Failure)
    assert "longer" in found.reason


def test_the_worst_variant_decides() -> None:
    assert count(ROWS) == {"agrees": 1, "wrong": 1, "cannot be built": 1, "refused": 1}
    table = make_table(ROWS)
    assert "3.50 (window 90; pairs, one more, default)" in table
    assert "needs \\| a kernel" in table
    assert "1.0e-05" in table


def test_only_the_text_between_the_markers_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    marked = "<!-- architectures: begin -->\nold\n<!-- architectures: end -->"
    page.write_text(f"before\n{marked}\nafter\n", encoding="utf-8")
    write_between_markers(page, ROWS)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert "1 are wrong" in text
    write_between_markers(page, ROWS)
    assert page.read_text(encoding="utf-8") == text


def test_a_page_without_markers_is_an_error(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing\n", encoding="utf-8")
    with raises_mentioning(ValueError, "page.md"):
        write_between_markers(page, ROWS)
