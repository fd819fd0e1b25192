import pytest

from tiltmeter.papers.rounding import matches_printed


@pytest.mark.parametrize(
    ("text", "value", "digits", "expected"),
    [
        ("65.67", 65.674999, 2, True),
        ("65.67", 65.665001, 2, True),
        ("65.67", 65.676, 2, False),
        # Exact halves: up, and to even.
        ("60.13", 60.125, 2, True),
        ("60.12", 60.125, 2, True),
        ("60.11", 60.125, 2, False),
        # The same half, as a sum of floats may give it.
        ("0.35", 0.1 + 0.2 + 0.045, 2, True),
        ("0.34", 0.1 + 0.2 + 0.045, 2, True),
        # A dropped zero is still a printed digit where the table has two.
        ("52", 52.004, 2, True),
        ("52", 52.02, 2, False),
        ("52", 52.02, 0, True),
        ("-0.05", -0.0549, 2, True),
        ("4226", 4229.0, 0, False),
    ],
)
def test_a_number_agrees_to_the_printed_digit(text: str, value: float, digits: int, expected: bool) -> None:
    assert matches_printed(text, value, digits) is expected
