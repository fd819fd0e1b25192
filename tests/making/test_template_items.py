"""Candidate items from a table of stereotypes: votes, anti-stereotypes, problems to review, and bad tables."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Run
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.errors import DataError, UsageError
from tiltmeter.forms.association import AssociationItem
from tiltmeter.making.open_problems import assemble_items
from tiltmeter.making.publication import OpenItemsError, publish_project
from tiltmeter.making.quality.text_language import find_other_language
from tiltmeter.making.review.review import Review
from tiltmeter.making.writing.stereotype_table import read_stereotype_table
from tiltmeter.making.writing.template_items import TemplateOptions, create_template_project

TABLE = """identity,attribute,non_stereotype,stereotype,unsure,translated_identity
Norweger,Skiläufer,0,3,0,Norwegians
Norweger,Frühaufsteher,1,2,0,Norwegians
Norweger,Langschläfer,2,1,0,Norwegians
"Belgier ,",Radfahrer,0,3,0,Belgians
Belgier,Schachspieler,1,1,1,Belgians
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "stereotypes.csv"
    path.write_text(TABLE, encoding="utf-8")
    return path


def items_of(tmp_path: Path, table: Path, **options: Any) -> list[AssociationItem]:
    with create_template_project(tmp_path / "de", table, language="de", options=TemplateOptions(**options)) as project:
        return [item for item in assemble_items(project).items if isinstance(item, AssociationItem)]


def words(item: AssociationItem) -> tuple[str, ...]:
    return tuple(candidate.word for candidate in item.candidates)


def test_items_alternate_between_identities_and_take_rejected_attributes_of_the_same_identity(
    tmp_path: Path, table: Path
) -> None:
    items = items_of(tmp_path, table, templates=("Viele {identity} sind BLANK.",), unrelated=("Löffel",))
    assert [(item.target, item.target_term, item.context) for item in items] == [
        ("Norwegians", "Norweger", "Viele Norweger sind BLANK."),
        ("Belgians", "Belgier", "Viele Belgier sind BLANK."),
        ("Norwegians", "Norweger", "Viele Norweger sind BLANK."),
    ]
    assert [words(item) for item in items[::2]] == [
        ("Skiläufer", "Langschläfer", "Löffel"),
        ("Frühaufsteher", "Langschläfer", "Löffel"),
    ]
    # No attribute of the Belgians was rejected, so one of the Norwegians is used.
    assert words(items[1])[1] in ("Skiläufer", "Frühaufsteher", "Langschläfer")
    assert {item.bias_type for item in items} == {"nationality"}


def test_votes_limit_and_repetition(tmp_path: Path, table: Path) -> None:
    (one,) = items_of(tmp_path / "a", table, limit=1)
    assert len(items_of(tmp_path / "b", table, votes=3)) == 2
    assert items_of(tmp_path / "c", table) == items_of(tmp_path / "d", table)
    assert items_of(tmp_path / "e", table)[0] == one


def test_a_table_without_votes_uses_all_rows(tmp_path: Path) -> None:
    path = tmp_path / "plain.csv"
    path.write_text("identity;attribute\nBelgier;Radfahrer\nNorweger;Skiläufer\n", encoding="utf-8")
    assert len(items_of(tmp_path, path)) == 2


def test_every_item_waits_for_a_person_and_is_published_after_the_decision(tmp_path: Path, table: Path) -> None:
    with create_template_project(tmp_path / "de", table, language="de") as project:
        problems = assemble_items(project).problems
        reasons = Counter(problem.reason for problem in problems)
        assert (reasons["from-template"], reasons["anti-stereotype-from-table"], reasons["not-reviewed"]) == (3, 3, 3)
        with pytest.raises(OpenItemsError):
            publish_project(project, tmp_path / "out", licence="CC-BY-4.0")
        review = Review(project)
        review.add_reviewer("Ana")
        for entry in project.store.list_items():
            terms = {"Norwegians": "Norweger", "Belgians": "Belgier"}
            texts = {"context": f"Im Haus {entry.id} wohnen {terms[entry.subject]}, also BLANK."}
            review.decide_on_item("Ana", entry.id, "edit", texts=texts)
        edition = publish_project(project, tmp_path / "out", licence="CC-BY-4.0")
        assert edition.facts["items"] == 3
    assert_mentions((tmp_path / "out" / "README.md").read_text(encoding="utf-8"), "stereotypes.csv", "by templates")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("identity,word\nA,b\n", ("no column `attribute`",)),
        ("identity,attribute\nA,\n", ("row 2", "`attribute` is empty")),
        ("identity,attribute,stereotype,non_stereotype\nA,b,many,0\n", ("row 2", "`stereotype` is 'many'")),
    ],
)
def test_bad_tables_name_the_row_and_the_remedy(tmp_path: Path, content: str, words: tuple[str, ...]) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(content, encoding="utf-8")
    with raises_mentioning(DataError, str(path), *words):
        read_stereotype_table(path)


def test_options_that_make_no_item(tmp_path: Path, table: Path) -> None:
    with raises_mentioning(UsageError, "--votes"):
        items_of(tmp_path, table, votes=4)
    with raises_mentioning(UsageError, "{identity}", "once each"):
        items_of(tmp_path, table, templates=("All people are BLANK.",))
    with raises_mentioning(UsageError, "--template", "--template TEXT"):
        create_template_project(tmp_path / "mi", table, language="mi")
    assert not (tmp_path / "mi").exists()


def test_the_command(run: Run, tmp_path: Path, table: Path) -> None:
    out = tmp_path / "my-de"
    done = run("make", "new", "--from-table", str(table), "--language", "de", "--out", str(out))
    assert_mentions(done, "3 candidate items")
    new = ("make", "new", "--to", "de", "--out", str(tmp_path / "other"))
    assert_mentions(run(*new, "stereoset:en", "--votes", "2", code=2), "--from-table")
    assert_mentions(run(*new, code=2), "SOURCE is missing")
    assert_mentions(run(*new, "stereoset:en", "--from-table", str(table), code=2), "cannot be combined")


def test_the_language_of_the_attributes_is_compared_with_the_language() -> None:
    words = ("freundlich", "fleißig", "schüchtern", "ungeduldig", "überheblich", "gemütlich", "sportlich")
    attributes = [word + ending for word in words for ending in ("", "e", "en")]
    assert [find_other_language(attributes, code) for code in ("de", "de-AT", "es", "mi", "xx")] == [
        "",
        "",
        "de",
        "",
        "",
    ]
    assert find_other_language(attributes[:10], "es") == "", "the language of few words is uncertain"
