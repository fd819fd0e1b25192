import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.papers.printed_numbers import PrintedNumber, find_paper, load_papers, read_printed_numbers


def numbers(key: str, kind: str = "value") -> list[PrintedNumber]:
    return [number for number in read_printed_numbers(find_paper(key)) if number.kind == kind]


def test_every_number_of_the_tables_is_there() -> None:
    assert {key: len(numbers(key)) for key in load_papers()} == {
        "oeztuerk2023": 670,
        "oeztuerk2022": 365,
        "steinborn2022": 106,
        "gest2024": 2_775,
        "strazda2025": 7,
        "grigoreva2024": 225,
        "nadeem2021": 363,
        "stereoset-ptbr": 132,
        "bai2025": 170,
    }
    assert len(numbers("gest2024", "lower end")) == len(numbers("gest2024", "upper end")) == 2_640
    assert len(numbers("steinborn2022", "standard error")) == 80


def test_every_table_has_a_caption_and_every_paper_a_citation() -> None:
    for source in load_papers().values():
        assert {number.table for number in read_printed_numbers(source)} == set(source.captions)
        assert all(source.captions.values())
        assert source.citation


@pytest.mark.parametrize(
    ("key", "table", "text", "metric", "digits"),
    [
        ("oeztuerk2023", "2", "83.1", "LMS", 2),
        ("oeztuerk2022", "3.4", "58", "LMS", 1),
        ("oeztuerk2022", "4.1", "2106", "count", 0),
        ("steinborn2022", "3", "60.5", "CPS", 1),
        ("steinborn2022", "2", "57", "CPS", 0),
        ("oeztuerk2022", "text", "130000", "characters of contexts and candidates", -4),
        ("gest2024", "text", "75.00", "masculine among gendered translations where none was found, %", 2),
    ],
)
def test_digits(key: str, table: str, text: str, metric: str, digits: int) -> None:
    matching = [n for n in numbers(key) if (n.table, n.text, n.cell.get("metric")) == (table, text, metric)]
    assert {number.digits for number in matching} == {digits}


def test_a_paper_that_there_is_not() -> None:
    with raises_mentioning(UsageError, "'gest2042'", "did you mean gest2024?"):
        find_paper("gest2042")
