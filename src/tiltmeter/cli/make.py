"""`tiltmeter make`: create a test set in another language."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiltmeter.cli.make_assign import assign
from tiltmeter.cli.make_exchange import export, import_
from tiltmeter.cli.make_new import create_new_project
from tiltmeter.cli.make_options import AcceptCost, By, Folder, Limit, TranslatorDevice
from tiltmeter.cli.make_precision import precision
from tiltmeter.cli.make_rate import rate
from tiltmeter.cli.make_review import adjudicate, parse_named_values, review
from tiltmeter.cli.make_second import second
from tiltmeter.cli.make_status import status
from tiltmeter.cli.make_suggest import suggest
from tiltmeter.cli.make_terms import terms
from tiltmeter.cli.make_write import write
from tiltmeter.cli.output import format_failures, parse_choice, print_note
from tiltmeter.errors import UsageError

if TYPE_CHECKING:
    from tiltmeter.making.quality.untranslated_items import UntranslatedCounts

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Create a test set in another language: translate, repair, review and publish items.",
)

app.command("new")(create_new_project)

Part = Annotated[
    str | None, typer.Option(help="Process only items of this part of the data set, such as `intrasentence`.")
]


@app.command("source")
def prepare_source(
    folder: Folder,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Write all problems of source items to this CSV file, with columns for your corrections.",
        ),
    ] = None,
    fix: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="Apply the corrections that you entered in a file that --out wrote."),
    ] = None,
    drop: Annotated[str | None, typer.Option(metavar="ID", help="Drop this item; needs --why.")] = None,
    names: Annotated[
        bool,
        typer.Option("--names", help="Replace pronouns by names in pairs whose sentences differ only in a pronoun."),
    ] = False,
    by: By = "",
    why: Annotated[str, typer.Option(help="The reason for --drop.")] = "",
) -> None:
    """Check the source items of a project, and correct or drop them before translation; your reasons are stored.

    --out writes a CSV file with one row per problem. Fill in the columns `action` (`correct`, `drop` or `restore`),
    `reason` and, for a correction, `field` and `text`; then apply the file with --fix.

    **Examples**

    `tiltmeter make source my-es --out problems.csv`

    `tiltmeter make source my-es --fix problems.csv --by Ana`
    """
    from collections import Counter

    from tiltmeter.making import source_corrections as step
    from tiltmeter.making.project import open_project

    with open_project(folder) as project:
        if (fix or drop or names) and not by:
            raise UsageError("--by is missing; give your name, which is stored in the history of the items.")
        if names:
            typer.echo(f"{step.replace_pronouns_in_pairs(project, by=by):,} pairs with names instead of pronouns")
        if fix is not None:
            done = step.apply_corrections(project, fix, by=by)
            typer.echo(f"{done.corrected:,} corrected, {done.dropped:,} dropped, {done.restored:,} restored")
        if drop is not None:
            step.drop_item(project, drop, by=by, why=why)
            step.record_source_step(project)
        if out is not None:
            step.write_problems(project, out)
        problems = step.check_source(project)
        typer.echo(
            f"{len(project.store.list_items()):,} items, {len({problem.item for problem in problems}):,} with problems"
        )
        for code, count in Counter(code for _, code in {(p.item, p.code) for p in problems}).most_common():
            typer.echo(f"{count:>7,} {code}")
            for problem in [problem for problem in problems if problem.code == code][:3]:
                typer.echo(f"{'':<8}item {problem.item}, {problem.field}: {problem.message}")


@app.command()
def translate(
    folder: Folder,
    part: Part = None,
    limit: Limit = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print the numbers of texts and characters and the cost; translate nothing."),
    ] = False,
    yes: AcceptCost = False,
    device: TranslatorDevice = "auto",
) -> None:
    """Translate the items that have no translation yet, with the translation system of the project.

    The number of characters and the cost are printed first. Texts are sent to a paid service only with --yes. Each
    translation is stored when it arrives, so the same command continues after an interruption without paying twice.

    **Example**

    `tiltmeter make translate my-es`
    """
    from tiltmeter.making.project import open_project, reject_written_project
    from tiltmeter.making.translation_step import estimate_volume, select_untranslated, translate_project
    from tiltmeter.progress.terminal_progress import show_in_terminal
    from tiltmeter.translators import open_translator
    from tiltmeter.translators.word_alignment import find_aligner

    with open_project(folder) as project:
        reject_written_project(project)
        translator = open_translator(project.settings.system, device=device)
        selected = select_untranslated(project, part=part, limit=limit)
        expected = estimate_volume(project, translator, selected)
        typer.echo(f"{len(selected):,} items to translate with {translator.name}")
        for kind, count in expected.texts.most_common():
            typer.echo(f"{count:>9,} {kind + 's':<16}{expected.characters[kind]:>10,} characters")
        new = f"{expected.new_texts:,} texts, {expected.new_characters:,} characters"
        price = translator.price
        cost = f", about {expected.new_characters / 1e6 * price.per_million:,.2f} {price.currency}" if price else ""
        typer.echo(f"to be sent now: {new}{cost}")
        if dry_run:
            return
        with show_in_terminal("translate") as report:
            aligner = find_aligner()
            done = translate_project(
                project, translator, part=part, limit=limit, yes=yes, aligner=aligner, report=report
            )
        typer.echo(f"{done.items:,} items translated in {done.seconds:,.0f} s")
        for outcome, count in done.blanks.most_common():
            typer.echo(f"{count:>9,} blanks {outcome}")
        if done.failed:
            print_note(
                f"{len(done.failed):,} items stay untranslated, because {translator.name} gave no usable reply "
                f"about them: {format_failures(done.failed)}. Run the same command to ask again."
            )
        _print_untranslated(done.untranslated)
        if done.not_translated:
            print_note(
                f"{done.not_translated:,} items are not translated completely, because {translator.name} returned no "
                "translation for some of their texts."
            )


@app.command()
def repair(
    folder: Folder,
    steps: Annotated[
        str | None,
        typer.Option(metavar="STEP,...", help="Run only these repair steps; docs/how-to/repair.md lists all steps."),
    ] = None,
    align: Annotated[
        bool, typer.Option("--align/--no-align", help="Use word alignment if the package eflomal is installed.")
    ] = True,
) -> None:
    """Repair translated items: certain repairs are applied, likely repairs are proposed to reviewers.

    Problems without a repair are queued for review. In a project of gendered pairs, a sentence is dropped if its
    translations do not form a pair of a masculine and a feminine sentence.

    **Example**

    `tiltmeter make repair my-es`
    """
    from tiltmeter.making.project import open_project
    from tiltmeter.making.repair import STEPS
    from tiltmeter.making.repair_step import repair_project
    from tiltmeter.translators.word_alignment import find_aligner

    chosen = tuple(filter(None, (steps or "").split(","))) or tuple(STEPS)
    with open_project(folder) as project:
        done = repair_project(project, steps=chosen, aligner=find_aligner() if align else None)
    aligned = f", {done.pairs:,} sentence pairs aligned by {done.aligner}" if done.aligner else ""
    typer.echo(f"{done.items:,} items in {done.seconds:,.0f} s{aligned}")
    for (rule, kind), count in done.findings.most_common():
        typer.echo(f"{count:>9,} {kind:<9}{rule}")
    for reason, count in done.dropped.most_common():
        typer.echo(f"{count:>9,} dropped, because {reason}")
    _print_untranslated(done.untranslated)


app.command()(second)
app.command()(precision)
app.command()(suggest)
app.command()(terms)
app.command()(review)
app.command()(adjudicate)
app.command()(assign)
app.command()(write)
app.command()(rate)
app.command()(status)
app.command()(export)
app.command("import")(import_)


@app.command()
def publish(
    folder: Folder,
    out: Annotated[Path, typer.Option("--out", "-o", help="Write the finished test set to this folder.")],
    open_items: Annotated[
        str,
        typer.Option(
            "--open",
            help="If items have open problems: `refuse` to publish, `keep` the items, or `leave-out` the items.",
        ),
    ] = "refuse",
    licence: Annotated[
        str, typer.Option(help="The licence, such as CC-BY-SA-4.0; the default is the licence of the source items.")
    ] = "",
    accept: Annotated[
        list[str] | None,
        typer.Option(
            metavar="untranslated=REASON",
            help="Publish although the share of items with untranslated text is above `untranslated_share` in "
            "project.toml; the reason is printed in the data card.",
        ),
    ] = None,
) -> None:
    """Write the finished items of a project as JSONL, with a data card and a changelog since the last publication.

    Publishing requires a licence. If the source items have a share-alike licence, their translations keep it.
    Publishing is refused if too many items have untranslated text (setting `untranslated_share`, by default 2%), unless
    you accept this with a reason.

    **Examples**

    `tiltmeter make publish my-es --out es --open keep`

    `tiltmeter make publish my-es --out es --open keep --accept untranslated="names of dishes"`

    `tiltmeter run bert-base-multilingual-cased --on es/`
    """
    from tiltmeter.making.project import open_project
    from tiltmeter.making.publication import OPEN_ITEMS, publish_project

    choice = parse_choice(open_items, OPEN_ITEMS, "--open")
    with open_project(folder) as project:
        reasons = parse_named_values(accept, "--accept")
        edition = publish_project(project, out, open_items=choice or "refuse", licence=licence, accepted=reasons)
    left_out = len(edition.facts["left_out"])
    state = f"edition {edition.number}" if edition.is_new else f"edition {edition.number}, unchanged"
    typer.echo(f"{edition.facts['items']:,} items, {left_out:,} left out, {edition.facts['licence']}, {state}")
    print_note(f"Written to {out}")


def _print_untranslated(counts: "UntranslatedCounts") -> None:
    typer.echo(f"{len(counts.untranslated):>9,} items with untranslated text")
    if counts.limits:
        print_note(f"Note: loan words count as untranslated text, because {counts.limits}.")
