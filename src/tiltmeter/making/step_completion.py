"""The completion of a step of a project: store facts about the step, and the open problems after the step."""

from collections.abc import Mapping
from typing import Any

from tiltmeter.making.draft import group_by_item
from tiltmeter.making.open_problems import assemble_items, count_open_items
from tiltmeter.making.project import Project
from tiltmeter.making.project_store import Step
from tiltmeter.making.quality.estimated_quality import estimate_qualities
from tiltmeter.making.review.stored_problems import store_problems
from tiltmeter.making.unrecorded_work import UnrecordedWork


def complete_step(project: Project, step: Step, facts: Mapping[str, Any]) -> None:
    """Store a completed step, and cache the open problems of the project, so that the next review opens quickly.

    `facts` describe the work of the step, such as the number of items.
    """
    keys = {item: key for item, (_, _, key) in project.store.read_item_keys().items()}
    problems = assemble_items(project).problems
    with project.store.begin_transaction():
        project.store.add_step(step, facts, count_open_items(problems))
        opinions = project.store.list_second_opinions()
        project.store.set_estimated_qualities(estimate_qualities(problems, opinions))
        if step == "translate":
            UnrecordedWork.clear(project.store)
    store_problems(project.store, keys, group_by_item(problem for problem in problems if problem.step != "review"))
