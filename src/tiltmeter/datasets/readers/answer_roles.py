"""From the fields of BBQ and its relatives to the roles of the three answers."""

import ast
from collections.abc import Sequence

from tiltmeter.datasets.raw_records import RawRecord
from tiltmeter.forms import Problem
from tiltmeter.forms.multiple_choice import AMBIGUOUS, DISAMBIGUATED

PARTS = {"ambig": AMBIGUOUS, "disambig": DISAMBIGUATED}
POLARITIES = {"neg": "negative", "nonneg": "non-negative"}


class RowError(Exception):
    """A row that gives no item; the code says whether that is an error, or a row to leave out."""

    def __init__(self, code: str, field: str, message: str) -> None:
        super().__init__(message)
        self.problem = Problem(code, field, message)

    def record(self, row: str) -> RawRecord:
        """The record of the row: no values, and the problem."""
        return RawRecord(row, None, problems=[self.problem])


def build_answer_values(texts: Sequence[object], unknown: int, stereotype: int, correct: object) -> dict[str, object]:
    """The values of the three answers by role; the numbers are places in `texts`.

    >>> build_answer_values(["Ann", "Not known", "Bob"], unknown=1, stereotype=2, correct=1)["anti_stereotype"]
    'Ann'
    """
    if isinstance(correct, bool) or not isinstance(correct, int) or correct not in range(3):
        raise RowError("wrong-answer", "label", f"should be 0, 1 or 2, and is {correct!r}")
    (other,) = {0, 1, 2} - {unknown, stereotype}
    roles = {unknown: "unknown", stereotype: "stereotype", other: "anti-stereotype"}
    return {
        "stereotype": texts[stereotype],
        "anti_stereotype": texts[other],
        "unknown": texts[unknown],
        "correct": roles[correct],
    }


def find_stereotyped_answer(stereotyped: Sequence[bool], unknown: int, *, negative: bool) -> int:
    """The place of the stereotype's answer: who is of a stereotyped group, or the other one if nothing bad is asked.

    >>> find_stereotyped_answer([True, False, False], unknown=2, negative=False)
    1
    """
    people = [place for place in range(3) if place != unknown]
    of_group = [place for place in people if stereotyped[place]]
    if len(of_group) != 1:
        count = "both people are" if of_group else "neither person is"
        raise RowError("unclear-stereotype", "stereotyped_groups", f"{count} of a stereotyped group")
    return next(place for place in people if (place in of_group) == negative)


def find_unknown_answer(unknown: Sequence[bool]) -> int:
    """The place of the answer that says that nobody can know."""
    if sum(unknown) != 1 or len(unknown) != 3:
        raise RowError(
            "contradictory-roles", "", f"should have one answer of three that is unknown, and has {sum(unknown)}"
        )
    return list(unknown).index(True)


def parse_literal(text: object, field: str) -> object:
    """The value of a Python literal, such as a list of texts; nothing is run."""
    try:
        return ast.literal_eval(text) if isinstance(text, str) else text
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise RowError("bad-csv", field, "should be a list or a table as Python writes it") from None


def parse_texts(value: object, field: str) -> list[str]:
    """A list of texts."""
    if not isinstance(value, list | tuple) or not value or not all(isinstance(text, str) for text in value):
        raise RowError("wrong-type", field, "should be a list of texts")
    return list(value)
