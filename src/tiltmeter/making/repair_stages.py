"""The open problems of a project after each repair step, for the figure of the stages."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tiltmeter.forms import Item
from tiltmeter.making.draft import RepairFinding
from tiltmeter.making.item_makers import ItemRejection
from tiltmeter.making.open_problems import OpenProblem, count_open_items, examine_items
from tiltmeter.making.project import Project, parse_item
from tiltmeter.making.project_store import ProjectItem
from tiltmeter.making.repair import StepResult

Counts = dict[tuple[str, str, str], int]


def count_after_steps(
    project: Project, steps: Sequence[StepResult], kept: Sequence[RepairFinding] = ()
) -> list[tuple[str, Counts]]:
    """Return the name of each repair step, and the number of items with open problems after it.

    `kept` are the open findings of repair steps that did not run. The keys of the counts are part, reason and subject.
    Items that were not repaired count with their stored texts.
    """
    entries = {entry.id: entry for entry in project.store.list_items() if entry.stage != "source"}
    sources = {entry.id: parse_item(entry.source) for entry in entries.values()}
    texts = dict(project.store.list_texts("text"))
    repaired = {draft.item for step in steps[:1] for draft in step.drafts}
    # The earlier findings of the step `repair` about these items are replaced, except `kept`.
    findings = [finding for finding in kept if finding.item in repaired]
    findings += [
        stored.finding
        for stored in project.store.list_findings(None, ("proposed", "open"))
        if stored.closed_by is None
        and stored.finding.item in entries
        and not (stored.step == "repair" and stored.finding.item in repaired)
    ]
    stages: list[tuple[str, Counts]] = []
    for step in steps:
        if step.findings or not stages:
            texts.update((draft.item, dict(draft.texts)) for draft in step.drafts)
            findings += [finding for finding in step.findings if finding.kind != "changed"]
            problems = list(_list_problems(project, entries, sources, texts, findings))
            stages.append((step.step, count_open_items(problems)))
        else:
            stages.append((step.step, stages[-1][1]))
    return stages


def encode_stages(stages: Sequence[tuple[str, Counts]]) -> list[dict[str, Any]]:
    """Return the counts after each step as JSON values for the facts of a step."""
    return [{"step": step, "open": [[*key, count] for key, count in counts.items()]} for step, counts in stages]


def decode_stages(values: Sequence[Mapping[str, Any]]) -> list[tuple[str, Counts]]:
    """Return the counts that `encode_stages` encoded.

    >>> decode_stages(encode_stages([("spacing", {("", "blank", "cook"): 2})]))
    [('spacing', {('', 'blank', 'cook'): 2})]
    """
    return [
        (entry["step"], {(part, reason, subject): count for part, reason, subject, count in entry["open"]})
        for entry in values
    ]


def _list_problems(
    project: Project,
    entries: Mapping[str, ProjectItem],
    sources: Mapping[str, Item],
    texts: Mapping[str, Mapping[str, str]],
    findings: Sequence[RepairFinding],
) -> Iterator[OpenProblem]:
    known = {(finding.item, finding.rule) for finding in findings}
    for finding in findings:
        kind = "proposed" if finding.kind == "proposed" else "open"
        yield _build_problem(entries[finding.item], finding.rule, kind)
    language, accepted = project.settings.language, project.store.list_accepted_problems()
    made = [project.maker.assemble(source, language, texts.get(item, {})) for item, source in sources.items()]
    for found in examine_items(item for item in made if not isinstance(item, ItemRejection)):
        if (found.item, found.code) not in accepted and (found.item, found.code) not in known:
            yield _build_problem(entries[found.item], found.code, found.severity)


def _build_problem(entry: ProjectItem, reason: str, kind: Any) -> OpenProblem:
    return OpenProblem(entry.id, entry.part, entry.subject, "repair", reason, kind, "", "")
