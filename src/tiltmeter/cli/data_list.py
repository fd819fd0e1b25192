"""`tiltmeter data list`: print the catalogue of data sets, without reading data files."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tiltmeter.cli.name_list import print_entry
from tiltmeter.datasets.dataset_definition import Dataset
from tiltmeter.datasets.dataset_loader import DATASETS, get_dataset
from tiltmeter.datasets.licence_consent import list_notices
from tiltmeter.datasets.name_suggestions import suggest_name
from tiltmeter.errors import UsageError
from tiltmeter.forms import get_forms
from tiltmeter.printable_text import format_json

# If a data set has more languages than this, the number of languages is printed before their codes.
_MAX_LANGUAGES = 12


def list_data(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Print all facts about this data set.")] = None,
    language: Annotated[
        str | None, typer.Option(metavar="CODE", help="List only data sets in this language, such as pl.")
    ] = None,
    form: Annotated[
        str | None, typer.Option(metavar="FORM", help="List only data sets with items of this form, such as pairs.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """List all data sets, or describe one: form, languages, items, licence, size, citation, limits and files.

    **Examples**

    `tiltmeter data list`

    `tiltmeter data list --language pl`

    `tiltmeter data list --form pairs --json`

    `tiltmeter data list stereoset`
    """
    if name is not None:
        if name not in DATASETS and any(name in data.languages for data in DATASETS.values()):
            raise UsageError(f"{name} is a language; `tiltmeter data list --language {name}` lists its data sets.")
        chosen = [get_dataset(name)]
        if not as_json:
            _print_dataset(chosen[0])
            return
    else:
        chosen = _select_datasets(language, form)
    if as_json:
        typer.echo(format_json([_collect_facts(data, language) for data in chosen]))
        return
    for data in chosen:
        values = _collect_facts(data, language)
        facts = [
            data.form,
            _format_languages(data),
            _format_item_count(values["items"], data),
            _format_licence(data),
            _format_size(data.size),
        ]
        facts.append(_format_local_files(values["files_here"], len(data.sources)))
        print_entry(f"{data.name:<19} ", data.description, 20)
        print_entry(" " * 20, " · ".join(filter(None, facts)), 20)


def _select_datasets(language: str | None, form: str | None) -> list[Dataset]:
    known = {code for data in DATASETS.values() for code in data.languages}
    if language is not None and language not in known:
        codes = ", ".join(sorted(known))
        raise UsageError(
            f"No data set is in the language {language!r}{suggest_name(language, known)}; the languages are {codes}."
        )
    if form is not None and form not in get_forms():
        listed = ", ".join(get_forms())
        raise UsageError(f"There is no form {form!r}{suggest_name(form, get_forms())}; the forms are {listed}.")
    return [
        data
        for data in DATASETS.values()
        if (language is None or language in data.languages) and (form is None or data.form == form)
    ]


def _collect_facts(data: Dataset, language: str | None) -> dict[str, Any]:
    """Return a dictionary of facts about a data set.

    Its key `items` is the number of items in `language`, or in all languages if `language` is None.
    """
    return {
        "name": data.name,
        "description": data.description,
        "form": data.form,
        "parts": data.parts,
        "languages": data.languages,
        "items": data.item_count if language is None else data.items.get(language),
        "items_by_language": data.items,
        "licence": data.licence,
        "licence_stated": data.has_stated_licence,
        "bytes": data.size,
        "files": len(data.files),
        "files_here": data.local_source_count,
    }


def _format_languages(data: Dataset) -> str:
    codes = data.languages
    return " ".join(codes) if len(codes) <= _MAX_LANGUAGES else f"{len(codes)} languages: {' '.join(codes)}"


def _format_item_count(count: int | None, data: Dataset) -> str:
    """Return the number of items as text; if `count` is None, add up the languages whose number of items is known."""
    if count is not None:
        return f"{count:,} items"
    return f"{sum(data.items.values()):,} items in {len(data.items)} languages" if data.items else ""


def _format_licence(data: Dataset) -> str:
    return data.licence.partition(";")[0]


def _format_size(size: int | None) -> str:
    """Return a size in bytes as text in megabytes.

    >>> _format_size(437_764), _format_size(32_293_331), _format_size(None)
    ('0.4 MB', '32.3 MB', '')
    """
    return "" if size is None else f"{max(0.1, size / 1e6):.1f} MB"


def _format_local_files(local: int, total: int) -> str:
    """Return as text how many of the files of a data set are on this machine.

    >>> _format_local_files(2, 2), _format_local_files(0, 2), _format_local_files(1, 2)
    ('local', 'not downloaded', '1 of 2 files local')
    """
    if local in (0, total):
        return "local" if local else "not downloaded"
    return f"{local} of {total} files local"


def _print_dataset(data: Dataset) -> None:
    print_entry(f"{data.name}: ", data.description, 2)
    typer.echo("")
    facts = {
        "form": data.form,
        "parts": ", ".join(data.parts),
        "languages": ", ".join(
            f"{code} ({data.items[code]:,} items)" if code in data.items else code for code in data.languages
        ),
        "licence": data.licence,
        "notice": " ".join(list_notices(file for file in data.files if not isinstance(file, Path))),
        "size": _format_size(data.size),
        "cite": data.citation,
        "content": data.warning,
        "limits": "; ".join(data.limits),
        "control": ", ".join(data.control),
        "control of": ", ".join(other.name for other in DATASETS.values() if data.name in other.control),
    }
    for key, value in facts.items():
        if value:
            print_entry(f"{key:<10} ", value, 11)
    typer.echo("")
    for source in data.sources:
        for file in source.files:
            name = str(file) if isinstance(file, Path) else file.name
            typer.echo(f"{'local' if source.is_local() else '-':<10} {name}")
