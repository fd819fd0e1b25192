"""Assignments by variety and load, and the calibration round."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from perf.breaking_engine import BreakingEngine
from perf.making_items import source_file
from tests.support.command import Run
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.making.project import Project, create_project, open_project
from tiltmeter.making.project_settings import write_settings
from tiltmeter.making.review.assignment import assign_items, open_items, parse_profile, summarise_calibration
from tiltmeter.making.review.assignment_tables import ReviewerProfile
from tiltmeter.making.review.review import Review
from tiltmeter.making.translation_step import translate_project

ITEMS = 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    source = source_file(tmp_path / "source.jsonl", ITEMS, 0)
    with create_project(tmp_path / "es", source, language="es", system="apertium:eng-xyz") as project:
        translate_project(project, BreakingEngine(way="dropped"))
        project.settings = replace(project.settings, review="all", agreeing=2, reviewers_per_item=2)
        write_settings(project.folder, project.settings)
    return tmp_path / "es"


def profiles(*texts: str) -> list[ReviewerProfile]:
    return [parse_profile(text) for text in texts]


def assigned(project: Project) -> dict[str, set[str]]:
    return project.store.list_assignments()


def review_all(review: Review, name: str) -> list[str]:
    """Decide on all items that the queue offers; return the items."""
    done = []
    while view := review.take_next_item(name):
        review.decide_on_item(name, view.item, "accept")
        done.append(view.item)
    return done


def test_each_item_gets_reviewers_of_different_varieties(folder: Path) -> None:
    with open_project(folder) as project:
        people = profiles("Ana=es-MX", "Eva=es-MX", "Ida=es-ES", "Uma=es-ES")
        assert assign_items(project, people, calibration=0) == {"Ana": 10, "Eva": 10, "Ida": 10, "Uma": 10}
        assert len(assigned(project)) == ITEMS
        assert all(
            len(names & {"Ana", "Eva"}) == len(names & {"Ida", "Uma"}) == 1 for names in assigned(project).values()
        )


def test_the_load_follows_the_shares(folder: Path) -> None:
    with open_project(folder) as project:
        assert assign_items(project, profiles("Ana=*0.5", "Eva", "Ida=*0.5"), calibration=0)["Eva"] == ITEMS


def test_reviewers_get_only_their_items(folder: Path) -> None:
    with open_project(folder) as project:
        assign_items(project, profiles("Ana", "Eva", "Ida"), calibration=0)
        review, wanted = Review(project), assigned(project)
        for name in ("Ana", "Eva", "Ida"):
            own = [item for item, names in wanted.items() if name in names]
            assert review.count_progress(name) == (0, len(own))
            assert sorted(review_all(review, name)) == sorted(own)
        assert review.count_states().states["agreed"] == ITEMS


def test_a_new_assignment_keeps_decisions(folder: Path) -> None:
    with open_project(folder) as project:
        assign_items(project, profiles("Ana", "Eva", "Ida"), calibration=0)
        done = review_all(Review(project), "Ana")
        # Ida leaves: the items that Ana has decided on need one more reviewer.
        counts = assign_items(project, profiles("Ana", "Eva"), calibration=0)
        assert counts == {"Ana": ITEMS - len(done), "Eva": ITEMS}
        assert len(review_all(Review(project), "Eva")) == ITEMS


def test_the_calibration_round_comes_first(folder: Path) -> None:
    with open_project(folder) as project:
        assign_items(project, profiles("Ana", "Eva", "Ida"), calibration=5)
        review = Review(project)
        chosen = set(project.store.list_calibration_items())
        assert len(chosen) == 5
        # All reviewers decide on the same items, although two per item are enough for the others.
        assert set(review_all(review, "Ana")) == set(review_all(review, "Eva")) == chosen
        closed = next(item for item in assigned(project) if item not in chosen)
        with raises_mentioning(UsageError, closed, "calibration"):
            review.decide_on_item("Ana", closed, "accept")
        with raises_mentioning(UsageError, "Ida", "5"):
            open_items(project)
        assert set(review_all(review, "Ida")) == chosen
        status = summarise_calibration(project)
        assert status is not None
        assert (status.decided, status.is_open) == ({"Ana": 5, "Eva": 5, "Ida": 5}, False)
        assert status.agreement.together.items == 5
        open_items(project)
        assert review_all(review, "Ana")
        # The items of the round stay the same.
        assign_items(project, profiles("Ana", "Eva"), calibration=9)
        assert set(project.store.list_calibration_items()) == chosen


def test_the_items_of_the_round_cover_the_subjects(folder: Path) -> None:
    with open_project(folder) as project:
        assign_items(project, profiles("Ana", "Eva"), calibration=10)
        subjects = {entry.id: entry.subject for entry in project.store.list_items()}
        chosen = Counter(subjects[item] for item in project.store.list_calibration_items())
        assert set(chosen) == set(subjects.values())


def test_mistakes(folder: Path) -> None:
    with open_project(folder) as project:
        for texts, words in (
            (["Ana"], ("2 reviewers", "1")),
            (["Ana", "ana"], ("twice",)),
        ):
            with raises_mentioning(UsageError, *words):
                assign_items(project, profiles(*texts))
        with raises_mentioning(UsageError, "no calibration"):
            open_items(project)
    for text in ("", "=es", "Ana=es*0", "Ana=es*x", "Ana=es*nan"):
        with raises_mentioning(UsageError, repr(text)):
            parse_profile(text)


def test_on_the_command_line(folder: Path, run: Run) -> None:
    command = ("make", "assign", str(folder))
    assert_mentions(run(*command), "no calibration round")
    out = run(*command, "--reviewer", "Ana=es-MX", "--reviewer", "Eva=es-ES", "--calibration", "2")
    assert_mentions(out, "Ana: 18 items", "calibration: 2 items", "closed", "Eva: 0 of 2")
    assert "Ana, Eva" in run(*command, "--open", code=2)
    with open_project(folder) as project:
        for name in ("Ana", "Eva"):
            review_all(Review(project), name)
    assert "agreement on the calibration items" in run(*command, "--open")
    assert json.loads(run(*command, "--json"))["calibration"]["open"] is True
    assert "--open" in run(*command, "--open", "--reviewer", "Ana", code=2)
