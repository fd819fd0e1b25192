"""Rating: the label is hidden first, rules for keeping units, agreement, reservations, samples of the gender rules."""

import json
from pathlib import Path

import pytest

from tests.support.command import Run
from tests.support.messages import raises_mentioning
from tiltmeter.errors import DataError, UsageError
from tiltmeter.forms.gest import GestItem
from tiltmeter.gender import SpeakerGender, find_speaker_gender
from tiltmeter.making.rating.gender_evaluation import evaluate_samples
from tiltmeter.making.rating.gender_sample import (
    GENDERS,
    build_gender_units,
    build_pair_units,
    draw_sample,
    open_sample,
    write_sample,
)
from tiltmeter.making.rating.rating import ImportedRating, RatingSession
from tiltmeter.making.rating.rating_plan import RatingPlan, RatingTask, read_rating_plan
from tiltmeter.making.rating.rating_tables import RatingStore, RatingUnit

FIVE = ("1", "2", "3", "4", "5")
GENDER = RatingTask("gender", "Which?", FIVE, keep="label")
FIT = RatingTask("fit", "Fits?", FIVE, label_shown=True, keep=(4, 5))
TASK = '[[tasks]]\nname = "a"\nquestion = "b"\nsteps = ["c", "d"]\n'


def rating(tmp_path: Path, plan: RatingPlan, units: int = 3) -> RatingSession:
    store = RatingStore(tmp_path / "rating.sqlite")
    with store.begin_transaction():
        store.set_units(
            RatingUnit(f"u{n}", {"sentence": f"I see {n}."}, "men see", (4, 5)) for n in range(1, units + 1)
        )
    return RatingSession(store, plan)


def test_the_label_is_hidden_first(tmp_path: Path) -> None:
    session = rating(tmp_path, RatingPlan((GENDER, FIT)))
    first = session.take_question("Ana")
    assert first is not None
    assert (first.unit, first.task.name, first.label) == ("u1", "gender", None)
    with raises_mentioning(UsageError, "Ana for u1", "gender, not fit"):
        session.rate_unit("Ana", "u1", "fit", 5)
    session.rate_unit("Ana", "u1", "gender", 4)
    second = session.take_question("Ana")
    assert second is not None
    assert (second.unit, second.task.name, second.label) == ("u1", "fit", "men see")
    # The label was shown, so the blind rating cannot be changed.
    with raises_mentioning(UsageError, "label of u1", "cannot be changed"):
        session.undo_last_rating("Ana")
    session.rate_unit("Ana", "u1", "fit", 5)
    assert session.undo_last_rating("Ana").task == "fit"
    session.rate_unit("Ana", "u1", "fit", 4, "good")
    with raises_mentioning(UsageError, "Ana", "already rated u1"):
        session.rate_unit("Ana", "u1", "fit", 5)
    with raises_mentioning(UsageError, "'u9'"):
        session.rate_unit("Ana", "u9", "gender", 1)
    with raises_mentioning(UsageError, "step 6", "gender", "1 to 5"):
        session.rate_unit("Ana", "u2", "gender", 6)


def rate_all(session: RatingSession, rater: str, unit: str, *steps: int) -> None:
    for task, step in zip(session.plan.tasks, steps, strict=True):
        session.rate_unit(rater, unit, task.name, step)


def test_a_second_rater_decides_where_the_first_is_against(tmp_path: Path) -> None:
    session = rating(tmp_path, RatingPlan((GENDER, FIT), second_decides=True), units=4)
    rate_all(session, "Ana", "u1", 5, 4)
    rate_all(session, "Ana", "u2", 2, 5)  # the other gender
    rate_all(session, "Ana", "u3", 4, 3)  # does not fit
    assert session.compute_results().outcomes == {"u1": "keep", "u2": "open", "u3": "open", "u4": "open"}
    assert [question.unit for question in session.list_all_questions("Eva")] == ["u2", "u3", "u4"]
    rate_all(session, "Eva", "u2", 4, 4)
    rate_all(session, "Eva", "u3", 3, 4)
    results = session.compute_results()
    assert results.outcomes == {"u1": "keep", "u2": "keep", "u3": "drop", "u4": "open"}
    assert results.raters == {"Ana": 6, "Eva": 4}
    assert results.agreement["gender"].items == 2


@pytest.mark.parametrize(
    ("fits", "outcome"), [([5, 4, 4], "keep"), ([1, 2, 3], "drop"), ([5, 5, 1, 1], "open"), ([1, 1, 5, 5, 4], "keep")]
)
def test_three_of_five(tmp_path: Path, fits: list[int], outcome: str) -> None:
    session = rating(tmp_path, RatingPlan((FIT,), raters=5, agree=3), units=1)
    for number, step in enumerate(fits):
        session.rate_unit(f"r{number}", "u1", "fit", step)
    assert session.compute_results().outcomes == {"u1": outcome}
    assert (session.take_question("another") is None) == (len(fits) == 5)


def test_ratings_of_changed_texts_do_not_count(tmp_path: Path) -> None:
    session = rating(tmp_path, RatingPlan((FIT,)), units=1)
    session.rate_unit("Ana", "u1", "fit", 5)
    with session.store.begin_transaction():
        session.store.set_units([RatingUnit("u1", {"sentence": "I hear."}, "men see")])
    assert session.compute_results().outcomes == {"u1": "open"}
    assert session.take_question("Ana") is not None
    assert len(session.store.list_ratings()) == 1


@pytest.mark.parametrize(
    ("toml", "parts"),
    [
        ("raters = 1", ["no [[tasks]]"]),
        (TASK.replace(', "d"', ""), ["`steps`", "at least two"]),
        (TASK + "keep = [3]", ["`keep`", "from 1 to 2"]),
        (TASK + 'level = "ratio"', ["`level`", "nominal, ordinal, interval", "'ratio'"]),
        ("agree = 2\n" + TASK, ["`agree` is 2", "`raters` (1)"]),
        ("[[tasks", ["not valid TOML"]),
        ("verse = 1", ["`verse`"]),
        ('second_decides = "yes"', ["`second_decides`", "true or false", "'yes'"]),
        (TASK.replace('["c", "d"]', '"cd"'), ["`steps`", "list of texts"]),
        (TASK + 'keep = "lable"', ["`keep`", "'lable'"]),
        (2 * TASK, ["two tasks", "'a'"]),
    ],
)
def test_plans_that_cannot_be_read(tmp_path: Path, toml: str, parts: list[str]) -> None:
    path = tmp_path / "rating.toml"
    path.write_text(toml, encoding="utf-8")
    with raises_mentioning(DataError, str(path), *parts):
        read_rating_plan(path)


# Reservations


def test_two_raters_are_not_given_the_same_free_slot(tmp_path: Path) -> None:
    now = [0.0]
    first = rating(tmp_path, RatingPlan((GENDER, FIT)), units=2)
    session = RatingSession(first.store, first.plan, clock=lambda: now[0])
    asked = [session.take_question(name) for name in ("Ana", "Eva", "Ida")]
    assert [question.unit if question else None for question in asked] == ["u1", "u2", None]
    # The same question again, also under another spelling of the name.
    again = session.take_question("ana ")
    assert again is not None
    assert again.unit == "u1"
    now[0] = 3600.0
    late = session.take_question("Ida")
    assert late is not None
    assert late.unit == "u1"


def test_slots_count_beside_ratings(tmp_path: Path) -> None:
    session = rating(tmp_path, RatingPlan((FIT,), raters=2, agree=1), units=1)
    session.rate_unit("Ana", "u1", "fit", 5)
    assert session.take_question("Eva") is not None
    assert session.take_question("Ida") is None
    session.release_reservations("Eva")
    assert session.take_question("Ida") is not None
    session.rate_unit("Ida", "u1", "fit", 4)
    assert session.take_question("Eva") is None
    assert session.store.get_rating_slots(0.0) == {}


def test_the_second_who_decides_is_held_too(tmp_path: Path) -> None:
    session = rating(tmp_path, RatingPlan((FIT,), second_decides=True), units=1)
    session.rate_unit("Ana", "u1", "fit", 1)
    assert session.take_question("Eva") is not None
    assert session.take_question("Ida") is None


def test_sheets_share_what_there_is(tmp_path: Path) -> None:
    session = rating(tmp_path, RatingPlan((FIT,)), units=5)
    assert [question.unit for question in session.take_all_questions("Ana", limit=2)] == ["u1", "u2"]
    assert [question.unit for question in session.take_all_questions("Eva")] == ["u3", "u4", "u5"]
    assert session.take_all_questions("Ida") == []


def test_a_sheet_is_stored_as_a_whole(tmp_path: Path) -> None:
    session = rating(tmp_path, RatingPlan((FIT,)), units=2)
    good, bad = ImportedRating("row 2", "u1", "fit", 5), ImportedRating("row 3", "u2", "fit", 9)
    with raises_mentioning(DataError, "row 3:", "step 9", "fit", "1 to 5", "No rating"):
        session.rate_units("Ana", [good, bad])
    assert session.store.list_ratings() == []
    assert session.rate_units("Ana", [good]) == 1
    assert session.rate_units("ana", [good]) == 0


def test_texts_of_a_sample_are_not_edited(tmp_path: Path) -> None:
    session = rating(tmp_path, RatingPlan((FIT,)))
    with raises_mentioning(UsageError, "texts of a sample"):
        session.rate_unit("Ana", "u1", "fit", 5, proposed={"sentence": "I look."})


# Samples of the gender rules and the pair filter


def test_a_sample_has_as_many_of_each_outcome() -> None:
    texts = [f"{word} {n}." for n in range(30) for word in ("Bol som doma", "Bola som doma", "Som doma")]
    units = build_gender_units([(text, find_speaker_gender(text, "sk", explain=True)) for text in texts], "sk")
    chosen = draw_sample(units, 7)
    assert {label: sum(unit.label == label for unit in chosen) for label in GENDERS} == dict.fromkeys(GENDERS, 7)
    assert [unit.id for unit in draw_sample(units, 7)] == [unit.id for unit in chosen]
    assert {unit.id for unit in draw_sample(units, 7, seed=1)} != {unit.id for unit in chosen}


def test_raters_without_a_majority_are_not_counted(tmp_path: Path) -> None:
    units = build_gender_units([("a", SpeakerGender("masculine")), ("b", SpeakerGender("masculine"))], "sk")
    write_sample(tmp_path / "sample", units, "gender")
    session = open_sample(tmp_path / "sample")
    with session.store, session.store.begin_transaction():
        session.store.add_rating(units[0], "gender", "Ana", 1, "")
        session.store.add_rating(units[0], "gender", "Eva", 2, "")
    found = evaluate_samples([tmp_path / "sample"])
    assert (found.undecided, found.unrated, sum(found.counts.values())) == (1, 1, 0)


def test_pairs_before_the_filter() -> None:
    """As in Table 5: pairs that differ in one word, by what the filter of first letters says."""
    sentences = [
        GestItem("1", "en", 1, "I was sure."),
        GestItem("2", "en", 1, "I like it."),
        GestItem("3", "en", 1, "Up."),
    ]
    translations = [
        ("I was sure.", "Bol som si istý."),
        ('She said: "I was sure."', "Povedala: „Bola som si istý.“"),
        ("I like it.", "Rád to robím."),
        ('She said: "I like it."', "Povedala: „Ochotne to robím.“"),
        ("Up.", "Bol som hore."),
        ('She said: "Up."', "Povedala: „Bola som dosť hore.“"),
    ]
    units = build_pair_units(translations, sentences, "sk")
    assert [(unit.texts["female"], unit.label, unit.fitting) for unit in units] == [
        ("Bola som si istý.", "accepted", (3,)),
        ("Ochotne to robím.", "rejected", (1, 2)),
    ]


def test_sample_rate_and_evaluate_from_the_command_line(run: Run, tmp_path: Path) -> None:
    file, out = tmp_path / "sentences.txt", str(tmp_path / "sample")
    file.write_text("Bola som doma.\nBol som doma.\nSom doma.\nSpal som.\n", encoding="utf-8")
    assert run("gender", "-l", "sk", str(file)).startswith("feminine\tBola som doma.")
    sampled = run("gender", "sample", str(file), "--language", "sk", "--out", out, "--per-outcome", "1")
    assert "     1 of 2 masculine" in sampled
    assert "tiltmeter make rate" in run("gender", "evaluate", out, code=2)
    question = json.loads(run("make", "rate", out, "--by", "Ana", "--json"))
    assert question["label"] is None
    run("make", "rate", out, "--by", "Ana", "--unit", question["unit"], "--task", "gender", "--step", "1")
    sheet = tmp_path / "sheet.csv"
    run("make", "rate", out, "--by", "Ana", "--task", "gender", "--sheet", str(sheet))
    lines = sheet.read_text(encoding="utf-8-sig").splitlines()
    assert len(lines) == 3
    assert not any(",masculine," in line or ",feminine," in line for line in lines)
    sheet.write_text("\n".join([lines[0], *(line[:-2] + "3,," for line in lines[1:])]) + "\n", encoding="utf-8")
    assert run("make", "rate", out, "--by", "Ana", "--read", str(sheet)) == "2 ratings\n"
    assert run("make", "rate", out, "--by", "Ana", "--read", str(sheet)) == "0 ratings\n"
    assert "correct among sentences with a detected gender" in run("gender", "evaluate", out)
    values = json.loads(run("gender", "evaluate", out, "--json"))
    assert sum(sum(row.values()) for row in values["counts"].values()) == 3
    assert "0 drop" in run("make", "rate", out)
