"""The figures of a thesis about the stages of a translated data set, from a project."""

import json
from pathlib import Path

import pytest

from tests.making.conftest import Run
from tests.support.messages import assert_mentions
from tiltmeter.making.project import Project
from tiltmeter.making.project_status import StageCounts
from tiltmeter.making.repair.target_terms import RULE
from tiltmeter.making.repair_step import repair_project
from tiltmeter.papers.figures import thesis_figures
from tiltmeter.papers.figures.thesis_figures import STAGES, draw_project

KEY = ("intrasentence", RULE, "cook")
ALL = [
    StageCounts("after translate", {KEY: 5}),
    StageCounts("repair: synonyms", {KEY: 4}, is_detail=True),
    StageCounts("repair: target", {KEY: 3}, is_detail=True),
    StageCounts("after repair", {KEY: 3}),
    StageCounts("after review", {KEY: 2}),
    StageCounts("repair 2: target", {KEY: 1}, is_detail=True),
    StageCounts("after repair 2", {KEY: 1}),
    StageCounts("now", {KEY: 1}),
]


@pytest.mark.parametrize(
    ("stages", "expected"),
    [
        (ALL, [5, 4, 2, 1]),
        # Nobody decided on proposals before another step.
        ([*ALL[:4], StageCounts("now", {KEY: 2})], [5, 4, 3, 2]),
        # The search for the closest word was a repair of its own, after a review.
        ([ALL[0], ALL[1], ALL[4], ALL[5], ALL[7]], [5, 2, 1, 1]),
        (ALL[:1], [5, None, None, None]),
    ],
)
def test_each_figure_shows_its_stage(stages: list[StageCounts], expected: list[int | None]) -> None:
    found = [thesis_figures._find_stage(number, stages) for number in STAGES]
    assert [stage and stage.counts[KEY] for stage in found] == expected


def test_the_command_draws_the_stages_of_a_project(translated: Project, run: Run, tmp_path: Path) -> None:
    folder, out = str(translated.folder), str(tmp_path / "figures")
    with translated.store.begin_transaction():
        translated.store.set_text("i0", "text", "context", "La persona BLANK.", step="translate", by="x", why="x")
    figure = ("reproduce", "oeztuerk2022", "--figures", out, "--runs", folder, "--figure")
    assert_mentions(run(*figure, "3.3", code=2), "Figure 3.3", "make repair")
    repair_project(translated, steps=["synonyms", "target"])
    assert_mentions(run(*figure, "3.4"), "intrasentence: 1", "repair: target")
    assert {path.suffix for path in Path(out).iterdir()} == {".svg", ".png", ".pdf"}
    (panel,) = draw_project("3.5", translated.folder).panels
    assert '"items": 1' in json.dumps(panel.chart.to_dict())
    assert_mentions(run(*figure, "3.1", code=2), "--runs")
    assert_mentions(run("reproduce", "oeztuerk2022", "--figure", "3.3", code=2), "--runs PROJECT")
    assert_mentions(run("reproduce", "oeztuerk2022", "--figure", "9", code=2), "3.1", "4.11")
