"""Output shared by commands: results on standard output, notes on standard error."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rich.console import Console

from tiltmeter.errors import UsageError
from tiltmeter.printable_text import create_plain_console

if TYPE_CHECKING:
    from tiltmeter.runs.result import Result

Choice = TypeVar("Choice", bound=str)


def parse_choice(given: str | None, choices: Sequence[Choice], option: str) -> Choice | None:
    """The given value if it is one of the choices, None if there is none; otherwise an error that lists the choices."""
    for choice in choices:
        if choice == given:
            return choice
    if given is None:
        return None
    raise UsageError(f"{option} {given} is not known; choose {', '.join(choices)}.")


def parse_margins(given: Sequence[str] | None) -> dict[str, float]:
    """The margins of equivalence by measure, from values like SS=3."""
    margins = {}
    for text in given or ():
        name, _, number = text.partition("=")
        try:
            margins[name.strip()] = float(number)
        except ValueError:
            raise UsageError(f"--margin {text} is not MEASURE=NUMBER, as in SS=3.") from None
    return margins


def ignore_note(_sentence: str) -> None:
    """Print nothing."""


def print_note(sentence: str) -> None:
    """Print a sentence on standard error."""
    create_plain_console(stderr=True, soft_wrap=True, highlight=False).print(sentence, markup=False)


def parse_sizes(given: str | None) -> dict[str, str]:
    """Sizes by device, from a text like `0=10GiB,cpu=4GiB`; the model checks names and sizes.

    >>> parse_sizes("0=10GiB,cpu=4GiB")
    {'0': '10GiB', 'cpu': '4GiB'}
    """
    pairs = [text.partition("=") for text in (given or "").split(",") if text]
    return {device.strip(): size.strip() for device, _, size in pairs}


def print_result(
    result: "Result",
    out: Path | None = None,
    *,
    report: bool = False,
    view: str = "all",
    quiet: bool = False,
    as_json: bool = False,
) -> None:
    """Print the result table, what was left out and why, and the path of the run; with `report`, write the report.

    `as_json` prints all numbers as JSON instead of the table; `quiet` prints nothing.
    """
    if quiet:
        if out and report:
            _write_report(result, out)
        return
    if as_json:
        from tiltmeter.reports.record_tables import format_records_json as json_of

        print(json_of(result.records))
    else:
        _print_table(result, view)
    notes = create_plain_console(stderr=True, soft_wrap=True, highlight=False)
    _print_omissions(result, notes)
    if out:
        notes.print(f"Written to {out}", markup=False)
    if out and report:
        notes.print(f"Report: {_write_report(result, out)}", markup=False)


def _print_table(result: "Result", view: str) -> None:
    from tiltmeter.reports.result_table import print_measures
    from tiltmeter.runs.sample_notes import list_sample_notes

    console = create_plain_console()
    print_measures(result.records, console, view)
    for sample in list_sample_notes(result.manifest):
        console.print(sample, markup=False, highlight=False, soft_wrap=True)


def _print_omissions(result: "Result", notes: Console) -> None:
    for refusal in result.manifest["refused"]:
        location = f"{refusal['benchmark']}/{refusal['part']}:{refusal['language']}"
        notes.print(f"Not asked: {refusal['model']} on {location}. {refusal['reason']}", markup=False)
    for (model, location, reason), count in _counted(result.manifest["skipped"]).items():
        notes.print(f"Not scored: {count} items of {location} by {model}, because {reason}.", markup=False)
    for (model, location, reason), count in _counted(result.manifest.get("flagged", ())).items():
        notes.print(f"Flagged: {count} items of {location} by {model}, scored although {reason}.", markup=False)
    for note in result.manifest.get("notes", ()):
        notes.print(note, markup=False)


def _counted(entries: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str, str], int]:
    """The number of items by model, portion and reason."""
    reasons: dict[tuple[str, str, str], int] = {}
    for entry in entries:
        key = (entry["model"], f"{entry['benchmark']}/{entry['part']}:{entry['language']}", entry["reason"])
        reasons[key] = reasons.get(key, 0) + 1
    return reasons


def _write_report(result: "Result", folder: Path) -> Path:
    """Write the report on a saved run. Its tables are not read again: there may be very many items."""
    from tiltmeter.api import derive_run_names, report
    from tiltmeter.reports.report_files import REPORT

    (name,) = derive_run_names([folder])
    return report({name: result.with_saved_manifest(folder)}, folder / REPORT)
