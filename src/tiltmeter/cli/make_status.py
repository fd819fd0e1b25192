"""`tiltmeter make status`: the progress of a project."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiltmeter.cli.make_options import AsJson, Folder
from tiltmeter.cli.output import print_note
from tiltmeter.printable_text import format_json

if TYPE_CHECKING:
    from tiltmeter.making.project_status import ProjectStatus


def status(
    folder: Folder,
    figure: Annotated[
        Path | None,
        typer.Option(help="Save a figure with the number of open items per subject after each step to this folder."),
    ] = None,
    reason: Annotated[
        str | None,
        typer.Option(
            help="With --figure: count only items that are open for this reason, such as `target-not-in-context`."
        ),
    ] = None,
    as_json: AsJson = False,
    item: Annotated[
        str | None, typer.Option(metavar="ID", help="Print the history of this item and nothing else.")
    ] = None,
) -> None:
    """Print the progress of a project: items per step, open items by reason and subject, decisions by reviewer.

    An item is open if it has a problem that is neither repaired nor accepted by a reviewer.

    **Examples**

    `tiltmeter make status my-es`

    `tiltmeter make status my-es --figure figures --reason target-not-in-context`
    """
    from tiltmeter.making.project import open_project
    from tiltmeter.making.project_status import compute_status
    from tiltmeter.making.review.review_status import summarise_review
    from tiltmeter.making.stage_figure import plot_stages

    with open_project(folder) as project:
        if item is not None:
            project.store.get_item(item)
            for entry in project.store.list_history(item):
                field = " ".join(filter(None, (entry.role, entry.field)))
                why = f" ({entry.why})" if entry.why else ""
                typer.echo(f"{entry.at} {entry.step} by {entry.by}: {field}: {entry.before!r} -> {entry.after!r}{why}")
            for made in project.store.list_decisions(item, undone=True):
                comment = f" ({made.comment})" if made.comment else ""
                typer.echo(f"{made.at} decision of {made.reviewer}: {made.verdict}{comment}")
            return
        state, reviewed = compute_status(project), summarise_review(project)
    if as_json:
        values = {**state.to_json(), "review": reviewed.to_json() if reviewed else None}
        typer.echo(format_json(values))
    else:
        _print_status(state)
        if reviewed:
            typer.echo("\n".join(("\nreview", *(f"        {line}" for line in reviewed.format_lines()))))
    if figure is not None:
        from tiltmeter.reports.figure_files import save_figures

        for path in save_figures([("making", plot_stages(state.stages, reason))], figure):
            print_note(f"Written to {path}")


def _print_status(state: "ProjectStatus") -> None:
    for stage in ("source", "translated", "repaired", "reviewed", "dropped"):
        if state.items[stage]:
            typer.echo(f"{state.items[stage]:>7,} {'not translated' if stage == 'source' else stage}")
    for (step, reason), count in state.dropped.most_common():
        typer.echo(f"{count:>15,} dropped in {step}: {reason}")
    if state.blanks:
        typer.echo("\nblanks")
        for (placeholder, outcome), count in state.blanks.most_common():
            typer.echo(f"{count:>7,} {outcome} ({placeholder})")
    typer.echo(f"\nopen: {state.open_items:,} items, {state.undecided:,} of them without a decision")
    for (reason, kind), count in state.count_by_reason().items():
        in_source = state.count_in_source(reason)
        typer.echo(f"{count:>7,} {reason} ({kind}{f', {in_source:,} also in the source item' if in_source else ''})")
    subjects = state.count_by_subject()
    if subjects:
        typer.echo("\nopen items by subject")
        for subject, count in list(subjects.items())[:10]:
            typer.echo(f"{count:>7,} {subject}")
        if len(subjects) > 10:
            typer.echo(f"{'':>7} and {len(subjects) - 10} more subjects")
    if state.reviewers:
        typer.echo("\ndecisions by reviewer")
        for reviewer, count in state.reviewers.items():
            typer.echo(f"{count:>7,} {reviewer}")
    stages = [stage for stage in state.stages if not stage.is_detail]
    keys = dict.fromkeys((part, reason) for stage in stages for part, reason, _ in sorted(stage.counts))
    if keys and len(stages) > 1:
        typer.echo("\nopen items by stage")
        typer.echo(f"{'':<45}" + "".join(f"{stage.name:>18}" for stage in stages))
        for part, reason in keys:
            name = " · ".join(filter(None, (part, reason)))
            typer.echo(f"{name:<45}" + "".join(f"{stage.count_open_items(part, reason):>18,}" for stage in stages))
