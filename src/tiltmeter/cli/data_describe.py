"""`tiltmeter data describe`: statistics of a data set."""

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

# Maximum number of values that are printed for each attribute.
_MAX_VALUES = 12


def describe_data(
    spec: Annotated[str, typer.Argument(metavar="NAME[/PART][:LANGUAGE,...]", help="A data set, or a .jsonl file.")],
    tokenizer: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Also count tokens, with the tokenizer of this model.")
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Save a figure with the number of items of each group to this folder."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all numbers as JSON.")] = False,
) -> None:
    """Print statistics of a data set: items, contexts, items per target, words and tokens per sentence, bias types.

    Words are separated by spaces. Thai has no spaces between words; install `tiltmeter[thai]` to count Thai words.

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
        with _open_token_counter(tokenizer) as count_tokens:
            described = describe_items(items, count_tokens)
    if as_json:
        typer.echo(format_json([one.to_dict() for one in described]))
    else:
        _print_description(described, create_plain_console())
    if figure is not None:
        from tiltmeter.reports.figure_files import save_figures
        from tiltmeter.reports.figures.data_figure import build_data_figure

        name = parse_spec(spec).name
        for path in save_figures([("data", build_data_figure(Path(name).name, described))], figure):
            typer.echo(f"Written to {path}", err=True)


@contextmanager
def _open_token_counter(model: str) -> "Iterator[CountPieces]":
    """Yield a function that counts the tokens of texts while the model is open."""
    from tiltmeter.models.model_opener import use_model
    from tiltmeter.models.model_protocol import ChatModel
    from tiltmeter.options import ModelOptions

    with use_model(model, ModelOptions()) as opened:
        if isinstance(opened, ChatModel):
            raise UsageError(f"{model} is a chat model, and its tokenizer is not available here; name a local model.")
        text = opened.text
        yield lambda texts: [len(encoded.ids) for encoded in text.encode(list(texts))]


def _print_description(described: "Sequence[PortionStatistics]", console: "Console") -> None:
    from tiltmeter.datasets.language_facts import get_language_facts
    from tiltmeter.reports.console_tables import print_fitting_table
    from tiltmeter.reports.language_names import get_language_name

    headings = ("", "items", "contexts", "sentences", "words", "per\nsentence", "tokens", "per\nsentence")
    rows = []
    for one in described:
        where = " ".join(filter(None, (one.part, get_language_name(one.language))))
        sizes = [f"{count:,}" for count in (one.items, one.contexts, one.sentences)]
        rows.append([where, *sizes, *_format_lengths(one.words), *_format_lengths(one.pieces)])
    print_fitting_table(console, headings, rows, optional=("contexts", "sentences"))
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
        for name, counts in one.groups.items():
            console.print(f"  {name}: {_format_counts(counts)}", markup=False, highlight=False, soft_wrap=True)
        if one.note:
            console.print(f"  Note: {one.note}.", markup=False, highlight=False, soft_wrap=True)


def _format_lengths(lengths: "LengthStatistics | None") -> tuple[str, str]:
    return ("", "") if lengths is None else (f"{lengths.total:,}", f"{lengths.mean:.1f}")


def _format_counts(counts: Mapping[str, int]) -> str:
    """Return values and their counts as text, in the order of the mapping.

    >>> _format_counts({"gender": 3, "race": 1})
    'gender 3, race 1'
    """
    text = ", ".join(f"{value} {count:,}" for value, count in list(counts.items())[:_MAX_VALUES])
    return f"{text} … ({len(counts) - _MAX_VALUES:,} more)" if len(counts) > _MAX_VALUES else text
