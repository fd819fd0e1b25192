"""`tiltmeter gest`: what belongs to GEST alone."""

from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.errors import UsageError

app = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown", help="What belongs to GEST alone.")
pairs = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown", help="Pairs of gendered translations.")
app.add_typer(pairs, name="pairs")


@pairs.callback()
def _pairs() -> None:
    """Pairs of gendered translations."""


@pairs.command()
def build(
    translations: Annotated[
        list[Path], typer.Argument(metavar="FILE.csv...", help="Translations, in the columns `from` and `to`.")
    ],
    language: Annotated[str, typer.Option(metavar="CODE", help="The language that was translated into, such as sk.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The .jsonl file to write.")],
    system: Annotated[str, typer.Option(metavar="NAME", help="What translated them.")] = "",
    edition: Annotated[str, typer.Option(help="Of the sentences: `1.0` or `1.1`.")] = "1.1",
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
) -> None:
    """Pair up default and gender-prompted translations of the same sentences.

    Wanted are the sentences of GEST by themselves, and in prompts such as `She said: "…"`, `The man said: "…"` or
    `Woman: …`. Where the default translation shows a gender, and that of a prompt for the other gender differs from it
    in one word, the two are a pair.

    **Example**

    `tiltmeter gest pairs build deepl-sk.csv --language sk --system DeepL --edition 1.0 --out pairs.sk.jsonl`

    `tiltmeter run xlm-roberta-base --on pairs.sk.jsonl`
    """
    from tiltmeter.datasets import load
    from tiltmeter.datasets.build_pairs import build_pairs, read_translations
    from tiltmeter.datasets.readers.jsonl import write_jsonl
    from tiltmeter.datasets.spec import with_edition
    from tiltmeter.forms.gest import GestItem

    if out.suffix != ".jsonl":
        raise UsageError(f"{out} should end in .jsonl, by which a file of items is known.")
    if out.exists() and not force:
        raise UsageError(f"{out} is there already; --force replaces it.")
    (source,) = with_edition(["gest"], edition)
    sentences = [item for item in load(source, None, "en") if isinstance(item, GestItem)]
    made = [pair for path in translations for pair in read_translations(path)]
    built = build_pairs(made, sentences, language, system)
    typer.echo(f"{len(sentences):>6} sentences")
    for reason, count in built.rejected.most_common():
        typer.echo(f"{-count:>6} because {reason}")
    typer.echo(f"{len(built.pairs):>6} pairs")
    if not built.pairs:
        raise UsageError(f"There is not a single pair, so {out} is not written.")
    write_jsonl(built.pairs, out)


@app.command()
def validity(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs on gest and on winobias.")],
    part: Annotated[str, typer.Option(help="The part of WinoBias: `type1-test`, `type2-dev` …")] = "type1-test",
    as_published: Annotated[bool, typer.Option("--as-published", help="On the scale of the paper's tables.")] = False,
) -> None:
    """How well g_s of GEST goes with g_s of WinoBias, over the models of one run or several.

    **Example**

    `tiltmeter run bert-base-uncased roberta-base albert-base-v2 xlm-roberta-base --on gest --on winobias -o runs/both`

    `tiltmeter gest validity runs/both`
    """
    from tiltmeter.forms.winobias import PARTS
    from tiltmeter.measures.winobias import validity as validity_of
    from tiltmeter.runs import Result

    if part not in PARTS:
        raise UsageError(f"WinoBias has no part {part!r}; its parts are {', '.join(PARTS)}.")
    records = [record for run in runs for record in Result.load(run).records]
    found = validity_of(records, part=part, as_published=as_published)
    width = max(len(model) for model in found.models)
    typer.echo(f"{'':<{width}}  {'gest':>7}  winobias/{part}")
    for model, gest, winobias in zip(found.models, found.gest, found.winobias, strict=True):
        typer.echo(f"{model:<{width}}  {gest:>7.3f}  {winobias:>7.3f}")
    typer.echo(
        f"Pearson's r {found.correlation:.3f} [{found.low:.3f}, {found.high:.3f}], p {found.p_value:.2g}, "
        f"{len(found.models)} models"
    )
