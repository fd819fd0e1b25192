"""Raw records: unvalidated items as read from a file.

Every reader converts its format to one shape, that of our JSONL with the candidates in a list, and `build_item` makes
items of it, so validation is implemented once for all formats, by the form of the item.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tiltmeter.forms import Fields, Item, Problem, detect_form, get_forms


@dataclass(frozen=True, slots=True)
class RawRecord:
    """The values of one row of a file.

    `values` is None if the row could not be parsed; `problems` then has the reason. `names` maps fields to their names
    in the file, where these differ: `{"more": "A_x"}`.
    """

    row: str
    values: Mapping[str, object] | None
    names: Mapping[str, str] = field(default_factory=dict)
    problems: Sequence[Problem] = ()


class BrokenFileError(Exception):
    """Raised by a reader if the whole file is unreadable."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.problem = Problem(code, "", message)


def build_item(values: Mapping[str, object]) -> tuple[Item | None, list[Problem]]:
    """The item and an empty list, or None and the problems.

    >>> build_item({"id": "1", "language": "en", "stereotype": 17, "sentence": "I repaired the radio."})[1][0].message
    "17 is not one of GEST's, from 1 to 16, and needs a side, feminine or masculine"
    """
    form = detect_form(values)
    if form is None:
        known = [f"{' and '.join(form.distinctive)} ({form.name})" for form in get_forms().values()]
        return None, [Problem("unknown-form", "", f"should have {', or '.join(known)}")]
    fields = Fields(values)
    item: Item | None = form.read(fields)
    return (None if fields.problems else item), fields.problems
