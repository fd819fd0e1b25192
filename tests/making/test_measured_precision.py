"""The precision of repair rules, from the decisions of reviewers."""

import pytest

from tests.support.command import Run
from tests.support.messages import assert_mentions
from tiltmeter.making import measured_precision
from tiltmeter.making.measured_precision import measure_precision, record_precision
from tiltmeter.making.project import Project
from tiltmeter.making.repair.rule_precision import PROJECT_FILE, RulePrecision, read_project_precision
from tiltmeter.making.repair_step import repair_project
from tiltmeter.making.review.review import Review


@pytest.fixture
def reviewed(translated: Project) -> Project:
    """Two proposed spaces (one accepted, one rejected), a third in a dropped item, and an applied change."""
    with translated.store.begin_transaction():
        for item in ("i0", "i1", "i2"):
            text = translated.store.list_texts("text", item)[item]["context"]
            broken = text.replace("BLANK", " BLANK").rstrip(".") + " ."
            translated.store.set_text(item, "text", "context", broken, step="translate", by="x", why="x")
    repair_project(translated, steps=["spacing"])
    review = Review(translated)
    review.add_reviewer("Ana")
    for item in ("i0", "i1"):
        view = review.show_item(item, "Ana")
        (proposed,) = [one for one in view.problems if one.reason == "spaces"]
        text = proposed.proposals[0] if item == "i0" else view.texts["context"]
        warnings = [one.reason for one in review.find_unsettled_problems(view, {"context": text})]
        review.decide_on_item("Ana", item, "edit", texts={"context": text}, accepted=dict.fromkeys(warnings, "fine"))
    review.decide_on_item("Ana", "i2", "drop")
    return translated


def test_kept_changes_are_right(reviewed: Project) -> None:
    measured = measure_precision(reviewed)
    assert {rule: (entry.read, entry.right) for rule, entry in measured.items()} == {
        "spaces": (2, 1),
        "space-before-punctuation": (2, 2),
    }
    assert all(entry.date and "reviewers" in entry.reader for entry in measured.values())


def test_only_rules_with_enough_decisions_are_recorded(
    reviewed: Project, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(reviewed.folder)
    assert record_precision(reviewed, measure_precision(reviewed)) == []
    assert not (reviewed.folder / PROJECT_FILE).exists()
    lines = {line.split()[0]: line for line in run("make", "precision", folder, "--record").splitlines()}
    assert_mentions(lines["spaces"], "1 of 1 right", "no", "1 of 2 right")
    assert_mentions(lines["space-before-punctuation"], "100 of 100 right", "yes", "2 of 2 right")
    monkeypatch.setattr(measured_precision, "LEAST_READ", 2)
    kept = RulePrecision("other", 30, 30, "2026-11-19", "ours")
    record_precision(reviewed, {"other": kept})
    run("make", "precision", folder, "--record")
    used = read_project_precision(reviewed.folder, "es")
    assert (used["spaces"].right, used["spaces"].read) == (1, 2)
    assert used["other"] == kept
