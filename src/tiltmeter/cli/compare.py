"""`tiltmeter compare`: compare runs item by item."""

from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.cli.output import choice_of
from tiltmeter.errors import UsageError
from tiltmeter.printable import json_text, plain_console


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="The folders of one run or more.")],
    by: Annotated[
        str | None,
        typer.Option(help="`model`, `language`, or `any` (different models in different languages)."),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(metavar="NAME", help="A model, language or run with which all others are compared.")
    ] = None,
    measure: Annotated[list[str] | None, typer.Option(help="Compare this measure only: `SS`, `CPS`, `S_JSD` …")] = None,
    where: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Use only these items: `bias_type=gender`.")
    ] = None,
    across: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHAT",
            help="Compare runs that differ in `kinds`, `protocols`, `editions` or `tokenizers`, with a warning.",
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write an HTML page with the items on which they disagree.")
    ] = None,
    items: Annotated[int, typer.Option(min=0, help="The number of those items on the page; 0 for all.")] = 200,
    everything: Annotated[
        bool, typer.Option("--all", help="Of more than four models or languages: all pairs after the summary.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the differences as JSON.")] = False,
) -> None:
    """Compare models on the same items, and languages on translations of the same items.

    Differences are paired by item, with 95% intervals and Holm's correction over all tests of one measure on one
    benchmark. Items that only one side has are counted and left out. Only models of one kind, with the same protocol
    and data, are compared; `--across` allows more, with a warning. Of more than four models or languages a summary is
    printed: for each measure, which of them differ; `--all` prints the pairs as well.

    **Examples**

    `tiltmeter compare runs/bert runs/roberta`

    `tiltmeter compare runs/bert runs/gpt2 --across kinds`

    `tiltmeter compare runs/bert runs/roberta runs/new runs/old runs/multilingual --all`

    `tiltmeter compare runs/multilingual --by language --baseline en`

    `tiltmeter compare runs/bert runs/roberta --where bias_type=gender --html compared.html`
    """

    from tiltmeter import api
    from tiltmeter.comparing.comparability import ACROSS
    from tiltmeter.comparing.comparison import BY
    from tiltmeter.files import check_file, write_text
    from tiltmeter.reports.comparison import print_comparison

    if html is not None:
        check_file(html)
    comparison = api.compare(
        runs,
        by=choice_of(by, BY, "--by"),
        baseline=baseline,
        measures=measure or (),
        where=_where(where or []),
        across=[name for text in across or [] if (name := choice_of(text, ACROSS, "--across"))],
    )
    if as_json:
        differences = [difference.to_dict() for difference in comparison.differences]
        content = {"differences": differences, "notes": comparison.notes}
        typer.echo(json_text(content))
    else:
        print_comparison(comparison, plain_console(), everything=everything)
    if html is not None:
        from tiltmeter.reports.comparison_page import comparison_page

        write_text(html, comparison_page(comparison, items=items or None, everything=everything))
        typer.echo(f"Written to {html}", err=True)


def _where(given: list[str]) -> dict[str, str]:
    pairs = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise UsageError(f"--where {text} is not NAME=VALUE, as in bias_type=gender.")
        pairs[name.strip()] = value.strip()
    return pairs
