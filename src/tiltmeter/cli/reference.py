"""`tiltmeter reference`: list, download and share reference results, for `tiltmeter compare --with`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tiltmeter.cli.name_list import print_entry
from tiltmeter.errors import UsageError
from tiltmeter.printable_text import format_json

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="List, download and share reference results, with which `tiltmeter compare --with` compares a run.",
)


@app.command("list")
def list_references(
    as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """List the published sets: data, number of models, licence, and how many results are in the cache.

    **Example**

    `tiltmeter reference list`
    """
    from tiltmeter.comparing.reference_sets import list_cached_files
    from tiltmeter.runs.released_results import load_published_sets

    sets = list(load_published_sets().values())
    if as_json:
        typer.echo(format_json([_collect_facts(published) for published in sets]))
        return
    for published in sets:
        total, cached = len(published.results), len(list_cached_files(published))
        facts = [
            ", ".join(f"{name}:{','.join(codes)}" for name, codes in _group_languages(published).items()),
            f"{len({result.model for result in published.results})} models",
            f"{cached} of {total} results in the cache",
            published.repository.licence.partition(";")[0],
        ]
        print_entry(f"{published.name:<20} ", published.description, 21)
        print_entry(" " * 21, " · ".join(facts), 21)


@app.command()
def fetch(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="The published sets to fetch; by default all.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Score the results in the cache again, too.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Print the reason for each result that is not available.")
    ] = False,
) -> None:
    """Download published predictions and translations, score them, and store the scores in the cache.

    Only ids and scores are stored, no texts. Results that cannot be downloaded are printed and left out. If you run the
    command again, only these are downloaded.

    **Examples**

    `tiltmeter reference fetch`

    `tiltmeter reference fetch stereoset-original gest-english`
    """
    from tiltmeter.comparing.reference_sets import fetch_published_set, get_published_set
    from tiltmeter.progress.terminal_progress import show_in_terminal
    from tiltmeter.runs.released_results import load_published_sets

    fetched = 0
    for published in [get_published_set(name) for name in dict.fromkeys(names or load_published_sets())]:
        with show_in_terminal(published.name) as report:
            missing = fetch_published_set(published, report, force=force)
        count = len(published.results) - len(missing)
        fetched += count
        typer.echo(f"{published.name}: {count} of {len(published.results)} results are in the cache.")
        for result, reason in missing[: None if verbose else 1]:
            typer.echo(f"  Not available: {result.name}. {reason}", err=True)
        if len(missing) > 1 and not verbose:
            typer.echo(f"  Not available: {len(missing) - 1} more; --verbose prints all reasons.", err=True)
    if not fetched:
        raise UsageError(
            "No reference result is available; remove the causes that are printed above, and run the command again."
        )


@app.command()
def add(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Folders of runs, or folders that contain runs.")],
    to: Annotated[
        Path,
        typer.Option(
            "--to",
            metavar="PATH",
            help="A folder, into which one file is written for each run, or a file NAME.parquet for all runs.",
        ),
    ],
    name: Annotated[
        str | None, typer.Option(help="The name of the run in the set; by default the name of its folder.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a run with the same name.")] = False,
) -> None:
    """Add the scores of runs, without texts, to a set of reference results that you can share.

    A set contains the ids of items, scores, measures, the names of models, and the properties that determine what is
    comparable: kind, protocol, data files and versions. It contains no sentence, word, prompt, path or machine name.

    **Examples**

    `tiltmeter reference add runs/bert runs/roberta --to references`

    `tiltmeter reference add runs/bert --to references.parquet --name "bert, May"`
    """
    from tiltmeter.api import load_named_runs
    from tiltmeter.comparing.reference_sets import add_references
    from tiltmeter.text_files import expand_home

    named = load_named_runs(runs)
    if name is not None:
        if len(named) > 1:
            raise UsageError(f"--name is for one run, but {len(named)} are given; add them one by one, or omit --name.")
        named = [(name, named[0][1])]
    for path in add_references(named, expand_home(to), force=force):
        typer.echo(f"Written to {path}", err=True)


def _collect_facts(published: Any) -> dict[str, Any]:
    from tiltmeter.comparing.reference_sets import list_cached_files

    return {
        "name": published.name,
        "description": published.description,
        "repository": published.repository.name,
        "licence": published.repository.licence,
        "citation": published.repository.citation,
        "data": _group_languages(published),
        "models": list(dict.fromkeys(result.model for result in published.results)),
        "results": len(published.results),
        "results_in_cache": len(list_cached_files(published)),
    }


def _group_languages(published: Any) -> dict[str, list[str]]:
    """Return the languages of each data set of a published set."""
    languages: dict[str, list[str]] = {}
    for result in published.results:
        if result.language not in languages.setdefault(result.benchmark, []):
            languages[result.benchmark].append(result.language)
    return languages
