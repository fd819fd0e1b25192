import io

import pytest
from rich.console import Console

from tests.support.messages import assert_mentions
from tiltmeter.reports.console_tables import print_fitting_table

HEADS = ("benchmark", "measure", "items", "reliability", "all\nwrong", "nothing")
ROWS = [
    ["starter/intrasentence:pt-BR", "LMS", "1,296", "0.56\n[-6.04, 0.97]", "8", ""],
    ["starter", "SS balanced by bias type", "9", "1.00", "", ""],
]


def printed(width: int, *optional: str) -> str:
    console = Console(file=io.StringIO(), width=width, record=True)
    print_fitting_table(console, HEADS, ROWS, labels=2, optional=optional)
    return console.export_text(styles=False)


@pytest.mark.parametrize("width", [48, 60, 80, 140])
def test_nothing_is_cut_and_long_labels_are_folded(width: int) -> None:
    text = printed(width, "items", "all\nwrong")
    assert all(len(line.rstrip()) <= width for line in text.splitlines())
    assert "…" not in text
    assert "[-6.04, 0.97]" in text
    labels = "".join(line.split()[0] for line in text.splitlines() if line[:1].strip())
    assert "starter/intrasentence:pt-BR" in labels


def test_columns_that_do_not_fit_are_named_and_empty_ones_left_out() -> None:
    assert "nothing" not in printed(140)
    assert "too narrow" not in printed(60, "items", "all\nwrong")
    narrow = printed(48, "items", "all\nwrong")
    assert "1,296" not in narrow
    assert_mentions(narrow, "too narrow", ": items")
