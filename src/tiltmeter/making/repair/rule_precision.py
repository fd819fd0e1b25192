"""The precision of repair rules: how many of their changes were right when a sample of the changes was read.

A rule changes texts without asking only if its precision for the language is high enough. The samples that were read
for Tiltmeter are in `precision/xx.toml`; a project may record its own in `precision.toml`.
"""

import json
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from tiltmeter.errors import DataError
from tiltmeter.language_codes import get_base_code

# The file in the folder of a project with the precision that the project measured itself.
PROJECT_FILE = "precision.toml"
# The least share of right changes of a rule that changes texts without asking, and the least number of read changes.
LEAST_PRECISION = 0.98
LEAST_READ = 20


@dataclass(frozen=True, slots=True)
class RulePrecision:
    """The number of changes of a repair rule that were read one by one (`read`), and how many of them were `right`.

    `date` is the day of the reading, `texts` describes the translated texts, with their version, and `reader` says who
    read the changes.
    """

    rule: str
    read: int
    right: int
    date: str = ""
    texts: str = ""
    reader: str = ""

    @property
    def is_proven(self) -> bool:
        """Whether the rule is precise enough to change texts without asking.

        >>> RulePrecision("spaces", 100, 98).is_proven, RulePrecision("spaces", 100, 97).is_proven
        (True, False)
        >>> RulePrecision("spaces", 5, 5).is_proven
        False
        """
        return self.read >= LEAST_READ and self.right >= LEAST_PRECISION * self.read

    def __str__(self) -> str:
        return f"{self.right} of {self.read} right"


def load_precision(language: str) -> Mapping[str, RulePrecision]:
    """Return the packaged precision of the repair rules of a language, ignoring its region; empty if nothing was read.

    >>> load_precision("xx")
    {}
    """
    return _load_packaged(get_base_code(language))


@cache
def _load_packaged(language: str) -> Mapping[str, RulePrecision]:
    path = files("tiltmeter.making.repair") / "precision" / f"{language}.toml"
    return parse_precision(path.read_text(encoding="utf-8"), path.name) if path.is_file() else {}


def read_project_precision(folder: Path, language: str) -> Mapping[str, RulePrecision]:
    """Return the precision of repair rules for a project: its own data, and packaged data for the other rules."""
    path = folder / PROJECT_FILE
    own = parse_precision(path.read_text(encoding="utf-8"), str(path)) if path.is_file() else {}
    return {**load_precision(language), **own}


def parse_precision(text: str, name: str) -> dict[str, RulePrecision]:
    """Parse precision data in TOML; `name` is the name of the file in error messages."""
    try:
        entries = [_parse_entry(entry) for entry in tomllib.loads(text).get("rule", ())]
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise DataError(f"{name} has invalid precision data ({error}); see docs/how-to/repair.md.") from error
    return {entry.rule: entry for entry in entries}


def _parse_entry(entry: Mapping[str, object]) -> RulePrecision:
    read, right = entry["read"], entry["right"]
    if not isinstance(read, int) or not isinstance(right, int) or not 0 <= right <= read:
        raise ValueError(f"`right` of the rule {entry['name']!r} should be a number from 0 to `read`")
    described = {key: str(entry.get(key, "")) for key in ("date", "texts", "reader")}
    return RulePrecision(str(entry["name"]), read, right, **described)


def format_precision(entries: Iterable[RulePrecision]) -> str:
    """Format precision data as TOML, as `parse_precision` reads it.

    >>> print(format_precision([RulePrecision("spaces", 20, 20, "2026-11-19", "StereoSet, our own translation")]))
    [[rule]]
    name = "spaces"
    read = 20
    right = 20
    date = "2026-11-19"
    texts = "StereoSet, our own translation"
    reader = ""
    <BLANKLINE>
    """
    return "\n".join(
        "".join(
            f"{line}\n"
            for line in (
                "[[rule]]",
                f"name = {_format_text(entry.rule)}",
                f"read = {entry.read}",
                f"right = {entry.right}",
                f"date = {_format_text(entry.date)}",
                f"texts = {_format_text(entry.texts)}",
                f"reader = {_format_text(entry.reader)}",
            )
        )
        for entry in entries
    )


def _format_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


# For measurements: precision data by which all rules change texts.
ALL_PROVEN: Mapping[str, RulePrecision] = defaultdict(lambda: RulePrecision("", LEAST_READ, LEAST_READ))
