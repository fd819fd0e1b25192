"""The forms of terms, and one decision for all items with a form."""

from pathlib import Path

import pytest

from tests.support.command import Run
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.errors import DataError, UsageError
from tiltmeter.making.project import Project
from tiltmeter.making.project_store import TextRole
from tiltmeter.making.repair_step import repair_project
from tiltmeter.making.review.review import Review
from tiltmeter.making.term_forms import apply_term_decisions, list_term_forms, write_term_forms


def set_texts(project: Project, item: str, **texts: str) -> None:
    role: TextRole = "text"
    with project.store.begin_transaction():
        for field, text in texts.items():
            project.store.set_text(item, role, field, text, step="translate", by="x", why="x")


@pytest.fixture
def cooks(translated: Project) -> Project:
    """Two items about a cook; both have a term that is not in the context, and one context has the usual form."""
    set_texts(translated, "i0", target_term="Chef", context="El cocinero era muy BLANK.")
    set_texts(translated, "n0", target_term="chef", context="La cocina es grande.")
    return translated


def test_forms_with_missing_contexts_are_first(cooks: Project) -> None:
    first, *others = list_term_forms(cooks)
    assert (first.source_term, first.form, first.items, first.missing) == ("cook", "Chef", ["i0", "n0"], ["i0", "n0"])
    assert first.example == "El cocinero era muy BLANK."
    assert {one.source_term for one in others} == {"gardener", "nurse", "singer"}


def test_one_decision_settles_all_items_with_a_form(cooks: Project, tmp_path: Path) -> None:
    repair_project(cooks, steps=["target"])
    assert any(one.finding.rule == "target-not-in-context" for one in cooks.store.list_findings("i0"))
    path = tmp_path / "terms.csv"
    assert write_term_forms(cooks, path) == len(list_term_forms(cooks))
    text = path.read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.startswith("cook,Chef"))
    path.write_text(text.replace(line, line.rstrip(",") + ",cocinero"), encoding="utf-8")
    done = apply_term_decisions(cooks, path, by="Ana")
    assert (done.changed, done.left) == (1, 1)
    assert cooks.store.list_texts("text", "i0")["i0"]["target_term"] == "cocinero"
    assert cooks.store.list_texts("text", "n0")["n0"]["target_term"] == "chef"
    assert cooks.store.list_history("i0")[-1].by == "Ana"
    assert all(one.closed_by for one in cooks.store.list_findings("i0", ("proposed", "open")) if one.step == "repair")


def test_reviewed_items_are_not_changed(cooks: Project, tmp_path: Path) -> None:
    review = Review(cooks)
    review.add_reviewer("Ana")
    view = review.show_item("i0", "Ana")
    accepted = {problem.reason: "fine" for problem in review.find_unsettled_problems(view, {})}
    review.decide_on_item("Ana", "i0", "accept", accepted=accepted)
    path = tmp_path / "terms.csv"
    path.write_text("source_term,form,use\ncook,chef,cocinero\n", encoding="utf-8")
    assert apply_term_decisions(cooks, path, by="Ana").changed == 0


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("source_term,form\ncook,chef\n", ("terms.csv", "'use'", "--out")),
        ("source_term,form,use\ncook,koch,chef\n", ("terms.csv, row 2", "'koch'", "'cook'")),
    ],
)
def test_files_that_do_not_fit_are_refused(
    content: str, parts: tuple[str, ...], cooks: Project, tmp_path: Path
) -> None:
    path = tmp_path / "terms.csv"
    path.write_text(content, encoding="utf-8")
    with raises_mentioning(DataError, *parts):
        apply_term_decisions(cooks, path, by="Ana")


def test_terms_need_a_translation(project: Project) -> None:
    with raises_mentioning(UsageError, "make translate"):
        list_term_forms(project)


def test_the_command(cooks: Project, run: Run, tmp_path: Path) -> None:
    folder, path = str(cooks.folder), tmp_path / "terms.csv"
    assert_mentions(run("make", "terms", folder).splitlines()[1], "2", "cook -> Chef")
    run("make", "terms", folder, "--out", str(path))
    assert path.exists()
    assert "--by is missing" in run("make", "terms", folder, "--fix", str(path), code=2)
    assert "0 items changed" in run("make", "terms", folder, "--fix", str(path), "--by", "Ana")
