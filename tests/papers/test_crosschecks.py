from tiltmeter.papers.crosschecks import cross_check
from tiltmeter.papers.printed import papers, printed


def test_three_printed_numbers_contradict_those_beside_them() -> None:
    checks = cross_check([number for paper in papers().values() for number in printed(paper)])
    assert [check.numbers for check in checks] == [448, 1_536, 32, 8]
    wrong = [contradiction.number for check in checks for contradiction in check.contradictions]
    assert [(number.paper.key, number.table, number.cell["model"], number.text) for number in wrong] == [
        ("oeztuerk2023", "3", "mBERT", "73.21"),
        ("oeztuerk2023", "8", "mBERT", "64.5"),
        ("oeztuerk2022", "3.4", "GPT-2 generative orig", "55.6"),
    ]
