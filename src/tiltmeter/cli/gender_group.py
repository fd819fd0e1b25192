"""`tiltmeter gender`: detect the gender of speakers, and evaluate the accuracy of the detection."""

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


class _DefaultCommandGroup(TyperGroup):
    """A group of commands with a default command: `gender FILE` means `gender detect FILE`."""

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [_DEFAULT, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_DefaultCommandGroup,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Detect the grammatical gender of speakers in sentences, and evaluate the accuracy of the rules.",
)
app.command(_DEFAULT)(gender)

Folders = Annotated[list[Path], typer.Argument(metavar="SAMPLE", help="Folders that `gender sample` wrote.")]


@app.command()
def sample(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A file with one sentence per line; with --pairs, a CSV file with the columns `from` and `to`.",
        ),
    ],
    language: Annotated[str, typer.Option("--language", "-l", help=f"The language: {', '.join(LANGUAGES)}.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Write the sample to this folder.")],
    per_outcome: Annotated[
        int, typer.Option(min=1, help="The number of sentences (or pairs) to draw for each outcome, such as masculine.")
    ] = 20,
    pairs: Annotated[
        bool,
        typer.Option(
            "--pairs", help="Sample pairs of translations for each outcome of the pair filter, instead of sentences."
        ),
    ] = False,
    gender_from: Annotated[
        str,
        typer.Option(
            "--gender-from",
            help=f"How to detect gender: {', '.join(SOURCES)}; with conllu, FILE is parsed text in CoNLL-U format.",
        ),
    ] = "rules",
    edition: Annotated[
        str, typer.Option(help="With --pairs: the edition of the GEST sentences: `1.0` or `1.1`.")
    ] = "1.1",
    seed: Annotated[int, typer.Option(help="The seed of the random sample.")] = 0,
) -> None:
    """Draw a sample of sentences for each outcome of the gender rules: masculine, feminine or none.

    People rate the sample without seeing the outcomes. With --pairs, the sample contains masculine and feminine
    translations, and the outcomes are those of the filter that accepts or rejects gendered pairs.

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
        reject_english,
        write_sample,
    )

    if pairs:
        from tiltmeter.datasets import load
        from tiltmeter.datasets.dataset_spec import replace_edition
        from tiltmeter.datasets.gest_pair_builder import read_translations
        from tiltmeter.forms.gest import GestItem

        (source,) = replace_edition(["gest"], edition)
        sentences = [item for item in load(source, None, "en") if isinstance(item, GestItem)]
        units = build_pair_units(read_translations(Path(file)), sentences, language)
    else:
        results = list(detect_genders(file, language, gender_from))
        reject_english([text for text, _ in results], language)
        units = build_gender_units(results, language)
    chosen = draw_sample(units, per_outcome, seed)
    write_sample(out, chosen, "pairs" if pairs else "gender", count_outcomes(units))
    for label in sorted({unit.label for unit in units}):
        count = sum(unit.label == label for unit in chosen)
        typer.echo(f"{count:>6,} of {sum(unit.label == label for unit in units):,} {label}")
    print_note(f"Written to {out}; rate it with: tiltmeter make rate {out} --by NAME")


@app.command()
def evaluate(
    folders: Folders,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Print the accuracy of the gender rules, or of the pair filter, from rated samples.

    The command prints a confusion matrix with intervals, and the types of errors. The overall accuracy weights each
    outcome by its frequency in the data. For the rules, the gain says how many more sentences would have a gender if
    the rules found every gender. For the pair filter, it is the increase in the share of correct pairs.

    **Example**

    `tiltmeter gender evaluate sample-sk sample-cs`
    """
    from tiltmeter.making.rating.gender_evaluation import evaluate_samples

    found = evaluate_samples(folders)
    if not sum(found.counts.values()) + found.undecided:
        raise UsageError("The sample has no ratings; rate it with `tiltmeter make rate`.")
    if as_json:
        typer.echo(format_json(found.to_json()))
        return
    width = max(map(len, found.rows)) + 2
    widths = [max(len(column), 6) + 2 for column in found.columns]
    headings = "".join(f"{column:>{size}}" for column, size in zip(found.columns, widths, strict=True))
    typer.echo(f"{'outcome':<{width}}{headings}  correct")
    for row in found.rows:
        cells = "".join(
            f"{found.counts[row, column]:>{size},}" for column, size in zip(found.columns, widths, strict=True)
        )
        typer.echo(f"{row:<{width}}{cells}  {found.right.get(row, '')}")
    if found.shown_gender:
        typer.echo(f"correct among sentences with a detected gender: {found.shown_gender}")
    if found.overall:
        typer.echo(f"correct overall, weighted by the frequency of outcomes in the data: {found.overall}")
    if found.gain and found.about == "pairs":
        low, high = found.gain.interval
        typer.echo(
            f"the filter increases the share of correct pairs by {found.gain.value:.1f} points [{low:.1f}, {high:.1f}]"
        )
    elif found.gain:
        typer.echo(f"additional sentences with a gender if the rules found every gender: {found.gain}")
    if found.reason:
        typer.echo(f"overall accuracy and gain are undefined, because {found.reason}")
    for error, count in found.errors.most_common():
        typer.echo(f"{count:>6,} errors: {error}")
    if found.agreement.items:
        typer.echo(f"agreement between raters: {found.agreement}")
    if found.undecided or found.unrated:
        typer.echo(f"not counted: {found.undecided:,} without a majority, {found.unrated:,} not rated")
