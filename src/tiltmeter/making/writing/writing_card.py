"""The section of the data card about written items: writers, subjects, raters and their agreement."""

from collections import Counter

from tiltmeter.making.item_makers import WRITTEN
from tiltmeter.making.project import Project
from tiltmeter.making.writing.writing_checks import list_missing_checks
from tiltmeter.making.writing.written_item_ratings import load_rating
from tiltmeter.making.writing.written_items import count_written_items, load_writing_plan


def render_writing_section(project: Project) -> str:
    """Return the section about writing as Markdown; an empty text if the items are translated, not written."""
    if project.settings.system != WRITTEN:
        return ""
    plan, counts = load_writing_plan(project), count_written_items(project)
    by_writer: Counter[str] = Counter()
    by_subject: Counter[str] = Counter()
    for (writer, subject), count in counts.items():
        by_writer[writer] += count
        by_subject[subject] += count
    lines = [f"- {writer} wrote {count:,} items" for writer, count in by_writer.items()]
    lines += ["", "| subject | side | items | sub-stereotypes |", "| --- | --- | --- | --- |"]
    for entry in plan.subjects:
        name = entry.name if entry.key == entry.name else f"{entry.key} {entry.name}"
        lines.append(f"| {name} | {entry.side} | {by_subject[entry.key]:,} | {', '.join(entry.sub)} |")
    lines += ["", *(f"- {line}" for line in list_missing_checks(project.settings))]
    return "\n".join([*lines, *_describe_ratings(project)])


def _describe_ratings(project: Project) -> list[str]:
    rating = load_rating(project)
    results = rating.compute_results()
    if not results.raters:
        return ["", "Nobody has rated these items."]
    lines = ["", "Ratings:", ""]
    lines += [f"- {rater}: {count:,} ratings" for rater, count in results.raters.items()]
    for task in rating.plan.tasks:
        scale = ", ".join(task.steps)
        lines.append(f"- {task.name} ({task.question} {scale}): {results.agreement[task.name]}")
    return lines
