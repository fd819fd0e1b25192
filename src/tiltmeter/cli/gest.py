"""`tiltmeter gest`: commands for the GEST benchmark only."""

from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.errors import UsageError

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Analyses for GEST: pairs of gendered translations, correlation with WinoBias, topics and negation.",
)
pairs = typer.Typer(
    no_args_is_help=True, rich_markup_mode="markdown", help="Build pairs of masculine and feminine translations."
)
app.add_typer(pairs, name="pairs")


@pairs.callback()
def _describe_pairs_group() -> None:
    """Build pairs of masculine and feminine translations."""


@pairs.command("build")
def build_pairs_file(
    translations: Annotated[
        list[Path],
        typer.Argument(metavar="FILE.csv", help="CSV files of translations with the columns `from` and `to`."),
    ],
    language: Annotated[str, typer.Option(metavar="CODE", help="The target language of the translations, such as sk.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The JSONL file to write.")],
    system: Annotated[
        str, typer.Option(metavar="NAME", help="The name of the translation system, stored in the pairs.")
    ] = "",
    edition: Annotated[str, typer.Option(help="The edition (version) of the GEST sentences: `1.0` or `1.1`.")] = "1.1",
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Build pairs of masculine and feminine translations of the same sentences.

    The files must contain translations of the GEST sentences, both alone and in prompts such as `She said: "…"`,
    `The man said: "…"` or `Woman: …`. Two translations form a pair if the translation of the sentence alone shows a
    gender, and if the translation in a prompt for the other gender differs from the first translation in one word.

    **Example**

    `tiltmeter gest pairs build deepl-sk.csv --language sk --system DeepL --edition 1.0 --out pairs.sk.jsonl`

    `tiltmeter run xlm-roberta-base --on pairs.sk.jsonl`
    """
    from tiltmeter.datasets import load
    from tiltmeter.datasets.dataset_spec import replace_edition
    from tiltmeter.datasets.gest_pair_builder import build_pairs, read_translations
    from tiltmeter.datasets.readers.jsonl import write_jsonl
    from tiltmeter.forms.gest import GestItem

    if out.suffix != ".jsonl":
        raise UsageError(f"{out} does not end in .jsonl; choose a file name that ends in .jsonl.")
    if out.exists() and not force:
        raise UsageError(f"{out} already exists; choose another file, or replace it with --force.")
    (source,) = replace_edition(["gest"], edition)
    sentences = [item for item in load(source, None, "en") if isinstance(item, GestItem)]
    texts = [pair for path in translations for pair in read_translations(path)]
    built = build_pairs(texts, sentences, language, system)
    typer.echo(f"{len(sentences):>6} sentences")
    for reason, count in built.rejected.most_common():
        typer.echo(f"{-count:>6} because {reason}")
    typer.echo(f"{len(built.pairs):>6} pairs")
    if not built.pairs:
        raise UsageError(f"No pairs were built, so {out} is not written; check the language and the prompts.")
    write_jsonl(built.pairs, out)


@app.command("sentences")
def write_sentences(
    on: Annotated[str, typer.Argument(metavar="TEST:LANGUAGE", help="The test and the language, such as gest-mt:sk.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The CSV file to write.")],
    edition: Annotated[str, typer.Option(help="The edition (version) of the GEST sentences: `1.0` or `1.1`.")] = "1.1",
    limit: Annotated[int | None, typer.Option(min=1, help="Maximum number of items of each part.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Write the sentences that a translation system must translate, as CSV with the columns `from` and `to`.

    Fill in the column `to` with the translations, and score the file with `tiltmeter run --translations`.

    **Examples**

    `tiltmeter gest sentences gest-mt:sk --out to-translate.csv`

    `tiltmeter run --translations to-translate.csv --system "My system" --on gest-mt:sk`
    """
    from tiltmeter.csv_text import format_csv
    from tiltmeter.datasets.dataset_loader import reject_text_export
    from tiltmeter.files import write_text
    from tiltmeter.runs.translation.translation_tasks import load_target

    if out.exists() and not force:
        raise UsageError(f"{out} already exists; choose another file, or replace it with --force.")
    target = load_target(on, edition).limit_items(limit)
    if len(target.directions) != 1:
        raise UsageError(f"A file of translations is for one language, but {on} has several; select one language.")
    reject_text_export(target.source)
    texts = list(dict.fromkeys(target.list_texts()))
    # The byte order mark lets spreadsheet programs detect the encoding.
    write_text(out, "\ufeff" + format_csv(["from", "to"], ([text, ""] for text in texts)))
    typer.echo(f"{len(texts):,} sentences written to {out}", err=True)


@app.command("validity")
def print_validity(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Folders of runs on `gest` and `winobias`.")],
    part: Annotated[
        str, typer.Option(help="The part of WinoBias, such as `type1-test` or `type2-dev`.")
    ] = "type1-test",
    as_published: Annotated[
        bool, typer.Option("--as-published", help="Compute g_s on the scale of the tables in the GEST paper.")
    ] = False,
) -> None:
    """Print the correlation between the bias measure g_s on GEST and g_s on WinoBias, over the models of runs.

    **Example**

    `tiltmeter run bert-base-uncased roberta-base albert-base-v2 xlm-roberta-base --on gest --on winobias -o runs/both`

    `tiltmeter gest validity runs/both`
    """
    from tiltmeter.forms.winobias import PARTS
    from tiltmeter.measures.winobias import compute_validity, pair_validity_records
    from tiltmeter.runs.result import Result

    if part not in PARTS:
        raise UsageError(f"WinoBias has no part {part!r}; its parts are {', '.join(PARTS)}.")
    records = [record for run in runs for record in Result.load(run).records]
    result = compute_validity(records, part=part, as_published=as_published)
    width = max(len(model) for model in result.models)
    typer.echo(f"{'':<{width}}  {'gest':>7}  winobias/{part}")
    for model, gest, winobias in zip(result.models, result.gest, result.winobias, strict=True):
        typer.echo(f"{model:<{width}}  {gest:>7.3f}  {winobias:>7.3f}")
    typer.echo(
        f"Pearson's r {result.correlation:.3f} [{result.low:.3f}, {result.high:.3f}], p {result.p_value:.2g}, "
        f"{len(result.models)} models"
    )
    kinds = {gest.kind or "unknown kind" for gest, _ in pair_validity_records(records, part=part).values()}
    if len(kinds) > 1:
        typer.echo(f"Note: models of different kinds ({', '.join(sorted(kinds))}) are not comparable.")


@app.command("theme")
def compare_topic(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="The folder of a run of language models on items of the form GEST.")
    ],
    words: Annotated[
        Path | None,
        typer.Option("--theme", metavar="WORDS.txt", help="A file with English words of a topic, one per line."),
    ] = None,
    negation: Annotated[
        bool,
        typer.Option(
            "--negation", help="Instead of --theme: select sentences with a negation, such as not, never or nobody."
        ),
    ] = False,
) -> None:
    """Compare the masculine rates of sentences with certain words and of other sentences about the same stereotypes.

    The masculine rate measures how strongly a model prefers a masculine speaker. Words are searched in the English
    sentences as whole words. A ratio below 1 means that the masculine rate is lower in sentences with these words.

    **Example**

    `tiltmeter gest theme runs/gest --theme family.txt`

    `tiltmeter gest theme runs/gest --negation`
    """
    from tiltmeter.datasets.readers.decoded_text import read_text
    from tiltmeter.measures.themes import NEGATION, has_words, list_theme_contrasts
    from tiltmeter.runs.result import Result
    from tiltmeter.text_files import split_lines

    if (words is None) == (not negation):
        raise UsageError("Give either --theme with a file of words, or --negation.")
    theme_words = NEGATION if words is None else tuple(filter(None, map(str.strip, split_lines(read_text(words)))))
    if not theme_words:
        raise UsageError(f"{words} contains no words; write one word per line.")
    result = Result.load(run)
    scores = result.scores[result.scores["role"] == "log_ratio"]
    has_stereotypes = "stereotype" in scores.columns and scores["stereotype"].notna().any()
    if not has_stereotypes or result.texts is None:
        raise UsageError(f"{run} has no scores and texts of GEST items; give a run of language models on `gest`.")
    matches = {
        (benchmark, language, item)
        for benchmark, language, item, text in zip(
            *(result.texts[name] for name in ("benchmark", "language", "item", "context")), strict=True
        )
        if has_words(str(text or ""), theme_words)
    }
    contrasts = list_theme_contrasts(scores, matches)
    if not contrasts:
        raise UsageError(f"No stereotype in {run} has sentences both with and without these words; choose other words.")
    for contrast in contrasts:
        interval = "no interval" if contrast.low is None else f"[{contrast.low:.3f}, {contrast.high:.3f}]"
        gender = "women" if contrast.side == "feminine" else "men"
        typer.echo(
            f"{contrast.where}, stereotypes about {gender}: ratio of masculine rates {contrast.ratio:.3f} {interval} "
            f"({contrast.n} sentences with the words, {contrast.others} without)"
        )
