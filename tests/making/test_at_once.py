"""Two commands or two people at the same time, and settings that change in between."""

from dataclasses import replace
from pathlib import Path

import pytest

from perf.breaking_engine import BreakingEngine
from tests.support.messages import raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.making import repair_step
from tiltmeter.making.exchange import build_export_rows
from tiltmeter.making.open_problems import assemble_items
from tiltmeter.making.project import Project, create_project, open_project
from tiltmeter.making.project_lock import lock_project
from tiltmeter.making.project_status import compute_status
from tiltmeter.making.publication import publish_project
from tiltmeter.making.repair_step import repair_project
from tiltmeter.making.review.review import Review
from tiltmeter.making.source_corrections import apply_corrections, correct_item
from tiltmeter.making.translation_step import translate_project


def test_steps_wait_for_each_other(translated: Project, tmp_path: Path) -> None:
    corrections = tmp_path / "c.csv"
    corrections.write_text("item,action,field,text,reason\n", encoding="utf-8")
    with lock_project(translated.folder):
        for step in (
            lambda: translate_project(translated, BreakingEngine()),
            lambda: repair_project(translated),
            lambda: publish_project(translated, tmp_path / "out", open_items="keep", licence="MIT"),
            lambda: apply_corrections(translated, corrections, by="Ana"),
        ):
            with raises_mentioning(UsageError, "Another command", str(translated.folder)):
                step()
    assert not (tmp_path / "out").exists()
    repair_project(translated)


def test_a_project_is_started_once(tmp_path: Path, project: Project) -> None:
    (tmp_path / "new").mkdir()
    with lock_project(tmp_path / "new"), raises_mentioning(UsageError, "Another command", str(tmp_path / "new")):
        create_project(tmp_path / "new", project.settings.source, language="es", system="deepl")
    assert [path.name for path in (tmp_path / "new").iterdir()] == [".lock"]


def test_repair_leaves_what_people_decide_meanwhile(translated: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    review = Review(translated)
    review.add_reviewer("Ana")
    repair = repair_step.repair_drafts

    def slow_repair(*args: object, **options: object) -> object:
        review.decide_on_item("Ana", "i0", "edit", texts={"context": "Cocinero era BLANK aquel día."})
        correct_item(translated, "i1", {"target_term": "florist"}, by="Eva", why="clearer")
        return repair(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(repair_step, "repair_drafts", slow_repair)
    repair_project(translated)
    assert translated.store.list_texts("text", "i0")["i0"]["context"] == "Cocinero era BLANK aquel día."
    assert translated.store.get_item("i0").stage == "reviewed"
    assert translated.store.get_item("i1").stage == "source"
    assert translated.store.list_texts("text", "i1") == {}


def test_a_rule_that_is_changed_on_the_way(translated: Project) -> None:
    review = Review(translated)
    review.add_reviewer("Ana")
    review.decide_on_item("Ana", "i0", "accept")
    assert translated.store.get_item("i0").stage == "reviewed"
    translated.settings = replace(translated.settings, reviewers_per_item=2, agreeing=2)
    assert "i0" in {problem.item for problem in compute_status(translated).open}
    assert translated.store.get_item("i0").stage == "translated"
    assert Review(translated).count_states().reviewers == {"Ana": (1, 3)}
    assert {row.item for row in build_export_rows(translated)} == {"i0", "i1", "i2", "i3"}
    translated.settings = replace(translated.settings, reviewers_per_item=1, agreeing=1)
    assert "i0" not in {problem.item for problem in compute_status(translated).open}
    assert translated.store.get_item("i0").stage == "reviewed"


def test_progress_counts_what_each_reviewer_has_left(translated: Project) -> None:
    translated.settings = replace(translated.settings, reviewers_per_item=2, agreeing=1)
    review = Review(translated)
    for name in ("Ana", "Eva", "Ida"):
        review.add_reviewer(name)
    for name in ("Ana", "Eva"):
        review.decide_on_item(name, "i3", "accept")
    review.decide_on_item("Ana", "i0", "accept")
    # i3 has two decisions; i0 needs one more, from somebody else; i1 and i2 need two.
    assert review.count_states().reviewers == {"Ana": (2, 2), "Eva": (1, 3), "Ida": (0, 3)}


def test_the_card_says_what_was_decided_since(translated: Project, tmp_path: Path) -> None:
    first = publish_project(translated, tmp_path / "out", open_items="keep", licence="MIT")
    assert "have open problems" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    review = Review(translated)
    review.add_reviewer("Ana")
    for item in ("i0", "i1", "i2", "i3"):
        review.decide_on_item("Ana", item, "accept")
    assert assemble_items(translated).problems == []
    with open_project(translated.folder) as project:
        again = publish_project(project, tmp_path / "out", licence="MIT")
    assert (again.number, again.is_new) == (first.number, False)
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "Ana: 4 decisions" in card
    assert "have open problems" not in card
