"""Print the results of `tiltmeter compare`, and write them to files."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tiltmeter.printable_text import create_plain_console, format_json

if TYPE_CHECKING:
    from tiltmeter.comparing.group_difference import GroupComparison
    from tiltmeter.comparing.language_comparison import LanguageComparison
    from tiltmeter.comparing.model_change import ModelChange
    from tiltmeter.comparing.paired_difference import Comparison
    from tiltmeter.comparing.reference_position import ReferenceComparison
    from tiltmeter.comparing.size_slopes import SizeComparison


def show_pairs(comparison: "Comparison", as_json: bool, html: Path | None, items: int, everything: bool) -> None:
    """Print paired differences, and write the page."""
    from tiltmeter.reports.comparison import print_comparison

    if as_json:
        differences = [difference.to_dict() for difference in comparison.differences]
        typer.echo(format_json({"differences": differences, "notes": comparison.notes}))
    else:
        print_comparison(comparison, create_plain_console(), everything=everything)
    if html is not None:
        from tiltmeter.reports.comparison_page import render_comparison_page

        _write_page(html, render_comparison_page(comparison, items=items or None, everything=everything))


def show_groups(comparison: "GroupComparison", as_json: bool, html: Path | None) -> None:
    """Print differences of groups, and write the page."""
    from tiltmeter.reports.group_comparison import print_groups

    if as_json:
        differences = [difference.to_dict() for difference in comparison.differences]
        typer.echo(format_json({"differences": differences, "notes": comparison.notes}))
    else:
        print_groups(comparison, create_plain_console())
    if html is not None:
        from tiltmeter.reports.contrast_page import render_group_page

        _write_page(html, render_group_page(comparison))


def show_sizes(comparison: "SizeComparison", as_json: bool, html: Path | None, figures: Path | None) -> None:
    """Print the slopes by model size, and write the page and the figures."""
    from tiltmeter.reports.size_trends import print_sizes

    if as_json:
        slopes = [slope.to_dict() for slope in comparison.slopes]
        typer.echo(format_json({"slopes": slopes, "notes": comparison.notes}))
    else:
        print_sizes(comparison, create_plain_console())
    if html is not None:
        from tiltmeter.reports.contrast_page import render_size_page

        _write_page(html, render_size_page(comparison))
    if figures is not None:
        from tiltmeter.reports.contrast_page import build_size_figures
        from tiltmeter.reports.figure_files import save_figures

        _report_figures(save_figures(build_size_figures(comparison), figures), figures)


def show_languages(
    comparison: "LanguageComparison",
    as_json: bool,
    everything: bool,
    html: Path | None,
    figures: Path | None,
    latex: Path | None,
) -> None:
    """Print a comparison of languages, and write the page, the figures and the LaTeX tables."""
    from tiltmeter.reports.figure_files import save_figures
    from tiltmeter.reports.language_latex import format_language_latex
    from tiltmeter.reports.language_page import build_language_figures, render_language_page
    from tiltmeter.reports.language_printout import print_languages

    if as_json:
        typer.echo(format_json(comparison.to_dict()))
    else:
        print_languages(comparison, create_plain_console(), everything=everything)
    if html is not None:
        _write_page(html, render_language_page(comparison))
    if latex is not None:
        _write_page(latex, format_language_latex(comparison))
    if figures is not None:
        _report_figures(save_figures(build_language_figures(comparison), figures), figures)


def show_references(
    comparison: "ReferenceComparison",
    as_json: bool,
    everything: bool,
    html: Path | None,
    figures: Path | None,
    latex: Path | None,
) -> None:
    """Print a comparison with reference results, and write the page, the figures and the LaTeX tables."""
    from tiltmeter.reports.figure_files import save_figures
    from tiltmeter.reports.reference_page import (
        build_reference_figures,
        format_reference_latex,
        render_reference_page,
    )
    from tiltmeter.reports.reference_printout import print_references

    if as_json:
        typer.echo(format_json(comparison.to_dict()))
    else:
        print_references(comparison, create_plain_console(), everything=everything)
    if html is not None:
        _write_page(html, render_reference_page(comparison))
    if latex is not None:
        _write_page(latex, format_reference_latex(comparison))
    if figures is not None:
        _report_figures(save_figures(build_reference_figures(comparison), figures), figures)


def show_change(
    change: "ModelChange",
    as_json: bool,
    everything: bool,
    html: Path | None,
    figures: Path | None,
    latex: Path | None,
    items: int,
) -> None:
    """Print a comparison before and after a change, and write the page, the figure and the LaTeX table."""
    from tiltmeter.reports.change_printout import print_change

    if as_json:
        typer.echo(format_json(change.to_dict()))
    else:
        print_change(change, create_plain_console(), everything=everything)
    if html is None and latex is None and figures is None:
        return
    # Imported here, because packages for figures take a second to load.
    from tiltmeter.reports.change_page import build_change_figure, format_change_latex, render_change_page
    from tiltmeter.reports.figure_files import save_figures

    if html is not None:
        _write_page(html, render_change_page(change, items=items or None))
    if latex is not None:
        _write_page(latex, format_change_latex(change))
    if figures is not None:
        _report_figures(save_figures([("change", build_change_figure(change))], figures), figures)


def _write_page(path: Path, text: str) -> None:
    """Write a file, and print its path to standard error."""
    from tiltmeter.files import write_text

    write_text(path, text)
    typer.echo(f"Written to {path}", err=True)


def _report_figures(written: Sequence[Path], folder: Path) -> None:
    """Print the number of figure files and their folder to standard error."""
    typer.echo(f"{len(written)} figure files written to {folder}", err=True)
