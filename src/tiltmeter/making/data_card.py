"""The data card and the changelog of an edition (a published version of a test set)."""

import re
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tiltmeter.forms import Item
from tiltmeter.making.draft import FindingKind
from tiltmeter.making.item_makers import WRITTEN
from tiltmeter.making.open_problems import AssembledItems
from tiltmeter.making.project import Project
from tiltmeter.making.project_status import compute_status
from tiltmeter.making.repair.rule_precision import LEAST_PRECISION, LEAST_READ
from tiltmeter.making.review.reader_counts import count_readers
from tiltmeter.making.review.review_outcomes import list_drop_reasons
from tiltmeter.making.review.review_status import summarise_review
from tiltmeter.making.writing.writing_card import render_writing_section

CARD = "README.md"
CHANGELOG = "CHANGELOG.md"


def make_card(project: Project, assembled: AssembledItems, items: Sequence[Item], facts: Mapping[str, Any]) -> str:
    """Return the data card of an edition as Markdown."""
    settings, language = project.settings, facts["language"]
    sections = [
        _render_header(facts),
        f"# {make_title(project, language)}",
        f"{len(items):,} items of the form `{settings.makes}` in `{language}`, edition {facts['edition']}, "
        f"made with Tiltmeter {settings.tiltmeter}{_describe_origin(project)}",
        f"**Content warning.** {settings.facts.warning}" if settings.facts.warning else "",
        "Keep this test set out of training data. Canary: "
        f"`tiltmeter-{uuid.uuid5(uuid.NAMESPACE_URL, facts['sha256'])}`",
        _render_section("Source and licence", _describe_source(project, facts)),
        _render_section("Counts at every step", _render_counts(project, items, facts)),
        _render_section("Writing and rating", render_writing_section(project)),
        _render_section("Translation", _describe_translation(project)),
        _render_section("Untranslated text", _describe_untranslated(facts)),
        _render_section("Repair", _describe_repair(project)),
        _render_section("Review", _describe_review(project, assembled)),
        _render_section("Readers", _render_readers(project, items)),
        _render_section("Items left out", _list_left_out(project, facts)),
        _render_section("Open problems", _describe_open(assembled, items)),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def make_title(project: Project, language: str) -> str:
    """Return the title of a test set: the title in the settings, or one that names its origin."""
    settings = project.settings
    is_written = settings.system == WRITTEN
    return settings.title or (
        f"{settings.makes} written by people" if is_written else f"{settings.source} in {language}"
    )


def _describe_origin(project: Project) -> str:
    if project.settings.system == WRITTEN:
        note = ""
        if project.settings.form == "gest":
            note = (
                f" `translations.csv` has their translations into `{project.settings.language}`, which show a gender."
            )
        how = "edited by people" if project.settings.facts.files else "written by people for this set"
        return f". The items were {how}.{note}"
    return (
        f" from `{project.settings.source}`. The items keep the ids of their English sources, so that languages can be "
        "compared item by item."
    )


def make_changelog(editions: Iterable[Mapping[str, Any]]) -> str:
    """Return the changelog as Markdown: the changes of each edition, newest edition first."""
    lines = ["# Changelog"]
    for facts in sorted(editions, key=lambda entry: int(entry["edition"]), reverse=True):
        lines += ["", f"## Edition {facts['edition']}, {facts['published'][:10]}", "", f"{facts['items']:,} items."]
        changes = facts["changes"]
        for kind in ("added", "removed", "changed"):
            if entries := changes.get(kind):
                lines += ["", f"{kind.capitalize()}: {len(entries):,}", ""]
                details = entries if isinstance(entries, dict) else dict.fromkeys(entries, "")
                lines += [f"- `{item}`{_format_detail(detail)}" for item, detail in details.items()]
    return "\n".join(lines) + "\n"


def _format_detail(detail: str | Sequence[str]) -> str:
    text = detail if isinstance(detail, str) else ", ".join(detail)
    return f": {text}" if text else ""


def _render_header(facts: Mapping[str, Any]) -> str:
    """Return the metadata block of the data card, which the Hugging Face hub reads."""
    lines = [
        "---",
        f"license: {str(facts['licence']).lower()}",
        f"language: [{facts['language']}]",
        "task_categories: [text-classification]",
        "tags: [bias, stereotypes, tiltmeter]",
        "---",
    ]
    return "\n".join(lines)


def _render_section(title: str, body: str) -> str:
    return f"## {title}\n\n{body}" if body else ""


def _render_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    cells = [[_format_cell(cell) for cell in row] for row in rows]
    lines = [header, ["---"] * len(header), *cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) if cells else ""


def _format_cell(value: object) -> str:
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")


def _describe_source(project: Project, facts: Mapping[str, Any]) -> str:
    settings = project.settings
    files = [f"- File: `{name}`, SHA-256 `{digest}`" for name, digest in settings.facts.files.items()]
    if settings.system == WRITTEN:
        origin = ["- The first version of items was made from a table of stereotypes by templates."] if files else []
        return "\n".join([f"- Licence of this edition: **{facts['licence']}**.", *origin, *files])
    lines = [
        f"- Licence of this edition: **{facts['licence']}**. "
        f"Licence of the source: {settings.facts.licence or 'not stated'}.",
        f"- Source: `{settings.source}`, language `{settings.source_language}`.",
        f"- Cite: {settings.facts.citation}" if settings.facts.citation else "",
        *files,
    ]
    return "\n".join(filter(None, lines))


def _render_counts(project: Project, items: Sequence[Item], facts: Mapping[str, Any]) -> str:
    entries = project.store.list_items(dropped=None)
    dropped = Counter(entry.dropped_in for entry in entries if entry.dropped is not None)
    corrected = sum(entry.source != entry.original for entry in entries)
    first = "written items" if project.settings.system == WRITTEN else "source items"
    rows: list[tuple[str, object]] = [(first, len(entries))]
    if corrected:
        rows.append(("corrected before translation", corrected))
    for step in ("source", "rating", "translate", "repair", "review", "import"):
        if dropped[step]:
            rows.append((f"dropped in the step {step}", dropped[step]))
    rows += [("left out of this edition", len(facts["left_out"])), ("published", len(items))]
    return _render_table(("step", "items"), rows)


def _describe_translation(project: Project) -> str:
    columns = ("system", "items", "characters", "sent")
    runs = [record for record in project.store.list_steps() if record.step == "translate"]
    rows = [(record.at[:10], *(record.facts[column] for column in columns)) for record in runs]
    header = ("date", "system", "items", "characters", "characters sent (other translations were cached)")
    blanks = [(*key, count) for key, count in project.store.count_blank_outcomes().most_common()]
    sections = [
        _render_table(header, rows),
        "Number of contexts for each placeholder and outcome of the blank:" if blanks else "",
        _render_table(("placeholder", "outcome", "contexts"), blanks),
    ]
    return "\n\n".join(filter(None, sections))


def _describe_untranslated(facts: Mapping[str, Any]) -> str:
    """Return the share of items with untranslated text; empty if people wrote the items."""
    checked = facts.get("untranslated")
    if not checked:
        return ""
    lines = [
        f"- {checked['untranslated']:,} of {checked['items']:,} items ({checked['share']:.1%}) have words of the "
        "source that are unknown in the language, or a text in the source language.",
        f"- In {checked['accepted_by_reviewers']:,} more items, reviewers accepted such words.",
        f"- Dictionary: Hunspell `{checked['dictionary']}`." if checked["dictionary"] else "",
        f"- Loan words are counted too, because {checked['limits']}." if checked["limits"] else "",
        f"- Above the allowed {checked['allowed_share']:.1%}; accepted because: {checked['accepted_because']}"
        if checked["accepted_because"]
        else "",
    ]
    return "\n".join(filter(None, lines))


def _describe_repair(project: Project) -> str:
    counts = Counter(
        (stored.finding.rule, stored.finding.kind)
        for stored in project.store.list_findings()
        if stored.step == "repair"
    )
    rules = dict.fromkeys(rule for rule, _ in sorted(counts))
    kinds: tuple[FindingKind, ...] = ("changed", "proposed", "open")
    known = {entry[0]: entry for entry in _list_recorded_precision(project)}
    rows = [(rule, *(counts[rule, kind] for kind in kinds), *_format_precision(known.get(rule))) for rule in rules]
    table = _render_table(("rule", *kinds, "precision", "read on", "texts that were read", "read by"), rows)
    note = (
        "Precision: the changes of the rule that were read one by one, and how many were right. A rule changes texts "
        f"without asking only if it was right in at least {LEAST_PRECISION:.0%} of at least {LEAST_READ} changes."
    )
    return "\n\n".join((table, note)) if table else ""


def _list_recorded_precision(project: Project) -> Sequence[Sequence[Any]]:
    """Return the precision of the rules (rule, read, right, date, texts, reader) at the last run of `repair`."""
    runs = [record.facts for record in project.store.list_steps() if record.step == "repair"]
    return runs[-1].get("precision", []) if runs else []


def _format_precision(entry: Sequence[Any] | None) -> tuple[str, ...]:
    if entry is None:
        return "not measured", "", "", ""
    _, read, right, *described = entry
    return f"{right} of {read} right", *described


def _describe_review(project: Project, assembled: AssembledItems) -> str:
    status = compute_status(project, assembled)
    lines = [f"- {reviewer}: {count:,} decisions" for reviewer, count in status.reviewers.items()]
    parts = ["\n".join(lines) if lines else "Nobody has reviewed these items."]
    if summary := summarise_review(project):
        parts.append("\n".join(f"- {line}" for line in summary.format_lines()))
    suggested = [record.facts for record in project.store.list_steps() if record.step == "suggest"]
    parts += [
        f"{facts['system']} proposed corrections for {facts['proposed']:,} of {facts['items']:,} items; people decided."
        for facts in suggested
    ]
    if assembled.accepted:
        rows = [(finding.item, finding.code, by, why) for finding, by, why in assembled.accepted]
        parts += [
            "Validation findings that reviewers accepted:",
            _render_table(("item", "finding", "accepted by", "reason"), rows),
        ]
    if guidelines := project.read_guidelines():
        # The headings of the guidelines become subheadings of this section.
        parts += ["### Guidelines for reviewers", re.sub(r"(?m)^(#+) ", r"###\1 ", guidelines)]
    return "\n\n".join(parts)


def _render_readers(project: Project, items: Sequence[Item]) -> str:
    rows = [
        (
            row.part or "all",
            row.bias_type or "all",
            row.items,
            *map(row.format_share, (row.nobody, row.one, row.several)),
        )
        for row in count_readers(project, items)
    ]
    table = _render_table(("part", "bias type", "items", "read by nobody", "by one person", "by several people"), rows)
    return f"How many people have decided on each published item:\n\n{table}"


def _list_left_out(project: Project, facts: Mapping[str, Any]) -> str:
    dropped = [(item, f"dropped: {reason}") for item, reason in list_drop_reasons(project).items()]
    return _render_table(("item", "reason"), [*dropped, *facts["left_out"].items()])


def _describe_open(assembled: AssembledItems, items: Sequence[Item]) -> str:
    published = {item.id for item in items}
    problems = [problem for problem in assembled.problems if problem.item in published]
    if not problems:
        return ""
    reasons = Counter((reason, kind) for _, reason, kind in {(p.item, p.reason, p.kind) for p in problems})
    note = f"{len({problem.item for problem in problems}):,} published items have open problems:"
    rows = [(reason, kind, count) for (reason, kind), count in reasons.most_common()]
    return "\n\n".join((note, _render_table(("reason", "kind", "items"), rows)))
