"""Raw records: the values of items as read from a file, before validation.

All readers return records with the structure that `Form.read` expects. Therefore the validation of a form works for all
file formats.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tiltmeter.forms import Fields, Item, Problem, detect_form, get_forms


@dataclass(frozen=True, slots=True)
class RawRecord:
    """The values of one row of a file.

    `row` is the location in the file, such as "line 3". `values` is None if the row could not be parsed; `problems`
    then has the reason. `names` maps fields to their names in the file if these differ, for example `{"more": "A_x"}`.
    """

    row: str
    values: Mapping[str, object] | None
    names: Mapping[str, str] = field(default_factory=dict)
    problems: Sequence[Problem] = ()


class BrokenFileError(Exception):
    """A whole file cannot be read; `problem` contains the code of the finding and the reason."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.problem = Problem(code, "", message)


def build_item(values: Mapping[str, object]) -> tuple[Item | None, list[Problem]]:
    """Build an item from values; return (item, no problems), or (None, problems) if the values are invalid.

    >>> build_item({"id": "1", "language": "en", "stereotype": 17, "sentence": "I repaired the radio."})[1][0].message
    '17 is not a stereotype of GEST (1 to 16), so a side is needed: feminine or masculine'
    """
    form = detect_form(values)
    if form is None:
        known = [f"{' and '.join(form.distinctive)} ({form.name})" for form in get_forms().values()]
        return None, [Problem("unknown-form", "", f"must have the fields {', or '.join(known)}")]
    fields = Fields(values)
    item: Item | None = form.read(fields)
    return (None if fields.problems else item), fields.problems
