"""The released scores of GEST's pairs: which pairs count, and files that do not fit."""

import math
from pathlib import Path

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.benchmarks.gendered_pairs import NOT_ONE_TOKEN
from tiltmeter.errors import DataError, ModelError, UsageError
from tiltmeter.forms.gendered_pairs import NOT_ONE_WORD, REPEATED_PAIR, GenderedPairItem
from tiltmeter.runs import gest_pair_predictions, prediction_run
from tiltmeter.runs.gest_pair_predictions import read_pair_ratios, select_scored_pairs
from tiltmeter.runs.portions import Portion
from tiltmeter.runs.prediction_run import score_predictions

# Words of the vocabulary of the tiny model, and an unknown word of several tokens.
TEXTS = [
    ("cs", "the nurse sat", "the nun sat"),
    ("cs", "the nurse sat", "the nun sat"),
    ("cs", "the nurse", "the nun sat"),
    ("sk", "the nurse sat", "the nun sat"),
    ("sk", "the nurse here", "the nun here"),
]


@pytest.fixture
def items() -> list[GenderedPairItem]:
    return [
        GenderedPairItem(str(number), language, 1 + number % 2 * 8, male, female)
        for number, (language, male, female) in enumerate(TEXTS)
    ]


def reasons(items: list[GenderedPairItem], language: str, model: str) -> tuple[list[str], dict[str, str]]:
    kept, skipped = select_scored_pairs(items, language, model)
    return [item.id for item in kept], {skip.item: skip.reason for skip in skipped}


def test_pairs_that_do_not_count_have_a_reason(items: list[GenderedPairItem], masked: str) -> None:
    kept, skipped = reasons(items, "cs", masked)
    assert {skipped["1"], skipped["2"]} == {REPEATED_PAIR, NOT_ONE_WORD}
    assert set(kept) | set(skipped) == {"0", "1", "2"}
    kept, skipped = reasons(items, "sk", masked)
    assert skipped["3"] == REPEATED_PAIR  # the pair occurs in an earlier language
    assert skipped.get("4", NOT_ONE_TOKEN) == NOT_ONE_TOKEN


def test_ratios_are_natural_logarithms_with_a_line_for_each_pair(items: list[GenderedPairItem], tmp_path: Path) -> None:
    path = tmp_path / "model.txt"
    path.write_text("1\n-1\n0\n2\n0.5\n", encoding="utf-8")
    assert read_pair_ratios(path, items)[:2] == [math.log(10), -math.log(10)]
    path.write_text("1\n", encoding="utf-8")
    with raises_mentioning(DataError, str(path), "gender_variants.csv"):
        read_pair_ratios(path, items)


def test_a_model_without_a_tokenizer_is_named(items: list[GenderedPairItem], tmp_path: Path) -> None:
    with raises_mentioning(ModelError, "tokenizer", str(tmp_path)):
        select_scored_pairs(items, "cs", str(tmp_path))


def test_scores_become_a_run(
    items: list[GenderedPairItem], tmp_path: Path, masked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.txt"
    path.write_text("1\n-1\n0\n2\n0.5\n", encoding="utf-8")
    here = [item for item in items if item.language == "cs"]
    portion = Portion("gest-pairs", "gendered-pairs", "all", "cs", here, {"pairs.csv": "0" * 64})
    monkeypatch.setattr(gest_pair_predictions, "load_pairs", lambda: items)
    monkeypatch.setattr(gest_pair_predictions, "_select_one_token_pairs", lambda pairs, _model: list(pairs))
    monkeypatch.setattr(prediction_run, "load_portions", lambda _on: [portion])
    result = score_predictions(path, form="gest-pairs", on="gest-pairs:cs", model=masked)
    assert result.scores[["item", "score"]].to_numpy().tolist() == [["0", math.log(10)]]
    assert [entry.kind for entry in result.manifest.asked] == ["masked"]
    assert {skip.item for skip in result.manifest.skipped} == {"1", "2"}
    monkeypatch.setattr(prediction_run, "load_portions", lambda _on: [portion, portion])
    with raises_mentioning(UsageError, "gest-pairs:cs"):
        score_predictions(path, form="gest-pairs", on="gest-pairs", model=masked)
