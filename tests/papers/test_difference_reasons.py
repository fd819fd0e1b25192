from pathlib import Path

from tiltmeter.papers.difference_reasons import load_reasons, load_remarks
from tiltmeter.papers.printed_numbers import find_paper, load_papers, read_printed_numbers


def test_every_reason_and_remark_is_about_numbers_that_there_are() -> None:
    for reason in load_reasons():
        assert any(reason.covers(number) for number in read_printed_numbers(find_paper(reason.paper)))
        # Every value that it lists is one that a table has.
        for column, values in reason.where.items():
            values_in_tables = {
                n.cell.get(column) for n in read_printed_numbers(find_paper(reason.paper)) if n.table in reason.tables
            }
            assert set(values) <= values_in_tables
    for remark in load_remarks():
        assert set(remark.tables) <= set(load_papers()[remark.paper].captions)


def test_every_reason_says_what_the_number_should_be() -> None:
    for reason in load_reasons():
        ways = [reason.ours, reason.other_cell, reason.within or reason.relative or reason.of_width]
        assert any(ways)
        assert reason.summary.endswith(".")
        assert reason.evidence.endswith(".")


def test_the_page_on_reproduction_has_the_reasons_and_remarks() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/evidence/reproduction.md").read_text(encoding="utf-8")
    headings = [line.removeprefix("### ") for line in page.splitlines() if line.startswith("### ")]
    assert len(set(headings)) == len(headings)
    assert {f"{reason.paper}: {reason.summary.removesuffix('.')}" for reason in load_reasons()} == set(headings)
    assert [remark.evidence for remark in load_remarks() if remark.evidence not in page] == []
