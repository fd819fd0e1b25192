"""`tiltmeter train pairs`: create sentence pairs from articles."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tiltmeter.cli.output import parse_choice, print_note
from tiltmeter.errors import UsageError
from tiltmeter.printable_text import create_plain_console

if TYPE_CHECKING:
    from tiltmeter.training.pairs_creation import Parts

_PARTS: "tuple[Parts, ...]" = ("equal", "all")


def create_pairs(
    articles: Annotated[
        list[str],
        typer.Option(
            "--articles",
            metavar="LANGUAGE=SOURCE",
            help="The articles: a folder of text or HTML files, a .jsonl file, a Wikipedia dump or hf:NAME:CONFIG (a "
            "data set of the Hugging Face hub); repeat the option for more.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Write the pairs to this folder.")],
    held_out: Annotated[
        float, typer.Option(help="The share of articles that are held out from training, for evaluation.")
    ] = 0.1,
    parts: Annotated[
        str, typer.Option(help="Keep an `equal` number of training pairs for each language, or `all` pairs.")
    ] = "equal",
    limit: Annotated[int | None, typer.Option(min=1, help="Use at most this many articles of each source.")] = None,
    seed: Annotated[int, typer.Option(help="The random seed for held-out articles and pairs.")] = 0,
    check_language: Annotated[
        bool,
        typer.Option(
            "--check-language/--no-check-language",
            help="Whether to drop English sentences from articles in other languages.",
        ),
    ] = True,
    processes: Annotated[
        int, typer.Option(min=1, max=1024, help="The number of processes for splitting sentences.")
    ] = 1,
) -> None:
    """Create sentence pairs from articles: half with the next sentence, half with a sentence of another article.

    Repeated sentences are dropped, and so are English sentences in articles of other languages. An article is held out
    in all languages or in none. The result does not depend on the number of processes or the order of files.

    **Examples**

    `tiltmeter train pairs --articles en=help/en/ --articles de=help/de/ --out pairs`

    `tiltmeter train pairs --articles news.jsonl --held-out 0.2 --out pairs`

    `tiltmeter train pairs --articles en=hf:wikimedia/wikipedia:20231101.en --limit 110000 --out pairs`

    `tiltmeter train pairs --articles tr=trwiki-latest-pages-articles.xml.bz2 --processes 8 --out pairs`
    """
    write_pairs(
        articles,
        out,
        held_out=held_out,
        parts=parse_choice(parts, _PARTS, "--parts") or "equal",
        limit=limit,
        seed=seed,
        check_language=check_language,
        processes=processes,
    )
    print_note(f"Written to {out}")


def write_pairs(articles: list[str], out: Path, *, processes: int = 1, **options: Any) -> None:
    """Create sentence pairs, show the progress, and print a summary and warnings.

    `options` are fields of `PairOptions`.
    """
    from tiltmeter.progress.terminal_progress import show_in_terminal

    try:
        import py3langid  # noqa: F401
        import selectolax  # noqa: F401
        import sentencex  # noqa: F401
    except ImportError as error:
        raise UsageError(f"{error.name} is not installed; install it with: pip install 'tiltmeter[train]'") from error

    from tiltmeter.training.article_sources import open_sources
    from tiltmeter.training.pairs_creation import PairOptions, make_pairs
    from tiltmeter.training.pairs_summary import build_summary_table

    sources = open_sources(articles)
    summary = make_pairs(sources, out, PairOptions(**options), processes=processes, watch=show_in_terminal)
    create_plain_console().print(build_summary_table(summary))
    for warning in summary.warnings:
        print_note(f"Warning: {warning}")
