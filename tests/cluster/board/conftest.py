"""Synthetic runs and their board."""

from pathlib import Path

import pytest

from tests.cluster.board.boards import small_board
from tiltmeter.cluster.board.site_files import write_board


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of `small_board`; one run has a report."""
    folder = small_board(tmp_path_factory.mktemp("board") / "runs")
    (folder / "m0" / "pairs" / "report.html").write_text("<p>The report.</p>", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def site(runs: Path) -> Path:
    """Return the folder of the board of these runs."""
    write_board([runs], runs.parent / "site", with_reports=True)
    return runs.parent / "site"
