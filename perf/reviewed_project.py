"""A project in which all items have to be reviewed."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from perf.breaking_engine import BreakingEngine
from perf.making_items import source_file
from tiltmeter.making.project import create_project
from tiltmeter.making.project_settings import write_settings
from tiltmeter.making.review.review import Review
from tiltmeter.making.translation_step import translate_project


def make_project(folder: Path, items: int, reviewers: Iterable[str], *, agreeing: int, per_item: int) -> None:
    """Create the project in `folder/project` with translated items and reviewers."""
    source = source_file(folder / "source.jsonl", items, 0)
    with create_project(folder / "project", source, language="es", system="apertium:eng-xyz") as project:
        translate_project(project, BreakingEngine(way="dropped"))
        project.settings = replace(project.settings, review="all", agreeing=agreeing, reviewers_per_item=per_item)
        write_settings(project.folder, project.settings)
        review = Review(project)
        for name in reviewers:
            review.add_reviewer(name)
            project.record_notice(name)
