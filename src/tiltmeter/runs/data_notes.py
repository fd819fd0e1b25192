"""Notes of a run on its data: rows of released files that were left out, warnings that change a number's meaning."""

from collections.abc import Iterable
from typing import Any

from tiltmeter.datasets.dataset_loader import allows_text_export
from tiltmeter.datasets.findings import list_error_codes, list_warning_codes
from tiltmeter.runs.portions import UNDIVIDED, Portion


def list_omitted_rows(portions: Iterable[Portion]) -> list[dict[str, Any]]:
    """The manifest's entries of rows without a usable item."""
    return [
        {
            "benchmark": portion.name,
            "file": finding.file.rpartition("/")[2],
            "row": finding.row,
            "item": finding.item,
            "code": finding.code,
            # A message may quote the row, whose texts are not written to files without a licence.
            "reason": finding.message if allows_text_export(portion.name) else _get_meaning(finding.code),
        }
        for portion in portions
        for finding in portion.left_out
    ]


def describe_data_problems(available: Iterable[Portion], chosen: Iterable[Portion]) -> list[str]:
    """Sentences on rows that were left out, and on warnings about the items that were asked."""
    rows: dict[str, set[tuple[str, str]]] = {}
    notes = []
    for portion in available:
        for finding in portion.left_out:
            if finding.row:
                rows.setdefault(portion.name, set()).add((finding.file, finding.row))
            else:
                notes.append(f"A file of {portion.name} was left out: {finding}.")
    notes += [
        f"{_format_rows(len(found))} of {name} without a usable item {_inflect_were(len(found))} left out; "
        f"`tiltmeter data validate "
        f"{name}` lists them."
        for name, found in rows.items()
    ]
    return notes + [
        f"{_format_items(count)} of {_format_location(portion)} {_inflect_have(count)} the warning {code} "
        f"({_get_meaning(code)}); "
        f"`tiltmeter data validate {portion.name}` lists them."
        for portion in chosen
        for code, count in portion.count_warnings().items()
    ]


def _get_meaning(code: str) -> str:
    return list_error_codes().get(code) or list_warning_codes().get(code, "")


def _format_location(portion: Portion) -> str:
    part = "" if portion.part == UNDIVIDED else f"/{portion.part}"
    return f"{portion.name}{part}:{portion.language}"


def _format_rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


def _format_items(count: int) -> str:
    return f"{count:,} item{'' if count == 1 else 's'}"


def _inflect_were(count: int) -> str:
    return "was" if count == 1 else "were"


def _inflect_have(count: int) -> str:
    return "has" if count == 1 else "have"
