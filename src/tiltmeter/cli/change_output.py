"""`tiltmeter compare --before --after`: the comparison and its files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tiltmeter.cli.compare_output import report_figures, write_page
from tiltmeter.errors import UsageError
from tiltmeter.printable_text import create_plain_console, format_json

if TYPE_CHECKING:
    from tiltmeter.comparing.comparability import Across
    from tiltmeter.comparing.model_change import ModelChange


def reject_options(given: Mapping[str, Any], reason: str) -> None:
    """Raise an error for the first option that is given; `reason` says why it cannot be used, and what to do."""
    for name, value in given.items():
        if value or (value == 0 and value is not False):
            raise UsageError(f"--{name} {reason}.")


def assess_change(
    before: Sequence[Path],
    after: Sequence[Path],
    *,
    across: "Sequence[Across]",
    fixed: Sequence[str] | None,
    **aims: Any,
) -> "ModelChange":
    """Compare runs before and after a change; `aims` are the options for changes that are given."""
    from tiltmeter import api

    for name, runs, other in (("before", before, "after"), ("after", after, "before")):
        if not runs:
            raise UsageError(f"--{other} needs --{name}; add --{name} RUN.")
    margin = aims["quality-margin"]
    options = {} if margin is None else {"quality_margin": margin}
    return api.assess_change(
        before, after, targets=aims["target"] or (), tuned_on=aims["tuned-on"], across=across, fixed=fixed, **options
    )


def print_change_files(
    change: "ModelChange",
    as_json: bool,
    everything: bool,
    html: Path | None,
    figures: Path | None,
    latex: Path | None,
    items: int,
) -> None:
    """Print a comparison before and after a change, and write its files."""
    if as_json:
        typer.echo(format_json(change.to_dict()))
    else:
        from tiltmeter.reports.change_printout import print_change

        print_change(change, create_plain_console(), everything=everything)
    if html is not None or latex is not None or figures is not None:
        from tiltmeter.reports.change_page import build_change_figure, format_change_latex, render_change_page
        from tiltmeter.reports.figure_files import save_figures

        if html is not None:
            write_page(html, render_change_page(change, items=items or None))
        if latex is not None:
            write_page(latex, format_change_latex(change))
        if figures is not None:
            report_figures(save_figures([("change", build_change_figure(change))], figures), figures)
