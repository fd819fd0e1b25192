from tiltmeter.papers.consistency_checks import check_consistency
from tiltmeter.papers.printed_numbers import load_papers, read_printed_numbers


def test_three_printed_numbers_contradict_those_beside_them() -> None:
    checks = check_consistency([number for paper in load_papers().values() for number in read_printed_numbers(paper)])
    assert [check.numbers for check in checks] == [448, 1_536, 32, 8]
    wrong = [contradiction.number for check in checks for contradiction in check.contradictions]
    assert [(number.paper.key, number.table, number.cell["model"], number.text) for number in wrong] == [
        ("oeztuerk2023", "3", "mBERT", "73.21"),
        ("oeztuerk2023", "8", "mBERT", "64.5"),
        ("oeztuerk2022", "3.4", "GPT-2 generative orig", "55.6"),
    ]
