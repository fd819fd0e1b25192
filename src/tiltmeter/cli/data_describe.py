"""`tiltmeter data describe`: what is in a data set, in numbers."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiltmeter.datasets.dataset_loader import load_spec
from tiltmeter.datasets.dataset_spec import parse_spec
from tiltmeter.errors import UsageError
from tiltmeter.printable_text import create_plain_console, format_json

if TYPE_CHECKING:
    from rich.console import Console

    from tiltmeter.datasets.dataset_statistics import CountPieces, LengthStatistics, PortionStatistics

# Values of a grouping that are printed.
_SHOWN = 12


def describe_data(
    spec: Annotated[str, typer.Argument(metavar="NAME[/PART][:LANGUAGE,...]", help="A data set, or a .jsonl file.")],
    tokenizer: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Also count the pieces that the tokenizer of this model makes.")
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write a figure of the numbers of items to this folder.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all numbers as JSON.")] = False,
) -> None:
    """Describe a data set: items, different contexts, items per target, words and pieces per sentence, kinds of bias.

    Words are what stands between spaces; Thai is cut into words with `pip install 'tiltmeter[thai]'`.

    **Examples**

    `tiltmeter data describe starter:en,de`

    `tiltmeter data describe gender-pairs:en,th --tokenizer bert-base-multilingual-cased`

    `tiltmeter data describe my-items.jsonl --figure figures`
    """

    from tiltmeter.datasets.dataset_statistics import describe_items

    items = load_spec(parse_spec(spec))
    if tokenizer is None:
        described = describe_items(items)
    else:
        with _open_piece_counter(tokenizer) as count_pieces:
            described = describe_items(items, count_pieces)
    if as_json:
        typer.echo(format_json([one.to_dict() for one in described]))
    else:
        _print_description(described, create_plain_console())
    if figure is not None:
        from tiltmeter.reports.figure_files import save_figures
        from tiltmeter.reports.figures.data_figure import build_data_figure

        name = parse_spec(spec).name
        for path in save_figures([("data", build_data_figure(Path(name).name, described))], figure):
            typer.echo(f"Wrote {path}", err=True)


@contextmanager
def _open_piece_counter(model: str) -> "Iterator[CountPieces]":
    """A function that counts the pieces of texts, as long as the model is open."""
    from tiltmeter.models.model_opener import use_model
    from tiltmeter.models.model_protocol import ChatModel, ModelOptions

    with use_model(model, ModelOptions()) as found:
        if isinstance(found, ChatModel):
            raise UsageError(f"{model} is a chat model, whose tokenizer is not here; name a local model.")
        text = found.text
        yield lambda texts: [len(encoded.ids) for encoded in text.encode(list(texts))]


def _print_description(described: "Sequence[PortionStatistics]", console: "Console") -> None:
    from tiltmeter.datasets.language_facts import get_language_facts
    from tiltmeter.reports.console_tables import print_fitting_table
    from tiltmeter.reports.language_names import get_language_name

    heads = ("", "items", "contexts", "sentences", "words", "a\nsentence", "pieces", "a\nsentence")
    rows = []
    for one in described:
        where = " ".join(filter(None, (one.part, get_language_name(one.language))))
        counts = [f"{count:,}" for count in (one.items, one.contexts, one.sentences)]
        rows.append([where, *counts, *_format_lengths(one.words), *_format_lengths(one.pieces)])
    print_fitting_table(console, heads, rows, optional=("contexts", "sentences"))
    for one in described:
        where = " ".join(filter(None, (one.part, get_language_name(one.language))))
        console.print(f"\n{where}", style="bold", markup=False)
        if facts := get_language_facts(one.language).attributes():
            listed = "; ".join(f"{name} {value}" for name, value in facts.items())
            console.print(f"  {listed}", markup=False, highlight=False, soft_wrap=True)
        if one.per_subject:
            numbers = sorted(one.per_subject.values())
            console.print(
                f"  {one.subject}: {len(numbers):,} different, {numbers[0]:,} to {numbers[-1]:,} items each, "
                f"median {numbers[len(numbers) // 2]:,}: {_format_counts(one.per_subject)}",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
        for name, found in one.groups.items():
            console.print(f"  {name}: {_format_counts(found)}", markup=False, highlight=False, soft_wrap=True)
        if one.note:
            console.print(f"  Note: {one.note}.", markup=False, highlight=False, soft_wrap=True)


def _format_lengths(lengths: "LengthStatistics | None") -> tuple[str, str]:
    return ("", "") if lengths is None else (f"{lengths.total:,}", f"{lengths.mean:.1f}")


def _format_counts(counts: Mapping[str, int]) -> str:
    """Values with their counts, the most frequent first.

    >>> _format_counts({"gender": 3, "race": 1})
    'gender 3, race 1'
    """
    shown = ", ".join(f"{value} {count:,}" for value, count in list(counts.items())[:_SHOWN])
    return f"{shown} … ({len(counts) - _SHOWN:,} more)" if len(counts) > _SHOWN else shown
