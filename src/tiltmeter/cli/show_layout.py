"""The option `--layout` of `tiltmeter show`: print results in the layout of a paper."""

from collections.abc import Sequence
from pathlib import Path

from tiltmeter.cli.output import parse_choice
from tiltmeter.printable_text import create_plain_console


def print_layouts(
    folders: Sequence[Path],
    name: str,
    format: str,
    bold: str | None,
    attributes: Path | None,
    family: str | None,
    fixed: Sequence[str] | None,
) -> None:
    """Print the tables of the layout `name` with the numbers of runs; an empty `format` means the terminal."""
    from tiltmeter.api import load_named_runs
    from tiltmeter.comparing.attributes import find_run_attributes
    from tiltmeter.reports.layouts import BOLD_RULES, lay_out_runs, load_layout
    from tiltmeter.reports.layouts.layout_markup import MARKUP
    from tiltmeter.reports.layouts.layout_terminal import print_layout

    rule = parse_choice(bold, BOLD_RULES, "--bold") or "paper"
    layout = load_layout(name)
    runs = load_named_runs(folders)
    if family is not None or fixed is not None:
        runs = [(run, result.remeasure(family, fixed)) for run, result in runs]
    tables = lay_out_runs(runs, layout, find_run_attributes(folders, attributes), rule)
    if format:
        print(MARKUP[format](tables))
    else:
        print_layout(tables, create_plain_console())
