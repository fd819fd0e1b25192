"""`tiltmeter compare`: compare runs item by item."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tiltmeter.cli.output import parse_choice
from tiltmeter.errors import UsageError
from tiltmeter.printable_text import create_plain_console, format_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tiltmeter.comparing.group_difference import GroupComparison
    from tiltmeter.comparing.language_comparison import LanguageComparison
    from tiltmeter.comparing.paired_difference import Comparison
    from tiltmeter.comparing.reference_position import ReferenceComparison
    from tiltmeter.comparing.size_slopes import SizeComparison

_DEFAULT_ITEMS = 200


def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN", help="Folders of runs, or folders that contain runs, such as the folder of a matrix."
        ),
    ],
    by: Annotated[
        str | None,
        typer.Option(help="Compare by `model`, by `language`, or `any` (different models in different languages)."),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Compare all models (or languages, or runs) with the one that has this name, but not with each other.",
        ),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(help="Compare only this measure, such as `SS` or `CPS`; repeat the option for more."),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            metavar="ATTRIBUTE",
            help="Compare groups of models or languages that differ in an attribute, such as `instruct` or "
            "`script=Latin,Cyrillic`.",
        ),
    ] = None,
    size: Annotated[
        bool, typer.Option("--size", help="Estimate how each measure changes with model size within a model family.")
    ] = False,
    languages: Annotated[
        bool,
        typer.Option(
            "--languages",
            help="Compare languages over all models, for these models and for models like these; --group selects an "
            "attribute of models or languages.",
        ),
    ] = False,
    over: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="With --languages: repeat the analysis for each of the `protocols` of the runs."
        ),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            "--with",
            metavar="SOURCE",
            help="Show each run among reference results: `published` (see `tiltmeter reference`), a reference file, or "
            "a folder with reference files or runs.",
        ),
    ] = None,
    attributes: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A TOML file with attributes of models; the default is the `plan.toml` in a run's folder or up to "
            "three folders above it.",
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Use only items with this attribute, such as `bias_type=gender`; repeat the option for more.",
        ),
    ] = None,
    across: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Also compare models that differ in `kinds`, `protocols`, `editions` (versions of a data set) or "
            "`tokenizers`; a warning is shown.",
        ),
    ] = None,
    family: Annotated[
        str,
        typer.Option(
            help="Which tests are corrected together for multiple testing: the tests of each part and language "
            "(`portion`), or all tests (`run`)."
        ),
    ] = "portion",
    fixed: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FACTOR", help="Do not generalise over this factor, such as `words` or `targets`; repeat for more."
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write an HTML page with the comparison and the items with the largest differences."
        ),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            "--figures",
            help="With --size, --languages or --with: save the figures to this folder as SVG, PNG and PDF files.",
        ),
    ] = None,
    latex: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --languages or --with: write the numbers as LaTeX tables."),
    ] = None,
    items: Annotated[
        int, typer.Option(min=0, help="The number of items on the page of --html; 0 for all.")
    ] = _DEFAULT_ITEMS,
    everything: Annotated[
        bool,
        typer.Option(
            "--all",
            help="For more than four models or languages: print the comparison of every pair after the summary. With "
            "--languages or --with: print all tables.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the differences as JSON.")] = False,
) -> None:
    """Compare models on the same items, and languages on translations of the same items.

    Differences are computed item by item, with 95% intervals. Holm's correction for multiple tests includes all pairs
    that are compared by one measure in one part and language, or the whole comparison with `--family run`. Items that
    only one of two models or languages has are counted and left out. Models are compared only if their kind, protocol
    and data are the same, unless `--across` is given. For more than four models or languages, a summary of the
    significant differences is printed; `--all` also prints the comparison of every pair.

    **Examples**

    `tiltmeter compare runs/bert runs/roberta`

    `tiltmeter compare runs/bert runs/gpt2 --across kinds`

    `tiltmeter compare runs/bert runs/roberta runs/new runs/old runs/multilingual --all`

    `tiltmeter compare runs/multilingual --by language --baseline en`

    `tiltmeter compare runs/bert runs/roberta --where bias_type=gender --html compared.html`

    `tiltmeter compare runs/bert runs/roberta runs/multilingual --group multilingual --attributes models.toml`

    `tiltmeter compare runs/matrix`: all runs in a folder

    `tiltmeter compare runs/multilingual --by language --group "grammatical gender"`

    `tiltmeter compare runs/bert runs/roberta runs/multilingual --languages --html languages.html`

    `tiltmeter compare runs/bert runs/multilingual --size --attributes models.toml --figures figures`

    `tiltmeter compare runs/bert --with published`: where the model stands among published results
    """

    from tiltmeter import api
    from tiltmeter.comparing.comparability import ACROSS
    from tiltmeter.comparing.comparison import BY
    from tiltmeter.files import reject_unwritable_file, reject_unwritable_folder

    if figures is not None and not (size or languages or reference):
        raise UsageError(
            "--figures needs --size, --languages or --with; add one of them, or use `tiltmeter report` for figures of "
            "single runs."
        )
    if latex is not None and not (languages or reference):
        raise UsageError(
            "--latex needs --languages or --with; add one of them, or use `tiltmeter show RUN… --latex` for several "
            "runs."
        )
    for path in filter(None, (html, latex)):
        reject_unwritable_file(path)
    if figures is not None:
        reject_unwritable_folder(figures)
    chosen_by = parse_choice(by, BY, "--by")
    options: Any = {
        "baseline": baseline,
        "measures": measure or (),
        "where": _parse_filters(where or []),
        "across": [name for text in across or [] if (name := parse_choice(text, ACROSS, "--across"))],
        "attributes": attributes,
        "family": family,
        "fixed": fixed,
        "over": parse_choice(over, api.OVER, "--over"),
    }
    if (group is not None or size or languages or reference) and items != _DEFAULT_ITEMS:
        raise UsageError("--items cannot be combined with --group, --size, --languages or --with; leave --items out.")
    if (group is not None or size) and everything and not languages:
        raise UsageError("--all cannot be combined with --group or --size; leave --all out.")
    if group is not None and size:
        raise UsageError("--size cannot be combined with --group; leave out one of them.")
    if reference is not None:
        found = api.compare(
            runs, by=chosen_by, group=group, size=size, languages=languages, reference=reference, **options
        )
        _print_references(found, as_json, everything)
        _write_references(found, html, figures, latex)
    elif languages:
        comparison = api.compare(runs, by=chosen_by, group=group, size=size, languages=True, **options)
        _print_languages(comparison, as_json, everything)
        _write_languages(comparison, html, figures, latex)
    elif group is not None:
        _print_groups(api.compare(runs, by=chosen_by, group=group, **options), as_json, html)
    elif size:
        _print_sizes(api.compare(runs, by=chosen_by, size=True, **options), as_json, html, figures)
    else:
        _print_pairs(api.compare(runs, by=chosen_by, **options), as_json, html, items, everything)


def _print_pairs(comparison: "Comparison", as_json: bool, html: Path | None, items: int, everything: bool) -> None:
    from tiltmeter.reports.comparison import print_comparison

    if as_json:
        differences = [difference.to_dict() for difference in comparison.differences]
        typer.echo(format_json({"differences": differences, "notes": comparison.notes}))
    else:
        print_comparison(comparison, create_plain_console(), everything=everything)
    if html is not None:
        from tiltmeter.reports.comparison_page import render_comparison_page

        _write_text(html, render_comparison_page(comparison, items=items or None, everything=everything))


def _print_groups(comparison: "GroupComparison", as_json: bool, html: Path | None) -> None:
    from tiltmeter.reports.group_comparison import print_groups

    if as_json:
        differences = [difference.to_dict() for difference in comparison.differences]
        typer.echo(format_json({"differences": differences, "notes": comparison.notes}))
    else:
        print_groups(comparison, create_plain_console())
    if html is not None:
        from tiltmeter.reports.contrast_page import render_group_page

        _write_text(html, render_group_page(comparison))


def _print_sizes(comparison: "SizeComparison", as_json: bool, html: Path | None, figures: Path | None) -> None:
    from tiltmeter.reports.size_trends import print_sizes

    if as_json:
        slopes = [slope.to_dict() for slope in comparison.slopes]
        typer.echo(format_json({"slopes": slopes, "notes": comparison.notes}))
    else:
        print_sizes(comparison, create_plain_console())
    if html is not None:
        from tiltmeter.reports.contrast_page import render_size_page

        _write_text(html, render_size_page(comparison))
    if figures is not None:
        from tiltmeter.reports.contrast_page import build_size_figures
        from tiltmeter.reports.figure_files import save_figures

        _report_figures(save_figures(build_size_figures(comparison), figures), figures)


def _print_languages(comparison: "LanguageComparison", as_json: bool, everything: bool) -> None:
    from tiltmeter.reports.language_printout import print_languages

    if as_json:
        typer.echo(format_json(comparison.to_dict()))
    else:
        print_languages(comparison, create_plain_console(), everything=everything)


def _write_languages(
    comparison: "LanguageComparison", html: Path | None, figures: Path | None, latex: Path | None
) -> None:
    from tiltmeter.reports.figure_files import save_figures
    from tiltmeter.reports.language_latex import format_language_latex
    from tiltmeter.reports.language_page import build_language_figures, render_language_page

    if html is not None:
        _write_text(html, render_language_page(comparison))
    if latex is not None:
        _write_text(latex, format_language_latex(comparison))
    if figures is not None:
        _report_figures(save_figures(build_language_figures(comparison), figures), figures)


def _print_references(comparison: "ReferenceComparison", as_json: bool, everything: bool) -> None:
    from tiltmeter.reports.reference_printout import print_references

    if as_json:
        typer.echo(format_json(comparison.to_dict()))
    else:
        print_references(comparison, create_plain_console(), everything=everything)


def _write_references(
    comparison: "ReferenceComparison", html: Path | None, figures: Path | None, latex: Path | None
) -> None:
    from tiltmeter.reports.figure_files import save_figures
    from tiltmeter.reports.reference_page import (
        build_reference_figures,
        format_reference_latex,
        render_reference_page,
    )

    if html is not None:
        _write_text(html, render_reference_page(comparison))
    if latex is not None:
        _write_text(latex, format_reference_latex(comparison))
    if figures is not None:
        _report_figures(save_figures(build_reference_figures(comparison), figures), figures)


def _write_text(path: Path, text: str) -> None:
    from tiltmeter.files import write_text

    write_text(path, text)
    typer.echo(f"Written to {path}", err=True)


def _report_figures(written: "Sequence[Path]", folder: Path) -> None:
    typer.echo(f"{len(written)} figure files written to {folder}", err=True)


def _parse_filters(texts: list[str]) -> dict[str, str]:
    filters = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise UsageError(f"--where {text} is not NAME=VALUE, as in --where bias_type=gender.")
        filters[name.strip()] = value.strip()
    return filters
