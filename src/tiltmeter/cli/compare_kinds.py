"""The kinds of comparison of `tiltmeter compare`: which options each kind has, and what it prints and writes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tiltmeter.errors import UsageError
from tiltmeter.printable_text import create_plain_console, format_json

if TYPE_CHECKING:
    from rich.console import Console

    from tiltmeter.reports.figures import Figure

# The values of the options of a comparison, by name. Options that are not given have the value None, False or empty.
Given = Mapping[str, Any]
# The number of items on a page, if --items is not given.
DEFAULT_ITEMS = 200

# The kinds of comparison that an option selects, in order of precedence, with the options that each has in addition to
# those of all kinds.
_OF_ALL = ("across", "fixed", "html", "json")
_OF_CHANGES = ("before", "after", "target", "quality-margin", "tuned-on", "figures", "latex", "items", "all")
_KINDS = {
    "before": _OF_CHANGES,
    "after": _OF_CHANGES,
    "with": ("measure", "where", "family", "figures", "latex", "all"),
    "languages": ("measure", "where", "group", "over", "attributes", "family", "figures", "latex", "all"),
    "size": ("measure", "where", "attributes", "family", "figures"),
    "group": ("by", "measure", "where", "attributes", "family"),
}
_OF_PAIRS = ("by", "baseline", "measure", "where", "family", "items", "all")


@dataclass(frozen=True, slots=True)
class ComparisonOutput:
    """The output of a comparison: its JSON, a function that prints it, and functions that make its files."""

    to_json: Callable[[], Any]
    print_text: Callable[["Console"], None]
    render_page: Callable[[], str]
    format_latex: Callable[[], str] | None = None
    build_figures: Callable[[], "Sequence[tuple[str, Figure]]"] | None = None

    def show(self, given: Given) -> None:
        """Print the comparison, and write the files that the options name."""
        if given["json"]:
            typer.echo(format_json(self.to_json()))
        else:
            self.print_text(create_plain_console())
        if given["html"] is not None:
            _write_file(given["html"], self.render_page())
        if given["latex"] is not None and self.format_latex is not None:
            _write_file(given["latex"], self.format_latex())
        if given["figures"] is not None and self.build_figures is not None:
            from tiltmeter.reports.figure_files import save_figures

            written = save_figures(self.build_figures(), given["figures"])
            typer.echo(f"{len(written)} figure files written to {given['figures']}", err=True)


def find_kind(given: Given) -> str:
    """Return the kind of comparison that the options select; an empty text means pairs of models or languages."""
    return next((kind for kind in _KINDS if given[kind]), "")


def reject_other_options(given: Given, kind: str) -> None:
    """Raise an error for the first option that this kind of comparison does not have."""
    allowed = {kind, *_OF_ALL, *(_KINDS[kind] if kind else _OF_PAIRS)}
    for name, value in given.items():
        if name in allowed or value is None or value is False or value in ([], {}):
            continue
        if kind:
            raise UsageError(f"--{name} cannot be combined with --{kind}; leave it out.")
        kinds = [f"--{other}" for other, options in _KINDS.items() if name in options and other != "after"]
        raise UsageError(
            f"--{name} needs {' or '.join(filter(None, (', '.join(kinds[:-1]), kinds[-1])))}; add "
            f"{'one of them' if len(kinds) > 1 else 'it'}, or leave --{name} out."
        )


def compare_and_show(runs: Sequence[Path], kind: str, given: Given) -> None:
    """Compare runs, print the result, and write the files that the options name."""
    if kind in ("before", "after"):
        if runs:
            raise UsageError(f"{runs[0]} is given without --before or --after; write one of the two before it.")
        _assess_change(given).show(given)
        return
    if not runs:
        raise UsageError("No runs are given; name the runs to compare, or use --before RUN and --after RUN.")
    names = {"measure": "measures", "where": "where", "across": "across", "fixed": "fixed"}
    options = {parameter: given[name] for name, parameter in names.items() if given[name]}
    options["family"] = given["family"] or "portion"
    compare = {"with": _compare_with_references, "languages": _compare_languages, "size": _compare_sizes}
    compare |= {"group": _compare_groups, "": _compare_pairs}
    compare[kind](runs, given, options).show(given)


def _compare_pairs(runs: Sequence[Path], given: Given, options: dict[str, Any]) -> ComparisonOutput:
    from tiltmeter import api
    from tiltmeter.reports.comparison import print_comparison
    from tiltmeter.reports.comparison_page import render_comparison_page

    found = api.compare(runs, by=given["by"], baseline=given["baseline"], **options)
    everything, items = given["all"], _count_items(given)
    return ComparisonOutput(
        lambda: {"differences": [difference.to_dict() for difference in found.differences], "notes": found.notes},
        lambda console: print_comparison(found, console, everything=everything),
        lambda: render_comparison_page(found, items=items, everything=everything),
    )


def _compare_groups(runs: Sequence[Path], given: Given, options: dict[str, Any]) -> ComparisonOutput:
    from tiltmeter import api
    from tiltmeter.reports.contrast_page import render_group_page
    from tiltmeter.reports.group_comparison import print_groups

    found = api.compare_groups(runs, given["group"], by=given["by"], attributes=given["attributes"], **options)
    return ComparisonOutput(
        lambda: {"differences": [difference.to_dict() for difference in found.differences], "notes": found.notes},
        lambda console: print_groups(found, console),
        lambda: render_group_page(found),
    )


def _compare_sizes(runs: Sequence[Path], given: Given, options: dict[str, Any]) -> ComparisonOutput:
    from tiltmeter import api
    from tiltmeter.reports.contrast_page import build_size_figures, render_size_page
    from tiltmeter.reports.size_trends import print_sizes

    found = api.compare_sizes(runs, attributes=given["attributes"], **options)
    return ComparisonOutput(
        lambda: {"slopes": [slope.to_dict() for slope in found.slopes], "notes": found.notes},
        lambda console: print_sizes(found, console),
        lambda: render_size_page(found),
        build_figures=lambda: build_size_figures(found),
    )


def _compare_languages(runs: Sequence[Path], given: Given, options: dict[str, Any]) -> ComparisonOutput:
    from tiltmeter import api
    from tiltmeter.reports.language_latex import format_language_latex
    from tiltmeter.reports.language_page import build_language_figures, render_language_page
    from tiltmeter.reports.language_printout import print_languages

    attributes = {name: given[name] for name in ("group", "over", "attributes")}
    found = api.compare_languages(runs, **attributes, **options)
    return ComparisonOutput(
        found.to_dict,
        lambda console: print_languages(found, console, everything=given["all"]),
        lambda: render_language_page(found),
        lambda: format_language_latex(found),
        lambda: build_language_figures(found),
    )


def _compare_with_references(runs: Sequence[Path], given: Given, options: dict[str, Any]) -> ComparisonOutput:
    from tiltmeter import api
    from tiltmeter.reports.reference_page import (
        build_reference_figures,
        format_reference_latex,
        render_reference_page,
    )
    from tiltmeter.reports.reference_printout import print_references

    found = api.compare_with_references(runs, given["with"], **options)
    return ComparisonOutput(
        found.to_dict,
        lambda console: print_references(found, console, everything=given["all"]),
        lambda: render_reference_page(found),
        lambda: format_reference_latex(found),
        lambda: build_reference_figures(found),
    )


def _assess_change(given: Given) -> ComparisonOutput:
    from tiltmeter import api
    from tiltmeter.reports.change_page import build_change_figure, format_change_latex, render_change_page
    from tiltmeter.reports.change_printout import print_change

    for name, other in (("before", "after"), ("after", "before")):
        if not given[name]:
            raise UsageError(f"--{other} needs --{name}; add --{name} RUN.")
    margin = {} if given["quality-margin"] is None else {"quality_margin": given["quality-margin"]}
    change = api.assess_change(
        given["before"],
        given["after"],
        targets=given["target"] or (),
        tuned_on=given["tuned-on"],
        across=given["across"],
        fixed=given["fixed"],
        **margin,
    )
    return ComparisonOutput(
        change.to_dict,
        lambda console: print_change(change, console, everything=given["all"]),
        lambda: render_change_page(change, items=_count_items(given)),
        lambda: format_change_latex(change),
        lambda: [("change", build_change_figure(change))],
    )


def _count_items(given: Given) -> int | None:
    """Return the number of items on the page; None for all."""
    return DEFAULT_ITEMS if given["items"] is None else given["items"] or None


def _write_file(path: Path, text: str) -> None:
    from tiltmeter.files import write_text

    write_text(path, text)
    typer.echo(f"Written to {path}", err=True)
