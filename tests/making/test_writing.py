"""Items written by people: plans, quotas, checks, ratings, and the edition that is published."""

import json
import tomllib
from pathlib import Path

import pytest

from perf.making_items import blank_item
from tests.support.command import Run, command
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.datasets.readers.jsonl import parse
from tiltmeter.datasets.validation import validate_records
from tiltmeter.errors import DataError, UsageError
from tiltmeter.forms import get_item_form
from tiltmeter.making.open_problems import assemble_items
from tiltmeter.making.project import Project, open_project
from tiltmeter.making.publication import publish_project
from tiltmeter.making.review.review import Review
from tiltmeter.making.writing.written_item_ratings import drop_rejected, open_rating
from tiltmeter.making.writing.written_items import (
    add_written_item,
    count_written_items,
    create_written_project,
    load_writing_plan,
)

GEST = """
writers = ["Ana", "Eva"]
quota = 2

[[subjects]]
number = 4
name = "women are tidy"
side = "feminine"
sub = ["clean", "keep order"]

[[subjects]]
number = 17
name = "men are punctual"
side = "masculine"
quota = 5
"""


def test_a_new_plan_has_sub_stereotypes_for_each_stereotype_of_gest(tmp_path: Path) -> None:
    project = create_written_project(tmp_path / "sk", "gest", language="sk")
    subjects = load_writing_plan(project).subjects
    assert [subject.key for subject in subjects] == [str(number) for number in range(1, 17)]
    assert all(len(subject.sub) >= 3 for subject in subjects)
    assert "keep order" in subjects[3].sub


@pytest.fixture
def written(tmp_path: Path) -> Project:
    project = create_written_project(tmp_path / "sk", "gest", language="sk")
    (project.folder / "writing.toml").write_text(GEST, encoding="utf-8")
    return project


def test_a_new_project_has_the_sixteen_stereotypes_to_edit(tmp_path: Path) -> None:
    with create_written_project(tmp_path / "sk", "gest", language="sk", quota=7) as project:
        plan = load_writing_plan(project)
        assert [subject.side for subject in plan.subjects] == ["feminine"] * 7 + ["masculine"] * 9
        assert {subject.quota for subject in plan.subjects} == {7}
        with raises_mentioning(UsageError, str(tmp_path / "sk"), "already a project"):
            create_written_project(tmp_path / "sk", "gest", language="sk")


def sentence(text: str, translation: str) -> dict[str, object]:
    return {"sentence": text, "translation": translation}


def test_items_are_checked_counted_and_published(written: Project, tmp_path: Path) -> None:
    fine = add_written_item(written, "ana", "4", sentence("I swept the floor.", "Pozametala som podlahu."))
    assert (fine.item, fine.findings) == ("w-1", [])
    own = add_written_item(written, "Eva", "men are punctual", sentence("I came on time.", "Prišiel som načas."))
    assert own.findings == []
    faulty = add_written_item(written, "Eva", "4", sentence("They swept the floor.", "Zametajú podlahu."))
    assert [finding.rule for finding in faulty.findings] == ["not-first-person", "no-gender-in-target"]
    assert {problem.item for problem in assemble_items(written).problems} == {"w-3"}
    assert count_written_items(written) == {("Ana", "4"): 1, ("Eva", "17"): 1, ("Eva", "4"): 1}
    review = Review(written)
    review.add_reviewer("Ida")
    shown = review.take_next_item("Ida")
    assert shown is not None
    assert shown.item == "w-3"
    review.decide_on_item("Ida", "w-3", "drop", comment="not in the first person")
    edition = publish_project(written, tmp_path / "out", licence="CC0-1.0")
    lines = [json.loads(line) for line in (edition.folder / "items.jsonl").read_text(encoding="utf-8").splitlines()]
    assert lines == [
        {"id": "w-1", "language": "en", "stereotype": 4, "sentence": "I swept the floor."},
        {
            "id": "w-2",
            "language": "en",
            "stereotype": 17,
            "side": "masculine",
            "stereotype_name": "men are punctual",
            "sentence": "I came on time.",
        },
    ]
    card = (edition.folder / "README.md").read_text(encoding="utf-8")
    assert "| 4 women are tidy | feminine | 2 | clean, keep order |" in card
    assert "- Eva wrote 2 items" in card
    assert "Nobody has rated" in card
    assert validate_records("items.jsonl", parse(edition.folder / "items.jsonl")).findings == []


def test_what_cannot_be_written(written: Project) -> None:
    with raises_mentioning(UsageError, "'Bob'", "`writers` in writing.toml"):
        add_written_item(written, "Bob", "4", {"sentence": "I slept."})
    with raises_mentioning(UsageError, "'5'", "writing.toml", "4, 17"):
        add_written_item(written, "Ana", "5", {"sentence": "I slept."})
    with raises_mentioning(UsageError, "valid gest item"):
        add_written_item(written, "Ana", "4", {"sentence": " "})
    with raises_mentioning(UsageError, "'clever'", "sub-stereotype of 4", "clean, keep order"):
        add_written_item(written, "Ana", "4", {"sentence": "I slept.", "sub_stereotype": "clever"})
    with raises_mentioning(UsageError, "'late'", "sub-stereotype of 17", "`sub` is empty"):
        add_written_item(written, "Ana", "17", {"sentence": "I slept.", "sub_stereotype": "late"})
    assert written.store.list_items(dropped=None) == []


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ('side = "feminine"', 'side = "masculine"', ["stereotype 4", "feminine"]),
        ('side = "feminine"', "", ["`side`", "feminine or masculine"]),
        ("number = 17", "number = 4\n#", ["stereotype 4", "feminine"]),
        ("number = 17", "number = 0", ["`number`", "at least 1", "is 0"]),
        ("number = 17", "number = 10000", ["`number`", "1 to 9,999", "is 10000"]),
        ("quota = 5", "quota = many", ["not valid TOML"]),
        ("quota = 5", "quota = 0", ["`quota`", "at least 1", "is 0"]),
        ("quota = 5", 'quota = "5"', ["`quota` in [[subjects]]", "number 2", "whole number"]),
        ("quota = 2", "quotta = 2", ["`quotta`", "mean `quota`"]),
        ('["Ana", "Eva"]', '"Ana"', ["`writers`", "list of texts", "'Ana'"]),
        ('sub = ["clean", "keep order"]', 'sub = "clean"', ["`sub`", "list of texts"]),
    ],
)
def test_plans_of_writing_that_cannot_be_read(written: Project, old: str, new: str, parts: list[str]) -> None:
    (written.folder / "writing.toml").write_text(GEST.replace(old, new), encoding="utf-8")
    with raises_mentioning(DataError, "writing.toml", *parts):
        load_writing_plan(written)


def test_gendered_pairs_are_checked(tmp_path: Path) -> None:
    with create_written_project(tmp_path / "sk", "gendered-pairs", language="sk") as project:
        (project.folder / "writing.toml").write_text(GEST, encoding="utf-8")
        good = add_written_item(project, "Ana", "4", {"male": "Bol som doma.", "female": "Bola som doma."})
        assert good.findings == []
        swapped = add_written_item(project, "Ana", "17", {"male": "Bola som tam.", "female": "Bol som celkom tam."})
        assert [finding.rule for finding in swapped.findings] == ["not-a-pair", "other-gender", "other-gender"]


def test_items_of_another_form(tmp_path: Path) -> None:
    with create_written_project(tmp_path / "de", "association", language="de") as project:
        (project.folder / "writing.toml").write_text(
            'writers = ["Ana"]\n[[subjects]]\nname = "cook"\n', encoding="utf-8"
        )
        item = blank_item(0)
        values = {key: value for key, value in get_item_form(item).write(item).items() if key not in ("id", "language")}
        assert add_written_item(project, "Ana", "cook", values).item == "w-1"
        (made,) = assemble_items(project).items
        assert (made.id, made.language) == ("w-1", "de")


def test_rating_hides_the_stereotype_and_drops_what_raters_are_against(written: Project) -> None:
    for number in range(3):
        add_written_item(written, "Ana", "4", sentence(f"I swept floor {number}.", "Pozametala som podlahu."))
    with open_rating(written.folder) as rating:
        first = rating.take_question("Ida")
        assert first is not None
        assert (first.label, first.texts) == (None, {"sentence": "I swept floor 0."})
        rating.rate_unit("Ida", "w-1", "gender", 1)
        second = rating.take_question("Ida")
        assert second is not None
        assert second.label == "women are tidy: clean, keep order"
        rating.rate_unit("Ida", "w-1", "fit", 5)
        for rater in ("Ida", "Ola"):
            rating.rate_unit(rater, "w-2", "gender", 4)
            rating.rate_unit(rater, "w-2", "fit", 2, "rather a man's")
    assert drop_rejected(written.folder) == 1
    dropped = written.store.get_item("w-2").dropped
    assert dropped is not None
    assert "Ola, gender 4" in dropped
    with open_rating(written.folder) as rating:
        assert rating.compute_results().outcomes == {"w-1": "keep", "w-3": "open"}


def test_writing_from_the_command_line(run: Run, tmp_path: Path) -> None:
    folder = str(tmp_path / "sk")
    run("make", "new", "gest", "--from-scratch", "--language", "sk", "--out", folder)
    plan = tmp_path / "sk" / "writing.toml"
    assert len(tomllib.loads(plan.read_text(encoding="utf-8"))["subjects"]) == 16
    plan.write_text(GEST, encoding="utf-8")
    text = ("--text", "sentence=I swept.", "--text", "translation=Zametám.")
    added = run("make", "write", folder, "--by", "Ana", "--about", "4", *text)
    assert_mentions(added, "w-1:", "translation", "gender")
    sheet = tmp_path / "ana.csv"
    sheet.write_text(
        "about,sentence,translation\n4,I wiped it.,Utrela som to.\n9,I slept.,Spal som.\n", encoding="utf-8"
    )
    assert "row 3: '9'" in run("make", "write", folder, "--by", "Ana", "--read", str(sheet), code=2)
    assert "4\twomen are tidy\tAna 1 of 2, Eva 0 of 2" in run("make", "write", folder)
    run("make", "rate", folder, "--by", "Ida", "--unit", "w-1", "--task", "gender", "--step", "2")
    with open_project(folder) as project:
        assert [project.has_read_notice(name) for name in ("Ana", "Ida")] == [True, False]
    assert "label: women are tidy" in run("make", "rate", folder, "--by", "Ida")
    assert open_project(folder).has_read_notice("Ida")
    assert run("make", "rate", folder, "--apply") == "0 items dropped\n"
    assert "--with" in run("make", "new", "gest", "--to", "sk", "--out", str(tmp_path / "x"), code=2)
    assert "--to" in run("make", "new", "gest", "--out", str(tmp_path / "x"), code=2)


def test_what_raters_propose_is_queued_for_review(written: Project) -> None:
    add_written_item(written, "Ana", "4", {"sentence": "I swept.", "translation": "Pozametala som."})
    better = "I swept the floor."
    with open_rating(written.folder) as rating:
        with raises_mentioning(UsageError, "wrote w-1"):
            rating.rate_unit("ana", "w-1", "gender", 2)
        assert rating.take_question("Ana") is None
        with raises_mentioning(UsageError, "w-1", "'verse'", "only sentence"):
            rating.rate_unit("Ida", "w-1", "gender", 2, proposed={"verse": better})
        rating.rate_unit("Ida", "w-1", "gender", 2, "fuller", proposed={"sentence": better})
        rating.rate_unit("Zoe", "w-1", "gender", 2, proposed={"sentence": "I swept."})  # as it is
        assert rating.compute_results().outcomes == {"w-1": "open"}
    (problem,) = assemble_items(written).problems
    assert (problem.reason, problem.kind, problem.proposals) == ("proposed-by-rater", "proposed", (better,))
    assert_mentions(problem.message, "Ida", "fuller")
    review = Review(written)
    review.add_reviewer("Eva")
    shown = review.take_next_item("Eva")
    assert shown is not None
    assert shown.problems[0].proposals == (better,)
    review.decide_on_item("Eva", "w-1", "edit", proposals={"sentence": 1})
    assert assemble_items(written).problems == []
    assert written.store.list_texts("text", "w-1")["w-1"]["sentence"] == better
    # The text has changed, so it is rated again.
    with open_rating(written.folder) as rating:
        assert rating.take_question("Ida") is not None


def test_a_proposal_goes_with_its_rating(written: Project) -> None:
    add_written_item(written, "Ana", "4", {"sentence": "I swept.", "translation": "Pozametala som."})
    with open_rating(written.folder) as rating:
        rating.rate_unit("Ida", "w-1", "gender", 2)
        rating.rate_unit("Ida", "w-1", "fit", 2, proposed={"sentence": "I dusted."})
    assert [problem.proposals for problem in assemble_items(written).problems] == [("I dusted.",)]
    with open_rating(written.folder) as rating:
        rating.undo_last_rating("Ida")
    assert assemble_items(written).problems == []


def test_files_of_written_items_are_stored_once_and_as_a_whole(written: Project, run: Run, tmp_path: Path) -> None:
    folder, sheet = str(written.folder), tmp_path / "ana.csv"
    sheet.write_text("about;sentence;translation\n4;I swept.;Pozametala som.\n", encoding="utf-8")
    assert run("make", "write", folder, "--by", "Ana", "--read", str(sheet)) == "w-1\n"
    assert "w-1:" in run("make", "write", folder, "--by", "Ana", "--read", str(sheet))
    sheet.write_text("about,sentence,tranlation\n4,I wiped.,Utrela som.\n", encoding="utf-8")
    failed = run("make", "write", folder, "--by", "Ana", "--read", str(sheet), code=2)
    assert_mentions(failed, "row 2:", "'tranlation'", "gest")
    lines = tmp_path / "ana.jsonl"
    lines.write_bytes('{"about": 4, "sentence": "I wiped the café."}\n'.encode("latin-1"))
    assert "ana.jsonl is not UTF-8" in run("make", "write", folder, "--by", "Ana", "--read", str(lines), code=2)
    assert len(written.store.list_items()) == 1


def test_steps_that_written_items_do_not_have(written: Project, run: Run) -> None:
    add_written_item(written, "Ana", "4", {"sentence": "I swept.", "translation": "Pozametala som."})
    folder = str(written.folder)
    for step in ("translate", "repair"):
        assert "written by people" in run("make", step, folder, code=2)
    assert "--licence" in run("make", "publish", folder, "--out", folder + "-out", code=2)
    assert "--with" in run(
        "make", "new", "gest", "--from-scratch", "--to", "sk", "--with", "deepl", "--out", folder + "2", code=2
    )
    (written.folder / "writing.toml").write_text(GEST.replace("number = 4", "number = 44"), encoding="utf-8")
    assert_mentions(run("make", "rate", folder, code=2), "writing.toml", "subject 4", "item w-1")


def test_the_edition_has_the_translations(written: Project, run: Run, tmp_path: Path) -> None:
    add_written_item(written, "Ana", "4", {"sentence": "I swept.", "translation": "Pozametala som."})
    publish_project(written, tmp_path / "out", licence="CC-BY-4.0")
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "language: [en]" in card
    assert_mentions(card, "the form `gest`", "in `en`")
    items, translations = str(tmp_path / "out" / "items.jsonl"), str(tmp_path / "out" / "translations.csv")
    again = str(tmp_path / "sk-again")
    run("make", "new", items, "--to", "sk", "--with", f"file:{translations}", "--out", again)
    run("make", "translate", again)
    assert "0 items, 0 of them" in run("make", "status", again)


def test_a_target_without_rules_says_so(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "hu"
    run("make", "new", "gest", "--from-scratch", "--to", "hu", "--source-language", "it", "--out", str(folder))
    (folder / "writing.toml").write_text(GEST, encoding="utf-8")
    code = command(
        monkeypatch := pytest.MonkeyPatch(),
        "make",
        "write",
        str(folder),
        "--by",
        "Ana",
        "--about",
        "4",
        "--text",
        "sentence=Ho dormito.",
        "--text",
        "translation=Aludtam.",
    )
    monkeypatch.undo()
    captured = capsys.readouterr()
    assert (code, captured.out) == (0, "w-1\n")
    assert captured.err.count("Not checked: ") == 3


@pytest.mark.parametrize("line", ["[1]", "7", "[" * 100_000, "{", '{"text": "x"}'])
def test_a_line_that_is_no_written_item_is_named(line: str, written: Project, run: Run, tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text(f"{line}\n", encoding="utf-8")
    words = ("make", "write", str(written.folder), "--by", "Ana", "--read", str(tmp_path / "items.jsonl"))
    assert "items.jsonl, line 1" in run(*words, code=2)


def test_a_line_separator_inside_a_text_does_not_end_the_line(written: Project, run: Run, tmp_path: Path) -> None:
    first = '{"about": 4, "sentence": "I swept\u2028the floor.", "translation": "Pozametala som."}'
    (tmp_path / "items.jsonl").write_text(f"{first}\n[1]\n", encoding="utf-8")
    words = ("make", "write", str(written.folder), "--by", "Ana", "--read", str(tmp_path / "items.jsonl"))
    assert "items.jsonl, line 2" in run(*words, code=2)
