"""`tiltmeter data`: list, download, pin, describe, show, validate and convert data sets."""

from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.cli.data_describe import describe_data
from tiltmeter.cli.data_list import list_data
from tiltmeter.cli.output import parse_choice
from tiltmeter.datasets.dataset_loader import DATASETS, get_dataset, load_spec, reject_export, validate_spec
from tiltmeter.datasets.dataset_spec import Spec, parse_spec
from tiltmeter.datasets.file_hashes import get_sha256
from tiltmeter.datasets.findings import Finding, list_error_codes, list_warning_codes
from tiltmeter.datasets.licence_consent import accept_notice
from tiltmeter.datasets.readers import FORMATS, validate_file
from tiltmeter.datasets.readers.jsonl import write_jsonl
from tiltmeter.datasets.recorded_hashes import list_unpinned_files
from tiltmeter.datasets.validation import ValidationResult
from tiltmeter.errors import UsageError
from tiltmeter.files import reject_unwritable_file
from tiltmeter.forms import Item, get_item_form
from tiltmeter.printable_text import format_json

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="List, download, describe, show, validate and convert data sets.",
)

From = Annotated[
    str | None,
    typer.Option("--from", metavar="FORMAT", help=f"SOURCE is a file in this format: {', '.join(FORMATS)}."),
]
Language = Annotated[
    str | None, typer.Option(metavar="CODE", help="The language of the file given with --from, such as de.")
]

EXAMPLES = 3


app.command("list")(list_data)
app.command("describe")(describe_data)


@app.command()
def get(
    spec: Annotated[str, typer.Argument(metavar="NAME[/PART][:LANGUAGE,...]", help="A data set.")],
    accept_no_licence: Annotated[
        bool,
        typer.Option("--accept-no-licence", help="Use the files although their repository states no licence."),
    ] = False,
) -> None:
    """Download the files of a data set, unless they are cached, and print their paths.

    Files are stored in the cache (its folder is set by `TILTMETER_CACHE`). `TILTMETER_MIRROR`, a folder or an http(s)
    address with `owner/repository/path` below it, is used instead of GitHub. Files of a repository that states no
    licence are downloaded only with `--accept-no-licence`, given once.

    **Examples**

    `tiltmeter data get stereoset:de,fr`

    `tiltmeter data get crows-antistereotype --accept-no-licence`
    """
    asked = parse_spec(spec)
    if asked.path is not None:
        raise UsageError(f"{spec} is a file of your own; there is nothing to download.")
    for source in get_dataset(asked.name).select(asked.part, asked.languages):
        for file in source.files:
            if accept_no_licence and not isinstance(file, Path) and not file.licence_stated:
                accept_notice(file)
        for path in source.paths():
            typer.echo(path)


@app.command()
def pin() -> None:
    """Print the hashes of the files of which Tiltmeter knows none, as they are on this machine.

    They are recorded when a file is downloaded for the first time, and checked from then on. The lines are those of the
    tables `files` in Tiltmeter's pinned repositories: path, SHA-256 and size in bytes.

    **Example**

    `tiltmeter data pin`
    """
    found = list(list_unpinned_files())
    repository = None
    for file, path in found:
        if path is not None:
            if file.repository != repository:
                repository = file.repository
                typer.echo(f"# {repository} at {file.commit}")
            typer.echo(f'"{file.path}" = "sha256:{get_sha256(path)} {path.stat().st_size}"')
    here = sum(path is not None for _, path in found)
    typer.echo(f"{here} of {len(found)} files without a known hash are here.", err=True)


@app.command()
def show(
    spec: Annotated[str, typer.Argument(metavar="NAME[/PART][:LANGUAGE,...]", help="A data set, or a .jsonl file.")],
    limit: Annotated[int, typer.Option(min=1, help="The number of items of each part and language to show.")] = 3,
    item: Annotated[str | None, typer.Option(metavar="ID", help="Show the item with this id only.")] = None,
) -> None:
    """Show items. They express stereotypes; a content warning comes first.

    **Examples**

    `tiltmeter data show starter/intersentence:fr`

    `tiltmeter data show gest --item 17`
    """
    asked = parse_spec(spec)
    if asked.path is None:
        typer.echo(f"Content warning: {get_dataset(asked.name).warning}", err=True)
    items = load_spec(asked)
    if item is not None:
        items = [candidate for candidate in items if candidate.id == item]
        if not items:
            raise UsageError(f"{spec} has no item with the id {item!r}.")
    shown: defaultdict[tuple[str, ...], int] = defaultdict(int)
    for entry in items:
        group = (entry.language, get_item_form(entry).part_of(entry) or "")
        shown[group] += 1
        if item is not None or shown[group] <= limit:
            typer.echo("\n".join(_format_item(entry)) + "\n")


@app.command()
def validate(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A data set as in `get`, or a file.")],
    format: From = None,
    language: Language = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all findings as JSON.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Fail on warnings too.")] = False,
) -> None:
    """Check every item and report errors and warnings. The exit code is 2 if there are errors.

    **Examples**

    `tiltmeter data validate my-items.jsonl --strict`

    `tiltmeter data validate stereoset:tr`

    `tiltmeter data validate dev.json --from stereoset-json --language en`
    """
    examinations = _examine(source, format, language)
    if as_json:
        content = [
            {"file": checked.file, "items": len(checked.items), "findings": list(map(asdict, checked.findings))}
            for checked in examinations
        ]
        typer.echo(format_json(content))
    else:
        for checked in examinations:
            _print_findings(checked)
    if any(checked.errors or (strict and checked.findings) for checked in examinations):
        raise typer.Exit(2)


@app.command()
def convert(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A data set as in `get`, or a file.")],
    out: Annotated[Path, typer.Argument(metavar="OUT.jsonl", help="The file to write.")],
    format: From = None,
    language: Language = None,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT.jsonl if it exists.")] = False,
) -> None:
    """Write a data set, or a file in an upstream format, as JSONL, one item per line.

    **Examples**

    `tiltmeter data convert starter:de starter-de.jsonl`

    `tiltmeter data convert df_intrasentence_it.pkl it.jsonl --from stereoset-pickle --language it`
    """
    reject_unwritable_file(out)
    if out.exists() and not force:
        raise UsageError(f"{out} already exists; --force replaces it.")
    if format is None:
        asked = _parse_source(source, language)
        reject_export(asked.name)
        items = load_spec(asked)
    else:
        items = [item for checked in _examine(source, format, language) for item in checked.accept()]
    write_jsonl(items, out)
    typer.echo(f"{len(items)} items written to {out}", err=True)


def _parse_source(source: str, language: str | None = None) -> Spec:
    if language is not None:
        raise UsageError("--language is for files given with --from; leave it out, or name a language as in NAME:de.")
    asked = parse_spec(source)
    path = asked.path or Path(source)
    if path.suffix != ".jsonl" and path.is_file() and asked.name not in DATASETS:
        raise UsageError(f"{source} is not a .jsonl file; say what it is with --from, one of {', '.join(FORMATS)}.")
    return asked


def _examine(source: str, format: str | None, language: str | None) -> list[ValidationResult]:
    known = parse_choice(format, FORMATS, "--from")
    if known is None:
        if language is not None:
            raise UsageError(
                "--language is for files given with --from; leave it out, or name a language as in NAME:de."
            )
        return validate_spec(_parse_source(source))
    if language is None:
        raise UsageError("--from needs --language, such as --language de.")
    return [validate_file(Path(source), known, language)]


def _format_item(item: Item) -> list[str]:
    """An item as lines of text."""
    form = get_item_form(item)
    text = form.shown(item)
    head = " · ".join(filter(None, (form.part_of(item), item.language, *form.heading(item), item.id)))
    width = max(map(len, text.texts), default=0) + 2
    context = [f"  {text.context}"] if text.context else []
    return [head, *context, *(f"    {role:<{width}}{candidate}" for role, candidate in text.texts.items())]


def _print_findings(examination: ValidationResult) -> None:
    """Print the findings by code with examples, errors first, the most frequent first."""
    by_code: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in examination.findings:
        by_code[finding.code].append(finding)
    count = len(examination.findings) - len(examination.errors)
    typer.echo(examination.file)
    counts = {"item": len(examination.items), "error": len(examination.errors), "warning": count}
    typer.echo(", ".join(f"{n} {name}{'s' if n != 1 else ''}" for name, n in counts.items()) + "\n")
    if by_code:
        typer.echo(f"{'severity':<9}{'code':<23}{'found':>6}{'items':>6}  meaning")
    for code, findings in sorted(by_code.items(), key=lambda entry: (entry[1][0].severity, -len(entry[1]))):
        # One example per item: several findings in one item would be poor examples.
        firsts = list({finding.item or finding.row: finding for finding in reversed(findings)}.values())[::-1]
        meaning = list_error_codes().get(code) or list_warning_codes()[code]
        typer.echo(f"{findings[0].severity:<9}{code:<23}{len(findings):>6}{len(firsts):>6}  {meaning}")
        for finding in firsts[:EXAMPLES]:
            location = ", ".join(filter(None, (finding.row, finding.field, finding.item and f"item {finding.item}")))
            typer.echo(f"{'':<9}{location}: {finding.message}" if location else f"{'':<9}{finding.message}")
    if by_code:
        typer.echo("")
