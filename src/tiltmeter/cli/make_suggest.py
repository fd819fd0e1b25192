"""`tiltmeter make suggest`: proposals of a chat model for reviewers."""

from typing import Annotated

import typer

from tiltmeter.cli.make_options import Folder
from tiltmeter.cli.output import format_failures, print_note
from tiltmeter.errors import UsageError


def suggest(
    folder: Folder,
    model: Annotated[
        str,
        typer.Option(
            "--with", metavar="MODEL", help="The chat model: `chat:MODEL@URL`, `chat:embedded`, `anthropic:MODEL` …"
        ),
    ],
    item: Annotated[str | None, typer.Option(metavar="ID", help="Ask only about this item.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Ask about at most this many items.")] = None,
    device: Annotated[str, typer.Option(help="The device for a local model: `auto`, `cpu`, `cuda` …")] = "auto",
) -> None:
    """Ask a chat model for corrections of items in the review queue; people decide on its proposals.

    The model gets the texts, their translations and the open problems of an item. It proposes corrected texts, with an
    explanation in one sentence. The proposals appear in the review like all others; no text is changed. Items on which
    somebody has decided are left out. If you repeat the command, new proposals of the model replace its earlier ones.

    **Example**

    `tiltmeter make suggest my-es --with chat:embedded --limit 2`
    """
    from tiltmeter.making.project import open_project
    from tiltmeter.making.quality.chat_suggestions import suggest_corrections
    from tiltmeter.models.model_opener import is_chat_model, use_model
    from tiltmeter.models.model_protocol import ChatModel
    from tiltmeter.models.option_scope import reject_unused_options
    from tiltmeter.options import ModelOptions
    from tiltmeter.progress.terminal_progress import show_in_terminal

    if not is_chat_model(model):
        raise UsageError(f"{model} is not a chat model; use for example chat:MODEL@ADDRESS or chat:embedded.")
    options = ModelOptions(device=device)
    reject_unused_options([model], options)
    with open_project(folder) as project, use_model(model, options) as opened, show_in_terminal("suggest") as report:
        assert isinstance(opened, ChatModel)
        done = suggest_corrections(project, opened, item=item, limit=limit, report=report)
    typer.echo(
        f"{done.items:,} items in {done.seconds:,.0f} s: {done.proposed:,} with proposals, {done.unchanged:,} without, "
        f"{len(done.failed):,} without a usable reply"
    )
    if done.failed:
        print_note(f"No usable reply about {format_failures(done.failed)}. Run the same command to ask again.")
