"""`tiltmeter data`: list, download, pin, describe, show, validate and convert data sets."""

from collections import defaultdict
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.cli.data_describe import describe_data
from tiltmeter.cli.data_diff import compare_data
from tiltmeter.cli.data_list import list_data
from tiltmeter.cli.data_lm_eval_tasks import write_tasks
from tiltmeter.cli.output import parse_choice
from tiltmeter.datasets.column_mapping import add_columns, is_table
from tiltmeter.datasets.dataset_loader import (
    DATASETS,
    describe_table,
    get_dataset,
    load_spec,
    reject_text_export,
    validate_spec,
)
from tiltmeter.datasets.dataset_spec import Spec, parse_spec
from tiltmeter.datasets.file_hashes import get_sha256
from tiltmeter.datasets.licence_consent import accept_notice
from tiltmeter.datasets.readers import FORMATS, validate_file
from tiltmeter.datasets.readers.jsonl import write_jsonl
from tiltmeter.datasets.recorded_hashes import list_unpinned_files
from tiltmeter.datasets.validation import ValidationResult
from tiltmeter.datasets.validation_findings import Finding, list_error_codes, list_warning_codes
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
    typer.Option("--from", metavar="FORMAT", help=f"Read SOURCE as a file of this format: {', '.join(FORMATS)}."),
]
Language = Annotated[
    str | None,
    typer.Option(metavar="CODE", help="With --from, or for a CSV, TSV or Excel file: the language of the file."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FIELD=COLUMN,…",
        help="The columns of a CSV, TSV or Excel file of items, if their names are not recognised: "
        "more=sentence1,less=sentence2.",
    ),
]

# Maximum number of findings that `validate` prints for each code.
_EXAMPLES = 3


app.command("list")(list_data)
app.command("describe")(describe_data)
app.command("diff")(compare_data)
app.command("lm-eval-tasks")(write_tasks)


@app.command()
def get(
    spec: Annotated[
        str, typer.Argument(metavar="NAME[/PART][:LANGUAGE,...]", help="A data set, such as stereoset:de,fr.")
    ],
    accept_no_licence: Annotated[
        bool,
        typer.Option(
            "--accept-no-licence",
            help="Download files although their repository states no licence; needed only once for each repository.",
        ),
    ] = False,
) -> None:
    """Download the files of a data set, unless they are cached, and print their paths.

    Files are stored in the cache folder, which the environment variable `TILTMETER_CACHE` can set. If the environment
    variable `TILTMETER_MIRROR` contains a folder or an http(s) address, files are read from `owner/repository/path` in
    this folder or address instead of GitHub.

    **Examples**

    `tiltmeter data get stereoset:de,fr`

    `tiltmeter data get crows-antistereotype --accept-no-licence`
    """
    dataset = parse_spec(spec)
    if dataset.path is not None:
        raise UsageError(f"{spec} is a local file, so there is nothing to download.")
    for source in get_dataset(dataset.name).select(dataset.part, dataset.languages):
        for file in source.files:
            if accept_no_licence and not isinstance(file, Path) and not file.licence_stated:
                accept_notice(file)
        for path in source.fetch_files():
            typer.echo(path)


@app.command()
def pin() -> None:
    """Print the hashes of cached files for which Tiltmeter contains no hash.

    Tiltmeter records the hash of such a file at the first download, and checks it at every later use. Each line has the
    path, SHA-256 and size in bytes of a file, in the format of the `files` tables in `tiltmeter/datasets/repositories`.

    **Example**

    `tiltmeter data pin`
    """
    files = list(list_unpinned_files())
    repository = None
    for file, path in files:
        if path is not None:
            if file.repository != repository:
                repository = file.repository
                typer.echo(f"# {repository} at {file.commit}")
            typer.echo(f'"{file.path}" = "sha256:{get_sha256(path)} {path.stat().st_size}"')
    cached = sum(path is not None for _, path in files)
    typer.echo(f"{cached} of {len(files)} files without a pinned hash are cached.", err=True)


@app.command()
def show(
    spec: Annotated[str, typer.Argument(metavar="NAME[/PART][:LANGUAGE,...]", help="A data set, or a .jsonl file.")],
    limit: Annotated[int, typer.Option(min=1, help="The number of items to print for each part and language.")] = 3,
    item: Annotated[str | None, typer.Option(metavar="ID", help="Print only the item with this id.")] = None,
) -> None:
    """Print items of a data set or file, after a content warning: items express stereotypes.

    **Examples**

    `tiltmeter data show starter/intersentence:fr`

    `tiltmeter data show gest --item 17`
    """
    dataset = parse_spec(spec)
    if dataset.path is None:
        typer.echo(f"Content warning: {get_dataset(dataset.name).warning}", err=True)
    items = load_spec(dataset)
    if item is not None:
        items = [candidate for candidate in items if candidate.id == item]
        if not items:
            raise UsageError(f"{spec} has no item with the id {item!r}; `tiltmeter data show {spec}` prints ids.")
    counts: defaultdict[tuple[str, ...], int] = defaultdict(int)
    for entry in items:
        group = (entry.language, get_item_form(entry).part_of(entry) or "")
        counts[group] += 1
        if item is not None or counts[group] <= limit:
            typer.echo("\n".join(_format_item(entry)) + "\n")


@app.command()
def validate(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A data set, such as stereoset:de, or a file.")],
    format: From = None,
    language: Language = None,
    columns: Columns = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all findings as JSON.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with code 2 also if there are only warnings.")] = False,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="SOURCE",
            help="Also report untranslated text: compare the items with the items of this data set or file from which "
            "they were translated. Items are matched by id.",
        ),
    ] = None,
) -> None:
    """Check every item and print errors and warnings; exit code 2 if there are errors.

    **Examples**

    `tiltmeter data validate my-items.jsonl --strict`

    `tiltmeter data validate stereoset:tr`

    `tiltmeter data validate starter:de --against starter:en`

    `tiltmeter data validate pairs.csv --language pl --columns more=sentence1,less=sentence2`

    `tiltmeter data validate dev.json --from stereoset-json --language en`
    """
    results = _validate(source, format, language, columns)
    if against is not None:
        results = [_compare(checked, against) for checked in results if checked.items]
    if as_json:
        content = [
            {"file": checked.file, "items": len(checked.items), "findings": list(map(asdict, checked.findings))}
            for checked in results
        ]
        typer.echo(format_json(content))
    else:
        for checked in results:
            _print_findings(checked)
    if any(checked.errors or (strict and checked.findings) for checked in results):
        raise typer.Exit(2)


@app.command()
def convert(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A data set, such as stereoset:de, or a file.")],
    out: Annotated[Path, typer.Argument(metavar="OUT.jsonl", help="The JSONL file to write.")],
    format: From = None,
    language: Language = None,
    columns: Columns = None,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT.jsonl if it exists.")] = False,
) -> None:
    """Convert a data set, or a file in the format of a published data set, to JSONL with one item per line.

    **Examples**

    `tiltmeter data convert starter:de starter-de.jsonl`

    `tiltmeter data convert pairs.xlsx pairs.jsonl --language pl`

    `tiltmeter data convert df_intrasentence_it.pkl it.jsonl --from stereoset-pickle --language it`
    """
    reject_unwritable_file(out)
    if out.exists() and not force:
        raise UsageError(f"{out} already exists; choose another file, or replace it with --force.")
    if format is None:
        spec = _parse_source(source, language, columns)
        reject_text_export(spec.name)
        items = load_spec(spec)
    else:
        checked_files = _validate(source, format, language, columns)
        items = [item for checked in checked_files for item in checked.require_valid_items()]
    write_jsonl(items, out)
    typer.echo(f"{len(items)} items written to {out}", err=True)


def _parse_source(source: str, language: str | None, columns: list[str] | None) -> Spec:
    (source,) = add_columns([source if language is None else f"{source}:{language}"], columns or [])
    if (sentence := describe_table(source)) is not None:
        typer.echo(sentence, err=True)
    elif language is not None:
        raise UsageError(
            "--language is only for files that are read with --from, and for tables; for a data set, write the "
            "language as in NAME:de."
        )
    spec = parse_spec(source)
    path = spec.path or Path(source)
    if path.suffix != ".jsonl" and not is_table(path) and path.is_file() and spec.name not in DATASETS:
        raise UsageError(f"{source} is not a .jsonl file; name its format with --from: {', '.join(FORMATS)}.")
    return spec


def _validate(
    source: str, format: str | None, language: str | None, columns: list[str] | None
) -> list[ValidationResult]:
    known = parse_choice(format, FORMATS, "--from")
    if known is None:
        return validate_spec(_parse_source(source, language, columns))
    if columns:
        raise UsageError("--columns cannot be combined with --from, because the format names its columns.")
    if language is None:
        raise UsageError("--from needs the language of the file; add the language, as in --language de.")
    return [validate_file(Path(source), known, language)]


def _compare(checked: ValidationResult, against: str) -> ValidationResult:
    from tiltmeter.making.quality.untranslated_items import compare_with_source

    found = compare_with_source(checked.items, load_spec(parse_spec(against)), checked.file)
    return replace(checked, findings=[*checked.findings, *found])


def _format_item(item: Item) -> list[str]:
    form = get_item_form(item)
    text = form.shown(item)
    head = " · ".join(filter(None, (form.part_of(item), item.language, *form.heading(item), item.id)))
    width = max(map(len, text.texts), default=0) + 2
    context = [f"  {text.context}"] if text.context else []
    return [head, *context, *(f"    {role:<{width}}{candidate}" for role, candidate in text.texts.items())]


def _print_findings(result: ValidationResult) -> None:
    """Print the findings of a validation, grouped by code, with examples.

    Errors are printed before warnings, and frequent codes before rare ones.
    """
    by_code: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in result.findings:
        by_code[finding.code].append(finding)
    warnings = len(result.findings) - len(result.errors)
    typer.echo(result.file)
    counts = {"item": len(result.items), "error": len(result.errors), "warning": warnings}
    typer.echo(", ".join(f"{n} {name}{'s' if n != 1 else ''}" for name, n in counts.items()) + "\n")
    if by_code:
        typer.echo(f"{'severity':<9}{'code':<23}{'found':>6}{'items':>6}  meaning")
    for code, findings in sorted(by_code.items(), key=lambda entry: (entry[1][0].severity, -len(entry[1]))):
        # Print at most one example per item, because several findings about one item are usually similar.
        firsts = list({finding.item or finding.row: finding for finding in reversed(findings)}.values())[::-1]
        meaning = list_error_codes().get(code) or list_warning_codes()[code]
        typer.echo(f"{findings[0].severity:<9}{code:<23}{len(findings):>6}{len(firsts):>6}  {meaning}")
        for finding in firsts[:_EXAMPLES]:
            location = ", ".join(filter(None, (finding.row, finding.field, finding.item and f"item {finding.item}")))
            typer.echo(f"{'':<9}{location}: {finding.message}" if location else f"{'':<9}{finding.message}")
    if by_code:
        typer.echo("")
