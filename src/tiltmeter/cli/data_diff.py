"""`tiltmeter data diff`: the differences between two versions of a test set."""

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiltmeter.datasets.dataset_loader import load_spec, reject_text_export
from tiltmeter.datasets.dataset_spec import parse_spec
from tiltmeter.files import reject_unwritable_file
from tiltmeter.printable_text import format_json

if TYPE_CHECKING:
    from tiltmeter.datasets.item_differences import ItemDifferences, ItemKey

# The number of items of each kind that are printed without --all.
_SHOWN = 10


def compare_data(
    before: Annotated[
        str, typer.Argument(metavar="BEFORE", help="The earlier version: a data set, a .jsonl file or an edition.")
    ],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="The later version.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write all changed texts to this CSV file, one in each row."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help=f"Print all items, not only {_SHOWN} of each kind.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the differences as JSON.")] = False,
) -> None:
    """Print which items two versions of a test set do not share, and which texts of shared items differ.

    Items are compared by language and id. A project keeps its editions in the folder `editions`.

    **Examples**

    `tiltmeter data diff my-edition/ my-items.jsonl --out changes.csv`

    `tiltmeter data diff my-es/editions/1 es/`
    """
    from tiltmeter.datasets.item_differences import compare_versions
    from tiltmeter.making.exchange.csv_table import write_table

    specs = [parse_spec(before), parse_spec(after)]
    for spec in specs:
        reject_text_export(spec.name)
    if out is not None:
        reject_unwritable_file(out)
    found = compare_versions(*(load_spec(spec) for spec in specs))
    if as_json:
        typer.echo(format_json(_to_json(found)))
    else:
        _print_differences(found, None if everything else _SHOWN)
    if out is not None:
        write_table(out, ("language", "item", "field", "before", "after"), map(asdict, found.changes))


def _to_json(found: "ItemDifferences") -> dict[str, object]:
    return {
        "equal": found.equal,
        "added": [{"language": language, "id": item} for language, item in found.added],
        "removed": [{"language": language, "id": item} for language, item in found.removed],
        "changes": [asdict(change) for change in found.changes],
    }


def _print_differences(found: "ItemDifferences", shown: int | None) -> None:
    changed = found.changed
    typer.echo(
        f"{len(found.added):,} added, {len(found.removed):,} removed, {len(changed):,} changed, {found.equal:,} equal"
    )
    for field, count in Counter(change.field for change in found.changes).most_common():
        typer.echo(f"{count:>9,} {field}")
    for words, keys in (("Added", found.added), ("Removed", found.removed)):
        if keys:
            typer.echo(f"\n{words}: {', '.join(f'{item} ({language})' for language, item in keys[:shown])}")
            _print_rest(len(keys), shown)
    by_item: dict[ItemKey, list[str]] = {}
    for change in found.changes:
        lines = [f"  {change.field}", f"    - {change.before}", f"    + {change.after}"]
        by_item.setdefault((change.language, change.item), []).extend(lines)
    for language, item in changed[:shown]:
        typer.echo(f"\n{item} ({language})")
        typer.echo("\n".join(by_item[language, item]))
    _print_rest(len(changed), shown)


def _print_rest(count: int, shown: int | None) -> None:
    if shown is not None and count > shown:
        typer.echo(f"… and {count - shown:,} more; print them with --all")
