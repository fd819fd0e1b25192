"""`tiltmeter make review` and `make adjudicate`: decide on items from the command line."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from tiltmeter.cli.content_notice import print_unread_notice
from tiltmeter.cli.make_options import AsJson, Folder
from tiltmeter.cli.output import parse_choice, print_note
from tiltmeter.errors import UsageError
from tiltmeter.printable_text import format_json

if TYPE_CHECKING:
    from tiltmeter.making.review.review import Review
    from tiltmeter.making.review.review_views import ReviewItem

VIA = "command line"

ItemId = Annotated[str | None, typer.Option("--item", metavar="ID", help="The id of the item to decide on.")]
Texts = Annotated[
    list[str] | None,
    typer.Option(
        "--text",
        metavar="FIELD=TEXT",
        help="With --decision edit: the new text of a field; repeat the option for more.",
    ),
]
Accepted = Annotated[
    list[str] | None,
    typer.Option(
        "--accept-finding",
        metavar="CODE=REASON",
        help="Accept a warning about the item, with a reason; repeat the option for more.",
    ),
]
Comment = Annotated[str, typer.Option(help="The reason for the decision, which is stored in the item's history.")]


def review(
    folder: Folder,
    by: Annotated[str | None, typer.Option("--by", metavar="NAME", help="The name of the reviewer.")] = None,
    item: ItemId = None,
    decision: Annotated[str | None, typer.Option(help="The decision: `accept`, `edit` or `drop`.")] = None,
    text: Texts = None,
    proposal: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=N",
            help="With --decision edit: use the proposed text number N for a field; repeat the option for more.",
        ),
    ] = None,
    accept_finding: Accepted = None,
    comment: Comment = "",
    undo: Annotated[
        bool, typer.Option("--undo", help="Withdraw the last decision of the reviewer, or the decision on --item.")
    ] = False,
    others: Annotated[
        bool,
        typer.Option(
            "--others", help="Print the decisions of other reviewers on --item; you must have decided on it yourself."
        ),
    ] = False,
    add_reviewer: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Add a reviewer to the project; repeat the option for more."),
    ] = None,
    guidelines: Annotated[bool, typer.Option("--guidelines", help="Print the guidelines for reviewers.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print the review queue; with --by, print the next item for a reviewer; with --decision, decide on --item.

    Reviewers see the decisions of other reviewers on an item only after their own decision. `project.toml` sets the
    number of reviewers per item, and how many of them have to agree.

    **Examples**

    `tiltmeter make review my-es --add-reviewer Ana --add-reviewer Eva`

    `tiltmeter make review my-es --by Ana`

    `tiltmeter make review my-es --by Ana --item i1 --decision edit --proposal target_term=1`
    """
    from tiltmeter.making.project import open_project
    from tiltmeter.making.review.review import Review
    from tiltmeter.making.review.review_rule import VERDICTS

    verdict = parse_choice(decision, VERDICTS, "--decision")
    with open_project(folder) as project:
        session = Review(project)
        for name in add_reviewer or ():
            session.add_reviewer(name)
        if guidelines:
            typer.echo(
                session.read_guidelines() or "There are no guidelines; set `guidelines` in project.toml to a file."
            )
        elif by is None:
            if verdict or undo or others:
                raise UsageError("--by is missing; give the name of the reviewer.")
            _print_queue(session, as_json=as_json)
        elif undo:
            undone = session.undo_decision(by, item)
            typer.echo(f"{undone.item}: decision to {undone.verdict} withdrawn")
        elif others:
            for other in session.reveal_other_decisions(_require_item(item), by):
                typer.echo(f"{other.reviewer}: {other.verdict} {_format_changes(other.texts)} {other.comment}".rstrip())
        elif verdict:
            outcome = session.decide_on_item(
                by,
                _require_item(item),
                verdict,
                texts=parse_named_values(text, "--text"),
                proposals=_parse_numbers(proposal),
                accepted=parse_named_values(accept_finding, "--accept-finding"),
                comment=comment,
                via=VIA,
            )
            typer.echo(f"{item}: {outcome.state}")
        else:
            shown = session.show_item(item, by) if item else session.take_next_item(by)
            print_unread_notice(project, by)
            _print_item(shown, as_json=as_json)


def adjudicate(
    folder: Folder,
    by: Annotated[
        str | None, typer.Option("--by", metavar="NAME", help="The name of the person who settles the conflict.")
    ] = None,
    item: ItemId = None,
    take: Annotated[str | None, typer.Option(metavar="NAME", help="Adopt the decision of this reviewer.")] = None,
    decision: Annotated[
        str | None, typer.Option(help="A new decision instead of --take: `accept`, `edit` or `drop`.")
    ] = None,
    text: Texts = None,
    accept_finding: Accepted = None,
    comment: Comment = "",
    as_json: AsJson = False,
) -> None:
    """Print the items on which reviewers disagree; with --item, settle one of them.

    **Examples**

    `tiltmeter make adjudicate my-es`

    `tiltmeter make adjudicate my-es --by Ida --item i1 --take Ana --comment "the term of the dictionary"`
    """
    from tiltmeter.making.project import open_project
    from tiltmeter.making.review.review import Review
    from tiltmeter.making.review.review_rule import VERDICTS

    verdict = parse_choice(decision, VERDICTS, "--decision")
    with open_project(folder) as project:
        session = Review(project)
        if item is None:
            _print_conflicts(session, as_json=as_json)
            return
        if by is None:
            raise UsageError("--by is missing; give the name of the person who settles the conflict.")
        session.add_reviewer(by)
        outcome = session.settle_conflict(
            by,
            item,
            verdict,
            take=take,
            texts=parse_named_values(text, "--text"),
            accepted=parse_named_values(accept_finding, "--accept-finding"),
            comment=comment,
            via=VIA,
        )
        typer.echo(f"{item}: {outcome.state}")


def _print_queue(session: "Review", *, as_json: bool) -> None:
    queue = session.list_queue()
    if as_json:
        typer.echo(format_json([asdict(entry) for entry in queue]))
        return
    for entry in queue:
        why = ", ".join(entry.reasons)
        decided = f"{entry.decisions} of {session.rule.reviewers}"
        typer.echo(f"{entry.item}\t{entry.state}\t{decided}\t{entry.quality:.2f}\t{entry.subject}\t{why}")
    if not queue:
        print_note("The review queue is empty.")


def _print_item(item: "ReviewItem | None", *, as_json: bool) -> None:
    if as_json:
        typer.echo(format_json(asdict(item) if item else None))
        return
    if item is None:
        print_note("There are no more items for this reviewer.")
        return
    typer.echo(" · ".join(filter(None, (item.item, item.part, item.subject))))
    for field, source in item.source.items():
        role = f" ({item.names[field]})" if field in item.names else ""
        typer.echo(f"\n{field}{role}\n  {source}\n  {item.texts[field]}")
    numbers: dict[str, int] = {}
    for problem in item.problems:
        typer.echo(
            f"\n{problem.kind}: {problem.reason}{f' in {problem.field}' if problem.field else ''}: {problem.message}"
        )
        for text in problem.proposals:
            numbers[problem.field] = numbers.get(problem.field, 0) + 1
            typer.echo(f"  {numbers[problem.field]}. {text}")


def _print_conflicts(session: "Review", *, as_json: bool) -> None:
    conflicts = session.list_conflicts()
    if as_json:
        typer.echo(format_json([asdict(conflict) for conflict in conflicts]))
        return
    for conflict in conflicts:
        _print_item(conflict.item, as_json=False)
        for decision in conflict.decisions:
            changed = {field: text for field, text in decision.texts.items() if text != conflict.item.texts.get(field)}
            typer.echo(
                f"\n{decision.reviewer}: {decision.verdict} {_format_changes(changed)} {decision.comment}".rstrip()
            )
    if not conflicts:
        print_note("There are no conflicts between reviewers.")


def _format_changes(texts: object) -> str:
    return format_json(texts, indent=None) if texts else ""


def _require_item(item: str | None) -> str:
    if item is None:
        raise UsageError("--item is missing; give the id of the item.")
    return item


def parse_named_values(texts: Sequence[str] | None, option: str) -> dict[str, str]:
    """Parse texts such as `context=Er war BLANK.`, and return a dictionary from names to values."""
    values = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"{option} {text} has no equals sign; write it as NAME=VALUE.")
        values[name.strip()] = value
    return values


def _parse_numbers(texts: Sequence[str] | None) -> dict[str, int]:
    numbers = {}
    for field, number in parse_named_values(texts, "--proposal").items():
        if not number.strip().isdigit():
            raise UsageError(f"--proposal {field}={number} does not end in a number; write it as FIELD=NUMBER.")
        numbers[field] = int(number)
    return numbers
