"""The status of a project: counts of items for each stage, and counts of open problems for each reason and subject."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tiltmeter.making.open_problems import AssembledItems, OpenProblem, assemble_items, count_open_items
from tiltmeter.making.project import Project
from tiltmeter.making.project_store import StepRecord
from tiltmeter.making.repair_stages import decode_stages
from tiltmeter.making.review.review_outcomes import apply_changed_rule


@dataclass(frozen=True, slots=True)
class StageCounts:
    """The number of items with open problems after the step `name`, for each part, reason and subject.

    `is_detail` is true for the stages inside a run of `repair`, one after each repair step.
    """

    name: str
    counts: dict[tuple[str, str, str], int]
    is_detail: bool = False

    def count_open_items(self, part: str, reason: str) -> int:
        """Return the number of items of a part that have an open problem with this reason, summed over subjects."""
        return sum(
            n for (own_part, own_reason, _), n in self.counts.items() if (own_part, own_reason) == (part, reason)
        )


@dataclass(frozen=True, slots=True)
class ProjectStatus:
    """The status of a project.

    `items` counts items by stage, `dropped` counts dropped items by step and reason, and `blanks` counts contexts by
    placeholder and outcome. `reviewers` maps reviewers to their number of decisions. `undecided` is the number of items
    with open problems on which nobody has decided. `stages` has the counts of open problems after each step, and the
    current counts.
    """

    items: Counter[str]
    dropped: Counter[tuple[str, str]]
    blanks: Counter[tuple[str, str]]
    open: list[OpenProblem]
    open_items: int
    reviewers: dict[str, int]
    undecided: int
    stages: list[StageCounts]

    def count_by_reason(self) -> dict[tuple[str, str], int]:
        """Return the number of items with open problems for each reason and kind, most frequent first."""
        unique = {(problem.item, problem.reason, problem.kind) for problem in self.open}
        return dict(Counter((reason, kind) for _, reason, kind in unique).most_common())

    def count_by_subject(self) -> dict[str, int]:
        """Return the number of items with open problems for each subject, most frequent first."""
        unique = {(problem.item, problem.subject) for problem in self.open}
        return dict(Counter(subject for _, subject in unique).most_common())

    def count_in_source(self, reason: str) -> int:
        """Return the number of items that have this validation finding and whose source item has it too."""
        return len({problem.item for problem in self.open if problem.reason == reason and problem.in_source})

    def to_json(self) -> dict[str, Any]:
        """Return the status as JSON values."""
        return {
            "items": dict(self.items),
            "dropped": [{"step": step, "reason": reason, "items": n} for (step, reason), n in self.dropped.items()],
            "blanks": [
                {"placeholder": placeholder, "outcome": outcome, "contexts": n}
                for (placeholder, outcome), n in self.blanks.items()
            ],
            "open_items": self.open_items,
            "by_reason": [
                {"reason": reason, "kind": kind, "items": n, "in_source": self.count_in_source(reason)}
                for (reason, kind), n in self.count_by_reason().items()
            ],
            "by_subject": self.count_by_subject(),
            "reviewers": self.reviewers,
            "undecided": self.undecided,
            "stages": [
                {
                    "stage": stage.name,
                    "detail": stage.is_detail,
                    "open": [
                        {"part": part, "reason": reason, "subject": subject, "items": n}
                        for (part, reason, subject), n in sorted(stage.counts.items())
                    ],
                }
                for stage in self.stages
            ],
        }


def compute_status(project: Project, assembled: AssembledItems | None = None) -> ProjectStatus:
    """Return the status of a project."""
    apply_changed_rule(project)
    assembled = assembled or assemble_items(project)
    entries = project.store.list_items(dropped=None)
    items = Counter("dropped" if entry.dropped is not None else str(entry.stage) for entry in entries)
    problems = assembled.problems
    open_items = {problem.item for problem in problems}
    decided = project.store.list_decided_items()
    stages = list_stages(project.store.list_steps())
    return ProjectStatus(
        items=items,
        dropped=Counter((str(entry.dropped_in), entry.dropped) for entry in entries if entry.dropped is not None),
        blanks=project.store.count_blank_outcomes(),
        open=problems,
        open_items=len(open_items),
        reviewers=project.store.count_decisions_by_reviewer(),
        undecided=len(open_items - set(decided)),
        stages=[*stages, StageCounts("now", count_open_items(problems))],
    )


def list_stages(records: Iterable[StepRecord]) -> list[StageCounts]:
    """Return a stage for each completed step, in their order; each run of `repair` has a stage for each repair step.

    Translations that directly follow each other are one stage, because each of them translates a part of the items.
    """
    kept: list[StepRecord] = []
    for record in records:
        if record.step == "source":
            continue
        if kept and kept[-1].step == record.step != "repair":
            kept.pop()
        kept.append(record)
    stages: list[StageCounts] = []
    runs: Counter[str] = Counter()
    for record in kept:
        runs[record.step] += 1
        name = record.step if runs[record.step] == 1 else f"{record.step} {runs[record.step]}"
        for step, counts in decode_stages(record.facts.get("stages", ())):
            stages.append(StageCounts(f"{name}: {step}", counts, is_detail=True))
        stages.append(StageCounts(f"after {name}", record.counts))
    return stages
