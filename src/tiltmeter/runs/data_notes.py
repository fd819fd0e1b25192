"""Notes of a run on its data: rows of released files that were left out, warnings that change a number's meaning."""

from collections.abc import Iterable

from tiltmeter.datasets.by_name import keeps_texts
from tiltmeter.datasets.findings import errors, warnings
from tiltmeter.runs.manifest import LeftOutRow
from tiltmeter.runs.portions import UNDIVIDED, Portion


def left_out_rows(portions: Iterable[Portion]) -> list[LeftOutRow]:
    """The manifest's entries of rows without a usable item."""
    return [
        LeftOutRow(
            benchmark=portion.name,
            file=finding.file.rpartition("/")[2],
            row=finding.row,
            item=finding.item,
            code=finding.code,
            # A message may quote the row, whose texts are not written to files without a licence.
            reason=finding.message if keeps_texts(portion.name) else _meaning(finding.code),
        )
        for portion in portions
        for finding in portion.left_out
    ]


def data_notes(available: Iterable[Portion], chosen: Iterable[Portion]) -> list[str]:
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
        f"{_rows(len(found))} of {name} without a usable item {_were(len(found))} left out; `tiltmeter data validate "
        f"{name}` lists them."
        for name, found in rows.items()
    ]
    return notes + [
        f"{_items(count)} of {_location(portion)} {_have(count)} the warning {code} ({_meaning(code)}); "
        f"`tiltmeter data validate {portion.name}` lists them."
        for portion in chosen
        for code, count in portion.warning_counts().items()
    ]


def _meaning(code: str) -> str:
    return errors().get(code) or warnings().get(code, "")


def _location(portion: Portion) -> str:
    part = "" if portion.part == UNDIVIDED else f"/{portion.part}"
    return f"{portion.name}{part}:{portion.language}"


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


def _items(count: int) -> str:
    return f"{count:,} item{'' if count == 1 else 's'}"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"
