"""Made runs and their board, for all tests of the room."""

from pathlib import Path

import pytest

from tests.cluster.board.boards import small_board
from tiltmeter.cluster.board.site_files import write_board


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runs of `small_board`; one of them has a report."""
    folder = small_board(tmp_path_factory.mktemp("board") / "runs")
    (folder / "m0" / "pairs" / "report.html").write_text("<p>The report.</p>", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def site(runs: Path) -> Path:
    """Their board."""
    write_board([runs], runs.parent / "site", with_reports=True)
    return runs.parent / "site"
