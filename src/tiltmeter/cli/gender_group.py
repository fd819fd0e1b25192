"""`tiltmeter gender`: the speaker's gender in a file, `gender sample` and `gender evaluate`: how accurate that is."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperGroup

from tiltmeter.cli.gender_detect import SOURCES, detect_genders, gender
from tiltmeter.cli.output import print_note
from tiltmeter.errors import UsageError
from tiltmeter.gender import LANGUAGES
from tiltmeter.printable_text import format_json

if TYPE_CHECKING:
    from typer._click.core import Context

_DEFAULT = "detect"


class _FileByDefault(TyperGroup):
    """A group whose default command takes a file: `gender FILE` is `gender detect FILE`."""

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [_DEFAULT, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_FileByDefault,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="The grammatical gender of the speaker in every sentence of a file, and how accurate the rules for it are.",
)
app.command(_DEFAULT)(gender)

Folders = Annotated[list[Path], typer.Argument(metavar="SAMPLE", help="Folders of `gender sample`.")]


@app.command()
def sample(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="One sentence per line; with --pairs, translations as CSV, `from` and `to`."
        ),
    ],
    language: Annotated[str, typer.Option("--language", "-l", help=f"One of {', '.join(LANGUAGES)}.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write the sample to.")],
    per_outcome: Annotated[int, typer.Option(min=1, help="Sentences or pairs of each outcome.")] = 20,
    pairs: Annotated[bool, typer.Option("--pairs", help="Sample what the filter of gendered pairs says.")] = False,
    gender_from: Annotated[str, typer.Option("--gender-from", help=f"One of {', '.join(SOURCES)}.")] = "rules",
    edition: Annotated[str, typer.Option(help="With --pairs, the edition of GEST's sentences.")] = "1.1",
    seed: Annotated[int, typer.Option(help="Another seed draws another sample.")] = 0,
) -> None:
    """Sample outcomes of the rules, or of the pair filter, for people to rate without seeing the outcome.

    **Examples**

    `tiltmeter gender sample translations.txt --language sk --out sample-sk`

    `tiltmeter make rate sample-sk --by Ana`

    `tiltmeter gender evaluate sample-sk`
    """
    from tiltmeter.making.rating.gender_sample import (
        build_gender_units,
        build_pair_units,
        count_outcomes,
        draw_sample,
        write_sample,
    )

    if pairs:
        from tiltmeter.datasets import load
        from tiltmeter.datasets.dataset_spec import with_edition
        from tiltmeter.datasets.gest_pair_builder import read_translations
        from tiltmeter.forms.gest import GestItem

        (source,) = with_edition(["gest"], edition)
        sentences = [item for item in load(source, None, "en") if isinstance(item, GestItem)]
        units = build_pair_units(read_translations(Path(file)), sentences, language)
    else:
        units = build_gender_units(detect_genders(file, language, gender_from), language)
    chosen = draw_sample(units, per_outcome, seed)
    write_sample(out, chosen, "pairs" if pairs else "gender", count_outcomes(units))
    for label in sorted({unit.label for unit in units}):
        count = sum(unit.label == label for unit in chosen)
        typer.echo(f"{count:>6,} of {sum(unit.label == label for unit in units):,} {label}")
    print_note(f"Written to {out}; `tiltmeter make rate {out} --by NAME` asks for ratings.")


@app.command()
def evaluate(
    folders: Folders,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Print the confusion matrix of rated samples with intervals, and the classes of errors.

    The accuracy overall is weighted by how frequent each outcome is in the data. The gain is, of the rules, how
    many more sentences would have a gender if none were missed; of the filter, how much it raises the share of right
    pairs.

    **Example**

    `tiltmeter gender evaluate sample-sk sample-cs`
    """
    from tiltmeter.making.rating.gender_evaluation import evaluate_samples

    found = evaluate_samples(folders)
    if found.unrated == sum(found.counts.values()) + found.undecided + found.unrated:
        raise UsageError("Nobody has rated the sample; `tiltmeter make rate` asks for ratings.")
    if as_json:
        typer.echo(format_json(found.to_json()))
        return
    width = max(map(len, found.rows)) + 2
    widths = [max(len(column), 6) + 2 for column in found.columns]
    heads = "".join(f"{column:>{size}}" for column, size in zip(found.columns, widths, strict=True))
    typer.echo(f"{'outcome':<{width}}{heads}  right")
    for row in found.rows:
        cells = "".join(
            f"{found.counts[row, column]:>{size},}" for column, size in zip(found.columns, widths, strict=True)
        )
        typer.echo(f"{row:<{width}}{cells}  {found.right.get(row, '')}")
    if found.shown_gender:
        typer.echo(f"right where the rules show a gender: {found.shown_gender}")
    if found.overall:
        typer.echo(f"right overall, weighted by how frequent each outcome is in the data: {found.overall}")
    if found.gain and found.about == "pairs":
        low, high = found.gain.interval
        typer.echo(
            f"the filter raises the share of right pairs by {found.gain.value:.1f} points [{low:.1f}, {high:.1f}]"
        )
    elif found.gain:
        typer.echo(f"more sentences with a gender, if none were missed: {found.gain}")
    if found.reason:
        typer.echo(f"overall and gain: undefined, because {found.reason}")
    for error, count in found.errors.most_common():
        typer.echo(f"{count:>6,} errors: {error}")
    if found.agreement.items:
        typer.echo(f"agreement of raters: {found.agreement}")
    if found.undecided or found.unrated:
        typer.echo(f"not counted: {found.undecided:,} without a majority, {found.unrated:,} not rated")
