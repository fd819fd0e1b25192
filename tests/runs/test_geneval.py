"""MT-GenEval: scoring of translations, and runs on synthetic items."""

import csv
import json
import string
from pathlib import Path

import pytest

from tests.support.command import command
from tests.support.messages import raises_mentioning
from tests.translators.fake import FakeTranslator
from tiltmeter.errors import UsageError
from tiltmeter.forms.geneval import GenevalItem
from tiltmeter.runs.translation.geneval import TEST, remove_context, split_sentences
from tiltmeter.runs.translation.translation_test import Direction
from tiltmeter.runs.translation_run import evaluate_translator, score_translations

ROWS = [
    {
        "id": f"sentences/{number}/{gender}",
        "part": "sentences",
        "language": "es",
        "gender": gender,
        "pair": str(number),
        "source": f"{pronoun} is a {job}.",
        "correct": right,
        "incorrect": wrong,
    }
    for number, (job, masculine, feminine) in enumerate(
        [("gardener", "Él es jardinero.", "Ella es jardinera."), ("cook", "Él es cocinero.", "Ella es cocinera.")], 1
    )
    for gender, pronoun, right, wrong in (
        ("masculine", "He", masculine, feminine),
        ("feminine", "She", feminine, masculine),
    )
] + [
    {
        "id": "context/1",
        "part": "context",
        "language": "es",
        "gender": "feminine",
        "context": "She has a garden.",
        "source": "Kim is a cook.",
        "correct": "Kim es cocinera.",
        "incorrect": "Kim es cocinero.",
    }
]
SPANISH = {
    "He is a gardener.": "Él es jardinero.",
    "She is a gardener.": "Ella es jardinero.",
    "He is a cook.": "El cocinero es él.",
    "She is a cook.": "Cocina mucho.",
    "She has a garden. Kim is a cook.": "Él tiene un jardín. Kim es cocinera.",
}


@pytest.fixture
def items(tmp_path: Path) -> str:
    path = tmp_path / "made.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    return f"{path}:es"


def naive(translation: str, correct: str, incorrect: str) -> str:
    """Return the published decision, implemented word by word over lists."""

    def words(text: str) -> list[str]:
        return "".join(" " if letter in string.punctuation else letter for letter in text.lower()).split()

    wrong = [word for word in words(incorrect) if word not in words(correct)]
    return "Incorrect" if any(word in wrong for word in words(translation)) else "Correct"


@pytest.mark.parametrize(
    "translation",
    ["Ella es jardinera.", "ÉL, es; jardinera!", "Es jardinero", "Nada.", "(jardinero)", "¿jardinero?", ""],
)
def test_decisions_are_those_of_a_naive_implementation(translation: str) -> None:
    correct, incorrect = "Ella es jardinera.", "Él es jardinero."
    item = GenevalItem("1", "sentences", "es", "feminine", "She is a gardener.", correct, incorrect)
    ((right, matched),) = TEST.open("rules", Direction("en", "es"))([item], [translation])  # type: ignore[misc]
    assert right.score == (naive(translation, correct, incorrect) == "Correct")
    assert matched.score == (translation not in ("Nada.", "", "¿jardinero?"))


def test_the_context_is_removed_by_counting_sentences() -> None:
    item = GenevalItem("1", "context", "es", "feminine", "Kim cooks. Or not?", "a", "b", context="She left.")
    assert split_sentences('He said: "Stop!" Then it rained.') == ['He said: "Stop!"', "Then it rained."]
    assert remove_context(item, "Él salió. Kim cocina. ¿O no?") == "Kim cocina. ¿O no?"
    assert remove_context(item, "Salió y Kim cocina. ¿O no?") is None


def test_a_run_of_a_system(items: str, tmp_path: Path) -> None:
    fake = FakeTranslator(say=SPANISH.__getitem__, key=f"fake {tmp_path}")
    result = evaluate_translator(fake, on=items, out=tmp_path / "run")
    assert set(fake.sent) == set(SPANISH)
    values = {(record.part, record.measure): record.value for record in result.records}
    assert values["sentences", "acc_m"] == 100
    assert values["sentences", "acc_f"] == 50
    assert values["sentences", "acc"] == 50
    assert values["sentences", "acc gap"] == 50
    assert values["sentences", "reference coverage"] == 75
    # "Él" occurs only in the translation of the context.
    assert values["context", "acc"] == 100
    assert {record.family for record in result.records} == {"translation"}
    data = result.manifest.data
    assert [(entry.part, entry.items, entry.item_language) for entry in data] == [
        ("sentences", 4, "es"),
        ("context", 1, "es"),
    ]


def test_a_file_of_one_part(items: str, tmp_path: Path) -> None:
    path = tmp_path / "made.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("from", "to"), *list(SPANISH.items())[:4]])
    result = score_translations(path, system="Sys", on=items)
    assert set(result.scores["part"]) == {"sentences"}
    assert result.manifest.models[0].details["translated"] == 4
    assert result.manifest.models[0].details["missing"] == 0


def test_a_language_without_items(items: str) -> None:
    with raises_mentioning(UsageError, "'fr'", "it has es."):
        evaluate_translator(FakeTranslator(), on=items.replace(":es", ":fr"))


def test_the_command_line(
    items: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "made.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("from", "to"), *SPANISH.items()])
    options = ["--translations", str(path), "--system", "Sys", "--out", str(tmp_path / "run"), "--report"]
    assert command(monkeypatch, "run", *options, "--on", items) == 0
    assert "acc gap" in capsys.readouterr().out
    assert (tmp_path / "run" / "report.html").is_file()
    assert command(monkeypatch, "run", "embedded", "--on", "mt-geneval:es") == 2
    assert "not both" in capsys.readouterr().err
