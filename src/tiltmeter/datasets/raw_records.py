"""Records: items as a reader finds them, before anything about them is known to be right.

Every reader brings its format into the same shape, that of our JSONL with the candidates in a list, and `build` makes
items of it. So what makes an item unusable is decided once for all formats, by the form of the item.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tiltmeter.forms import Fields, Item, Problem, form_by_keys, forms


@dataclass(frozen=True, slots=True)
class RawRecord:
    """The values at one place of a file.

    `values` is None where there was nothing to make values of; `problems` then say why. `names` gives the file's own
    name for a field, where that is not ours: `{"more": "A_x"}`.
    """

    row: str
    values: Mapping[str, object] | None
    names: Mapping[str, str] = field(default_factory=dict)
    problems: Sequence[Problem] = ()


class BrokenFileError(Exception):
    """Raised by a reader that can make nothing of the file."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.problem = Problem(code, "", message)


def build(values: Mapping[str, object]) -> tuple[Item | None, list[Problem]]:
    """The item that the values make, or None if there is an error among the problems.

    >>> build({"id": "1", "language": "en", "stereotype": 17, "sentence": "I repaired the radio."})[1][0].message
    'the stereotype should be a number from 1 to 16, and is 17'
    """
    form = form_by_keys(values)
    if form is None:
        told = [f"{' and '.join(form.distinctive)} ({form.name})" for form in forms().values()]
        return None, [Problem("unknown-form", "", f"should have {', or '.join(told)}")]
    fields = Fields(values)
    item: Item | None = form.read(fields)
    return (None if fields.problems else item), fields.problems
