"""The end of a step that may have changed all items: what it did and what is open after it are recorded."""

from collections.abc import Mapping
from typing import Any

from tiltmeter.making.open_problems import OpenProblem, assemble_items, count_open_items
from tiltmeter.making.project import Project
from tiltmeter.making.project_store import Step
from tiltmeter.making.review.stored_problems import store_problems
from tiltmeter.making.unrecorded_work import UnrecordedWork


def complete_step(project: Project, step: Step, facts: Mapping[str, Any]) -> None:
    """Record a finished step, and keep what is open for the next review, which then opens at once."""
    keys = {item: key for item, (_, _, key) in project.store.read_item_keys().items()}
    problems = assemble_items(project).problems
    with project.store.begin_transaction():
        project.store.add_step(step, facts, count_open_items(problems))
        if step == "translate":
            UnrecordedWork.clear(project.store)
    found: dict[str, list[OpenProblem]] = {}
    for problem in problems:
        if problem.step != "review":
            found.setdefault(problem.item, []).append(problem)
    store_problems(project.store, keys, found)
