"""A small run of `perf.board_scale`: its runs are valid, and the size of the page stays within its limits."""

from pathlib import Path

import pytest

from perf import board_scale
from tiltmeter.cluster.board.site_files import write_board
from tiltmeter.runs.result import Result


def test_made_runs_become_a_board_whose_first_page_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_scale, "_VARIANTS", 3)
    assert board_scale.made_runs(tmp_path / "runs", 10, ["en", "de", "fr"], 2, 12) == 60
    assert Result.load(tmp_path / "runs" / "model-3" / "made-0.de.published").records
    board = write_board([tmp_path / "runs"], tmp_path / "site")
    cells = sum(len(column.cells) for column in board.columns)
    assert (len(board.models), len(board.columns), cells) == (10, 3 * (3 + 1), 120)
    assert all(column.paired for column in board.columns)
    page, style = (tmp_path / "site" / "index.html").read_text(encoding="utf-8"), 45_000
    packed = page.partition('id="packed">')[2].partition("<")[0]
    # 200 models in 40 languages on five benchmarks have 72,000 values, of which 1,200 are drawn first.
    assert len(packed) / cells * 72_000 < 4_000_000
    assert (len(page) - len(packed) - style) / 10 * 200 < 1_000_000
