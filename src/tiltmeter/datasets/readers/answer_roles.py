"""The roles of the three answers in BBQ and related data sets."""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tiltmeter.datasets.raw_records import RawRecord
from tiltmeter.forms import Problem
from tiltmeter.forms.multiple_choice import AMBIGUOUS, DISAMBIGUATED

PARTS = {"ambig": AMBIGUOUS, "disambig": DISAMBIGUATED}
POLARITIES = {"neg": "negative", "nonneg": "non-negative"}


class RowError(Exception):
    """No item can be built from a row of a file; `code` decides whether this is reported as an error or a warning."""

    def __init__(self, code: str, field: str, message: str) -> None:
        super().__init__(message)
        self.problem = Problem(code, field, message)


def convert_records(
    records: Iterable[RawRecord],
    build: Callable[[Mapping[str, Any]], dict[str, object]],
    names: Mapping[str, str] | None = None,
) -> Iterator[RawRecord]:
    """Yield records with new values: `build` computes them from the values of a row.

    A `RowError` that `build` raises becomes a problem of the record. `names` are the names of fields in the file.
    """
    for record in records:
        if record.values is None:
            yield record
            continue
        try:
            yield RawRecord(record.row, build(record.values), names or {})
        except RowError as error:
            yield RawRecord(record.row, None, problems=[error.problem])


def build_answer_values(texts: Sequence[object], unknown: int, stereotype: int, correct: object) -> dict[str, object]:
    """Return a dictionary from roles to answer texts, with the role of the correct answer under the key `correct`.

    `unknown`, `stereotype` and `correct` are indices of `texts`, which are the three answers.

    >>> build_answer_values(["Ann", "Not known", "Bob"], unknown=1, stereotype=2, correct=1)["anti_stereotype"]
    'Ann'
    """
    if isinstance(correct, bool) or not isinstance(correct, int) or correct not in range(3):
        raise RowError("wrong-answer", "label", f"must be 0, 1 or 2, not {correct!r}")
    (other,) = {0, 1, 2} - {unknown, stereotype}
    roles = {unknown: "unknown", stereotype: "stereotype", other: "anti-stereotype"}
    return {
        "stereotype": texts[stereotype],
        "anti_stereotype": texts[other],
        "unknown": texts[unknown],
        "correct": roles[correct],
    }


def find_stereotyped_answer(stereotyped: Sequence[bool], unknown: int, *, negative: bool) -> int:
    """Return the index of the stereotypical answer; `stereotyped` says which answers are about the stereotyped group.

    For a negative question, the stereotypical answer is the person of the stereotyped group. For a non-negative
    question, it is the other person. `unknown` is the index of the answer "unknown".

    >>> find_stereotyped_answer([True, False, False], unknown=2, negative=False)
    1
    """
    people = [index for index in range(3) if index != unknown]
    of_group = [index for index in people if stereotyped[index]]
    if len(of_group) != 1:
        count = "both people belong" if of_group else "neither person belongs"
        raise RowError("unclear-stereotype", "stereotyped_groups", f"{count} to a stereotyped group")
    return next(index for index in people if (index in of_group) == negative)


def find_unknown_answer(unknown: Sequence[bool]) -> int:
    """Return the index of the answer "unknown"; `unknown` says for each answer whether it means "unknown"."""
    if sum(unknown) != 1 or len(unknown) != 3:
        raise RowError("contradictory-roles", "", f'must have one answer "unknown" of three, not {sum(unknown)}')
    return list(unknown).index(True)


def parse_literal(text: object, field: str) -> object:
    """Return the value of a Python literal, such as a list of texts, without executing code."""
    try:
        return ast.literal_eval(text) if isinstance(text, str) else text
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise RowError("bad-csv", field, "must be a Python list or dictionary") from None


def parse_texts(value: object, field: str) -> list[str]:
    """Return a non-empty list of texts; raise an error for other values."""
    if not isinstance(value, list | tuple) or not value or not all(isinstance(text, str) for text in value):
        raise RowError("wrong-type", field, "must be a list of texts")
    return list(value)
