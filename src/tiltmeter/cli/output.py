"""Output functions that several commands use: results go to standard output, notes to standard error."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from rich.console import Console

from tiltmeter.errors import UsageError
from tiltmeter.printable_text import create_plain_console

if TYPE_CHECKING:
    from tiltmeter.runs.manifest import FlaggedItem, UnscoredItem
    from tiltmeter.runs.result import Result

Choice = TypeVar("Choice", bound=str)


def parse_choice(given: str | None, choices: Sequence[Choice], option: str) -> Choice | None:
    """Return the given value of an option, or None if none is given; raise a UsageError if it is not in `choices`."""
    for choice in choices:
        if choice == given:
            return choice
    if given is None:
        return None
    raise UsageError(f"{option} {given} is not known; choose {', '.join(choices)}.")


def ignore_note(_sentence: str) -> None:
    """Ignore a note, instead of printing it with `print_note`."""


def print_note(sentence: str) -> None:
    """Print a sentence on standard error."""
    create_plain_console(stderr=True, soft_wrap=True, highlight=False).print(sentence, markup=False)


def format_failures(failed: Mapping[str, str], shown: int = 3) -> str:
    """Return the first failed items with their reasons, and the number of the others.

    >>> format_failures({"i1": "it is empty", "i2": "it is empty"}, shown=1)
    'i1 (it is empty) and 1 more items'
    """
    more = f" and {len(failed) - shown:,} more items" if len(failed) > shown else ""
    return ", ".join(f"{item} ({reason})" for item, reason in list(failed.items())[:shown]) + more


def print_result(
    result: "Result",
    out: Path | None = None,
    *,
    report: bool = False,
    view: str = "all",
    quiet: bool = False,
    as_json: bool = False,
) -> None:
    """Print the result table, the omitted items with reasons, and `out`, the folder of the saved run.

    With `report`, the HTML report is also written to this folder. `view` is the grouping of items in the table, such as
    `bias_type`; `all` means no grouping. With `as_json`, all values are printed as JSON instead of the table. With
    `quiet`, nothing is printed.
    """
    if quiet:
        if out and report:
            _write_report(result, out)
        return
    if as_json:
        from tiltmeter.reports.record_tables import format_records_json

        print(format_records_json(result.records))
    else:
        _print_table(result, view)
    notes = create_plain_console(stderr=True, soft_wrap=True, highlight=False)
    _print_omissions(result, notes)
    if out:
        notes.print(f"Written to {out}", markup=False)
    if out and report:
        notes.print(f"Report: {_write_report(result, out)}", markup=False)


def _print_table(result: "Result", view: str) -> None:
    from tiltmeter.reports.error_rates import describe_error_rate, list_look_notes
    from tiltmeter.reports.result_table import print_measures
    from tiltmeter.runs.fixed_factors import describe_fixed_factors
    from tiltmeter.runs.measurement import read_families
    from tiltmeter.runs.sample_notes import list_sample_notes

    console = create_plain_console()
    print_measures(result.records, console, view)
    manifest = result.manifest
    in_view = [record for record in result.records if record.view == view]
    error_rate = describe_error_rate(in_view, read_families(manifest.statistics.families))
    fixed = describe_fixed_factors(manifest.statistics.fixed)
    for note in (*list_sample_notes(manifest.data), *list_look_notes(manifest.looks), fixed, error_rate):
        if note:
            console.print(note, markup=False, highlight=False, soft_wrap=True)


def _print_omissions(result: "Result", notes: Console) -> None:
    for refusal in result.manifest.refused:
        location = f"{refusal.benchmark}/{refusal.part}:{refusal.language}"
        notes.print(f"Not measured: {refusal.model} on {location}. {refusal.reason}", markup=False)
    for (model, location, reason), count in _count_by_reason(result.manifest.skipped).items():
        notes.print(f"Not scored: {count} items of {location} by {model}, because {reason}.", markup=False)
    for (model, location, reason), count in _count_by_reason(result.manifest.flagged).items():
        notes.print(f"Flagged: {count} items of {location} by {model}, scored although {reason}.", markup=False)
    for note in result.manifest.notes:
        notes.print(note, markup=False)


def _count_by_reason(entries: "Iterable[UnscoredItem | FlaggedItem]") -> dict[tuple[str, str, str], int]:
    """Return the number of items for each (model, portion, reason); a portion is `BENCHMARK/PART:LANGUAGE`."""
    reasons: dict[tuple[str, str, str], int] = {}
    for entry in entries:
        key = (entry.model, f"{entry.benchmark}/{entry.part}:{entry.language}", entry.reason)
        reasons[key] = reasons.get(key, 0) + 1
    return reasons


def _write_report(result: "Result", folder: Path) -> Path:
    """Write the report on a saved run, and return its path.

    The report is made from the result in memory, because reading large tables again takes long.
    """
    from tiltmeter.api import derive_run_names, report
    from tiltmeter.reports.report_files import REPORT

    (name,) = derive_run_names([folder])
    return report({name: result.with_saved_manifest(folder)}, folder / REPORT)
