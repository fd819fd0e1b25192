"""The part of the data card about written items: who wrote how many, who rated them, and how well raters agree."""

from collections import Counter

from tiltmeter.making.item_makers import WRITTEN
from tiltmeter.making.project import Project
from tiltmeter.making.writing.writing import plan_of, written_by
from tiltmeter.making.writing.writing_checks import unchecked
from tiltmeter.making.writing.written_rating import rating_of


def writing_section(project: Project) -> str:
    """Writers, subjects and ratings as Markdown; empty for a project of translations."""
    if project.settings.system != WRITTEN:
        return ""
    plan, counts = plan_of(project), written_by(project)
    by_writer: Counter[str] = Counter()
    by_subject: Counter[str] = Counter()
    for (writer, subject), count in counts.items():
        by_writer[writer] += count
        by_subject[subject] += count
    lines = [f"- {writer} wrote {count:,} items" for writer, count in by_writer.items()]
    lines += ["", "| subject | side | written | includes |", "| --- | --- | --- | --- |"]
    for entry in plan.subjects:
        name = entry.name if entry.key == entry.name else f"{entry.key} {entry.name}"
        lines.append(f"| {name} | {entry.side} | {by_subject[entry.key]:,} | {', '.join(entry.sub)} |")
    lines += ["", *(f"- {line}" for line in unchecked(project.settings))]
    return "\n".join([*lines, *_ratings(project)])


def _ratings(project: Project) -> list[str]:
    rating = rating_of(project)
    results = rating.results()
    if not results.raters:
        return ["", "No person has rated these items."]
    lines = ["", "Ratings:", ""]
    lines += [f"- {rater}: {count:,} ratings" for rater, count in results.raters.items()]
    for task in rating.plan.tasks:
        scale = ", ".join(task.steps)
        lines.append(f"- {task.name} ({task.question} {scale}): {results.agreement[task.name]}")
    return lines
