"""The guidelines and the notice about contents on the command line, printed once for each person and project."""

from typing import TYPE_CHECKING

from tiltmeter.cli.output import print_note

if TYPE_CHECKING:
    from tiltmeter.making.project import Project


def print_unread_notice(project: "Project", name: str) -> None:
    """Print the guidelines and the notice about contents on standard error, unless this person has read them."""
    from tiltmeter.studio.interface_texts import load_project_texts

    if project.has_read_notice(name):
        return
    texts = load_project_texts(project.folder)
    print_note(texts("notice.about").unescape())
    if warning := project.settings.facts.warning:
        print_note(texts("notice.source", warning="{warning}").unescape().replace("{warning}", warning))
    if guidelines := project.read_guidelines():
        print_note(f"{texts('notice.guidelines').unescape()}:\n{guidelines}")
    project.record_notice(name)
