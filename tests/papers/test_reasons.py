from tiltmeter.papers.printed import paper, papers, printed
from tiltmeter.papers.reasons import reasons, remarks


def test_every_reason_and_remark_is_about_numbers_that_there_are() -> None:
    for reason in reasons():
        assert any(reason.covers(number) for number in printed(paper(reason.paper)))
        # Every value that it lists is one that a table has.
        for column, values in reason.where.items():
            values_in_tables = {n.cell.get(column) for n in printed(paper(reason.paper)) if n.table in reason.tables}
            assert set(values) <= values_in_tables
    for remark in remarks():
        assert set(remark.tables) <= set(papers()[remark.paper].captions)


def test_every_reason_says_what_the_number_should_be() -> None:
    for reason in reasons():
        ways = [reason.ours, reason.instead, reason.within or reason.relative or reason.of_width]
        assert any(ways)
        assert reason.summary.endswith(".")
        assert reason.evidence.endswith(".")
