"""Runs on GEST, end to end: templates, editions, released predictions, unsupported parts."""

import math
from pathlib import Path

import pandas as pd
import pytest

from tests.benchmarks.test_gest import SINGLE, UNEQUAL, word_piece
from tests.models.tiny import CAUSAL, MASKED, made
from tests.support.messages import raises_mentioning
from tiltmeter.datasets import load
from tiltmeter.datasets.readers.jsonl import write_jsonl
from tiltmeter.errors import DataError, ModelError, UsageError
from tiltmeter.forms.association import ROLES, AssociationItem, Candidate
from tiltmeter.forms.gendered_pairs import GenderedPairItem
from tiltmeter.forms.gest import GestItem
from tiltmeter.forms.winobias import WinoBiasItem
from tiltmeter.runs.evaluate import evaluate
from tiltmeter.runs.prediction_run import score_predictions
from tiltmeter.runs.result import Result

TEMPLATES = [f"template-{number}" for number in (1, 2, 3, 4)]


def saved(folder: Path, words: list[str], model: str = "bert") -> str:
    made({**MASKED, **CAUSAL}[model]).save_pretrained(folder)
    word_piece(words).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> str:
    return saved(tmp_path_factory.mktemp("models") / "masked", SINGLE)


@pytest.fixture(scope="module")
def causal(tmp_path_factory: pytest.TempPathFactory) -> str:
    return saved(tmp_path_factory.mktemp("models") / "causal", SINGLE, "gpt2")


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model with one token for he and man and two for she and woman."""
    return saved(tmp_path_factory.mktemp("models") / "odd", UNEQUAL)


@pytest.fixture
def sentences(tmp_path: Path) -> Path:
    path = tmp_path / "mine.jsonl"
    write_jsonl([GestItem(str(n), "en", 1 + n % 16, f"I sang {'well ' * n}.") for n in range(32)], path)
    return path


def test_all_templates_are_asked_by_default(masked: str, causal: str, sentences: Path) -> None:
    result = evaluate([masked, causal], str(sentences), out=sentences.parent / "run")
    parts = result.scores.groupby("model")["part"].agg(lambda parts: sorted(set(parts)))
    assert parts[masked] == TEMPLATES
    assert parts[causal] == TEMPLATES[2:]
    assert not result.manifest.refused
    assert [entry.part for entry in result.manifest.data] == ["all"]
    scores = pd.read_parquet(sentences.parent / "run/scores.parquet")
    assert set(scores["role"]) == {"log_ratio"}
    assert sorted(set(scores["stereotype"])) == list(range(1, 17))
    assert len(scores) == 6 * 32
    again = Result.load(sentences.parent / "run")
    pd.testing.assert_frame_equal(again.measures, result.measures)
    assert {"g_s", "q_m", "q_f", "g_s as published"} <= set(again.measures["measure"])
    single = evaluate(masked, f"{sentences}/template-3")
    assert set(single.scores["part"]) == {"template-3"}


def test_templates_that_a_model_does_not_support_are_listed(masked: str, causal: str, sentences: Path) -> None:
    result = evaluate([masked, causal], f"{sentences}/template-1")
    (refusal,) = result.manifest.refused
    assert (refusal.model, refusal.part) == (causal, "template-1")
    assert "before the sentence" in refusal.reason


def test_words_that_split_unequally_are_reported(odd: str, sentences: Path) -> None:
    with raises_mentioning(ModelError, "No item", "different numbers of tokens"):
        evaluate(odd, f"{sentences}/template-3")
    with raises_mentioning(ModelError, "different numbers of tokens"):
        evaluate(odd, str(sentences))


def test_gest_with_other_benchmarks_in_one_run(masked: str, sentences: Path, tmp_path: Path) -> None:
    pairs, occupations = tmp_path / "pairs.jsonl", tmp_path / "occupations.jsonl"
    write_jsonl([GenderedPairItem("1", "en", 3, "he sang well.", "she sang well.")], pairs)
    about = ("cat", "male", "the cat fed and he sang.", "the cat fed and she sang.")
    write_jsonl([WinoBiasItem("w", "type1-dev", "en", *about)], occupations)
    blanks = tmp_path / "blanks.jsonl"
    candidates = tuple(
        Candidate(role, role, f"the cat fed and {word} sang.", word)
        for role, word in zip(ROLES, ("man", "woman", "well"), strict=True)
    )
    context = "the cat fed and BLANK sang."
    write_jsonl([AssociationItem("b", "intrasentence", "en", "gender", "cat", "cat", context, candidates)], blanks)
    on = [f"{sentences}/template-3", str(pairs), str(occupations), str(blanks)]
    result = evaluate(masked, on, limit=20, out=tmp_path / "run")
    assert result.scores.groupby("benchmark").size().to_dict() == {
        str(sentences): 20,
        str(occupations): 1,
        str(blanks): 3,
    }
    # `he` and `she` start with different letters, so they are not two forms of one word.
    assert {skip.reason for skip in result.manifest.skipped} == {
        "the two forms of the word begin with different letters"
    }
    assert len(Result.load(tmp_path / "run").scores) == len(result.scores)


def test_the_editions_differ_in_244_sentences(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_MIRROR", str(mirror))
    new, old = load("gest", None, "en"), load("gest-1.0", None, "en")
    assert sum(first != second for first, second in zip(new, old, strict=True)) == 244


@pytest.fixture
def released(tmp_path: Path) -> Path:
    """Files in the released format for 16 sentences: four for a masked model, two for a causal one."""
    write_jsonl([GestItem(str(n), "en", 1 + n, f"I sang {n} songs.") for n in range(16)], tmp_path / "s.jsonl")
    for model, count in (("bert-x1.5", 4), ("gpt-x", 2)):
        for number in range(count):
            lines = [str(0.01 * n + number) for n in range(16)]
            (tmp_path / f"{model}_template-{number}.txt").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(("model", "parts"), [("bert-x1.5", TEMPLATES), ("gpt-x", TEMPLATES[2:])])
def test_all_predictions_of_a_model(model: str, parts: list[str], released: Path) -> None:
    result = score_predictions(released / model, form="gest", on=str(released / "s.jsonl"), out=released / "run")
    assert sorted(set(result.scores["part"])) == parts
    first = result.scores[result.scores["part"] == parts[-1]].set_index("item")["score"]
    assert first["3"] == pytest.approx((0.03 + len(parts) - 1) * math.log(10))
    (about,) = [model.details for model in result.manifest.models]
    assert about["name"] == model
    assert len(about["predictions"]) == len(parts)
    assert {record.model for record in result.records} == {model}


def test_the_predictions_of_one_template(released: Path) -> None:
    file = released / "gpt-x_template-1.txt"
    on = str(released / "s.jsonl")
    result = score_predictions(file, form="gest", on=f"{on}/template-4", model="mine")
    assert set(result.scores["part"]) == {"template-4"}
    assert set(result.scores["model"]) == {"mine"}
    with raises_mentioning(UsageError, "gpt-x_template-1.txt", "gest-1.0/template-1:en"):
        score_predictions(file, form="gest", on=on)
    with raises_mentioning(UsageError, "gpt-x", "template-1", "template-3, template-4"):
        score_predictions(released / "gpt-x", form="gest", on=f"{on}/template-1")


def test_invalid_predictions_are_errors(released: Path) -> None:
    on = f"{released / 's.jsonl'}/template-3"
    file = released / "gpt-x_template-0.txt"
    with raises_mentioning(DataError, "nowhere", "nowhere_template-0.txt"):
        score_predictions(released / "nowhere", form="gest", on=on)
    with raises_mentioning(UsageError, "gest or gest-1.0", "--on"):
        score_predictions(file, form="gest", on="starter:en")
    with raises_mentioning(UsageError, "stereotypes-multi", "StereoSet"):
        score_predictions(file, form="stereotypes-multi", on=on)
    with raises_mentioning(UsageError, "'nothing'", "stereotypes-multi", "gest"):
        score_predictions(file, form="nothing", on=on)
    for text, part in {"0.5\n": "16 sentences", "x\n": "number on each line"}.items():
        file.write_text(text, encoding="utf-8")
        with raises_mentioning(DataError, str(file), part):
            score_predictions(file, form="gest", on=on)
    file.write_text("nan\n" * 16, encoding="utf-8")
    with raises_mentioning(DataError, "line 1: nan"):
        score_predictions(file, form="gest", on=on)
