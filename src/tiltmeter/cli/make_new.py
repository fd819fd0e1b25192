"""`tiltmeter make new`: start a project for a new test set."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.cli.output import print_note
from tiltmeter.errors import UsageError


def create_new_project(
    out: Annotated[Path, typer.Option("--out", "-o", help="Create the project in this folder.")],
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="SOURCE",
            help="The English items to translate: a data set or a .jsonl file. With --from-scratch: the form (type) of "
            "the items to write, such as gest. Not used with --from-table.",
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", "--language", metavar="CODE", help="The language of the new test set, such as es."),
    ] = None,
    system: Annotated[
        str | None,
        typer.Option(
            "--with",
            metavar="SYSTEM",
            help="The translation system: `apertium:eng-spa`, `amazon`, `deepl`, `nllb:MODEL`, `file:FILE.csv`, a chat "
            "model such as `chat:MODEL@URL` …",
        ),
    ] = None,
    from_scratch: Annotated[
        bool, typer.Option("--from-scratch", help="Let people write the items instead of translating them.")
    ] = False,
    from_table: Annotated[
        Path | None,
        typer.Option(
            "--from-table",
            metavar="FILE",
            help="Make candidate items from a CSV file of stereotypes with the columns `identity` and `attribute`, for "
            "people to edit.",
        ),
    ] = None,
    template: Annotated[
        list[str] | None,
        typer.Option(
            help="With --from-table: a sentence with {identity} and BLANK; repeat the option for more. Many languages "
            "have a default."
        ),
    ] = None,
    unrelated: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORD",
            help="With --from-table: a word that describes no group of people; repeat the option for more. Many "
            "languages have a default.",
        ),
    ] = None,
    votes: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="With --from-table: use rows that at least this many raters call a stereotype, if the file has the "
            "columns `stereotype` and `non_stereotype` (default 2).",
        ),
    ] = None,
    bias_type: Annotated[
        str | None,
        typer.Option(help="With --from-table: the bias type of the items (default nationality)."),
    ] = None,
    quota: Annotated[
        int | None,
        typer.Option(
            min=1, help="With --from-scratch: the number of items per writer and stereotype or target (default 50)."
        ),
    ] = None,
    source_language: Annotated[
        str | None,
        typer.Option(metavar="CODE", help="With --from-scratch: the language of the GEST sentences (default en)."),
    ] = None,
    pairs: Annotated[
        bool,
        typer.Option(
            "--pairs",
            help="Create pairs of a masculine and a feminine translation of GEST sentences; see --he-said, --she-said.",
        ),
    ] = False,
    he_said: Annotated[
        str | None,
        typer.Option(
            help='With --pairs: the prompt for a man, in which the sentence replaces {} (default `He said: "{}"`).'
        ),
    ] = None,
    she_said: Annotated[
        str | None,
        typer.Option(
            help='With --pairs: the prompt for a woman, in which the sentence replaces {} (default `She said: "{}"`).'
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Use at most this many items, with the same share of the items of each part."),
    ] = None,
) -> None:
    """Create a project for a new test set: a folder with the source items and the settings in `project.toml`.

    A translation system that does not translate into the language is refused; the message lists its languages.

    **Examples**

    `tiltmeter make new stereoset:en --to es --with apertium:eng-spa --out my-es`

    `tiltmeter make new gest --to sk --with file:deepl-sk.csv --pairs --out my-sk`

    `tiltmeter make new starter:en --to es --with chat:embedded --out my-chat-es`

    `tiltmeter make new gest --from-scratch --language sk --out my-sk`

    `tiltmeter make new --from-table stereotypes.csv --language de --out my-de`
    """
    from tiltmeter.making.item_makers import PROMPTS
    from tiltmeter.making.project import create_project
    from tiltmeter.making.system_languages import check_target_language
    from tiltmeter.making.writing.writing_checks import list_missing_checks
    from tiltmeter.translators.translator_protocol import SOURCE

    if to is None:
        raise UsageError("--to is missing; name the language of the test set, as in --to es.")
    if from_table is not None:
        if source or from_scratch or system or pairs or he_said or she_said or quota or source_language:
            raise UsageError("--from-table cannot be combined with SOURCE or with options of other projects.")
        _create_from_table(out, from_table, to, template or (), unrelated or (), votes, bias_type, limit)
        return
    if template or unrelated or votes or bias_type:
        raise UsageError("--template, --unrelated, --votes and --bias-type need --from-table; add --from-table FILE.")
    if source is None:
        raise UsageError("SOURCE is missing; name the data set to translate, such as stereoset:en.")
    if from_scratch:
        from tiltmeter.making.writing.written_items import create_written_project

        if system or pairs or he_said or she_said or limit:
            raise UsageError(
                "--from-scratch cannot be combined with --with, --pairs, --he-said, --she-said or --limit."
            )
        with create_written_project(
            out, source, language=to, source_language=source_language or SOURCE, quota=quota or 50
        ) as project:
            typer.echo(
                f"Project created in {out}; edit the writers and subjects in writing.toml, and the rating scales in "
                "rating.toml."
            )
            for line in list_missing_checks(project.settings):
                print_note(line)
        return
    if quota or source_language:
        raise UsageError(
            "--quota and --source-language need --from-scratch; add --from-scratch, or leave out these options."
        )
    if (he_said or she_said) and not pairs:
        raise UsageError("--he-said and --she-said need --pairs; add --pairs, or leave out these options.")
    if system is None:
        raise UsageError("--with is missing; name a translation system, or use --from-scratch.")
    if unchecked := check_target_language(system, to):
        print_note(f"Note: Tiltmeter could not check that {system} translates into {to}: {unchecked}.")
    prompts = {"masculine": he_said or PROMPTS["masculine"], "feminine": she_said or PROMPTS["feminine"]}
    with create_project(out, source, language=to, system=system, pairs=pairs, limit=limit, prompts=prompts) as project:
        typer.echo(f"{len(project.store.list_items())} items from {source}; project created in {out}")


def _create_from_table(
    out: Path,
    table: Path,
    language: str,
    templates: Sequence[str],
    unrelated: Sequence[str],
    votes: int | None,
    bias_type: str | None,
    limit: int | None,
) -> None:
    from tiltmeter.language_codes import find_language_name
    from tiltmeter.making.quality.text_language import find_other_language
    from tiltmeter.making.writing.stereotype_table import read_stereotype_table
    from tiltmeter.making.writing.template_items import TemplateOptions, create_template_project

    given = {"votes": votes, "bias_type": bias_type}
    chosen = {name: value for name, value in given.items() if value is not None}
    options = TemplateOptions(templates, unrelated, limit=limit, **chosen)  # type: ignore[arg-type]
    with create_template_project(out, table, language=language, options=options) as project:
        typer.echo(f"{len(project.store.list_items()):,} candidate items from {table}; project created in {out}")
    attributes = dict.fromkeys(row.attribute for row in read_stereotype_table(table))
    if other := find_other_language(attributes, language):
        print_note(
            f"Note: the attributes are probably {find_language_name(other) or other}, but the templates are "
            f"{find_language_name(language) or language}; check --language."
        )
    print_note(f"Each item needs a person: edit it with `tiltmeter make review {out}` or in the studio.")
