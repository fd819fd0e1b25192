"""Notes about the data of a run: omitted rows, and warnings that affect the interpretation of results."""

from collections.abc import Iterable

from tiltmeter.datasets.dataset_loader import allows_text_export
from tiltmeter.datasets.validation_findings import list_error_codes, list_warning_codes
from tiltmeter.runs.manifest import LeftOutRow
from tiltmeter.runs.portions import UNDIVIDED, Portion


def list_omitted_rows(portions: Iterable[Portion]) -> list[LeftOutRow]:
    """Return the entries of the manifest for rows of data files that contain no usable item."""
    return [
        LeftOutRow(
            benchmark=portion.name,
            file=finding.file.rpartition("/")[2],
            row=finding.row,
            item=finding.item,
            code=finding.code,
            # A message may quote the row, but a run must not store texts whose licence forbids it.
            reason=finding.message if allows_text_export(portion.name) else _get_meaning(finding.code),
        )
        for portion in portions
        for finding in portion.left_out
    ]


def describe_data_problems(available: Iterable[Portion], chosen: Iterable[Portion]) -> list[str]:
    """Return notes about omitted rows in all portions (`available`), and about warnings for the `chosen` items."""
    rows: dict[str, set[tuple[str, str]]] = {}
    notes = []
    for portion in available:
        for finding in portion.left_out:
            if finding.row:
                rows.setdefault(portion.name, set()).add((finding.file, finding.row))
            else:
                notes.append(f"A file of {portion.name} was skipped: {finding}.")
    notes += [
        f"Skipped {_format_count(len(found), 'row')} of {name} without a usable item; `tiltmeter data validate {name}` "
        "lists them."
        for name, found in rows.items()
    ]
    return notes + [
        f"{_format_location(portion)} has {_format_count(count, 'item')} with the warning {code} "
        f"({_get_meaning(code)}); `tiltmeter data validate {portion.name}` lists them."
        for portion in chosen
        for code, count in portion.count_warnings().items()
    ]


def _get_meaning(code: str) -> str:
    return list_error_codes().get(code) or list_warning_codes().get(code, "")


def _format_location(portion: Portion) -> str:
    part = "" if portion.part == UNDIVIDED else f"/{portion.part}"
    return f"{portion.name}{part}:{portion.language}"


def _format_count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
