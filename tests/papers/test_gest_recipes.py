"""Recipes for GEST's judged pairs, rated sentences, counts of pairs and correlation with WinoBias, with made data."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student

from tests.support.messages import raises_mentioning
from tiltmeter.errors import DataError, ModelError
from tiltmeter.forms.gendered_pairs import GenderedPairItem
from tiltmeter.papers.sources import gest_judgements, gest_pair_counts, gest_winobias
from tiltmeter.papers.sources.gest_tables import load_names
from tiltmeter.papers.sources.recipe import NotAvailable, Numbers, Recipe
from tiltmeter.papers.sources.recipe_context import RecipeContext

PAIRS = [
    GenderedPairItem(str(number), language, 4, male, female)
    for number, (language, male, female) in enumerate(
        [
            ("cs", "Byl jsem doma.", "Byla jsem doma."),
            ("sk", "Bol som doma.", "Bola som doma."),
            ("sk", "Bol som doma.", "Bola som doma."),
            ("sk", "Som rád.", "Som rada."),
            ("sk", "Rád by som spal.", "Chcela by som spal."),
        ]
    )
]


class MadeContext(RecipeContext):
    """A context with one file, the pairs above, and made numbers for each recipe."""

    def __init__(self, file: Path, numbers: Callable[[Recipe], Numbers] | None = None) -> None:
        super().__init__({"bert-base-multilingual-cased": "no/such/model"})
        self.file = file
        self.numbers = numbers

    def fetch_file(self, repository: str, path: str) -> Path:
        return self.file

    def compute_once(self, function: Callable[..., Any], *arguments: object) -> Any:
        return PAIRS

    def compute_numbers(self, recipe: Recipe) -> Numbers:
        return self.numbers(recipe) if self.numbers else super().compute_numbers(recipe)


def test_the_filter_is_applied_to_the_judged_pairs(tmp_path: Path) -> None:
    file = tmp_path / "judged.txt"
    blocks = ["Key:\r\nX - no\r\nC - yes", "Som rád.\r\nSom rada.\r\nC", "Rád spím.\r\nIba spím.\r\nX"]
    file.write_bytes("\r\n\r\n".join(blocks).encode())
    counted = gest_judgements.count_judged_pairs(MadeContext(file))
    assert {key: number for key, number in counted.items() if number} == {
        ("positive", "case 3"): 1,
        ("negative", "case 1"): 1,
    }
    file.write_text("Som rád.\n")
    with raises_mentioning(DataError, "no judged pairs"):
        gest_judgements.count_judged_pairs(MadeContext(file))


def test_sentences_are_counted_by_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "ratings.csv"
    file.write_text("sentence,final_verdict\nI ran.,\nI sat.,no\nI sang.,fix\nWe sang.,ok\n")
    monkeypatch.setattr(gest_judgements, "load", lambda *_: ["I ran.", "I sang."])
    assert gest_judgements.count_rated_sentences(MadeContext(file)) == {
        (gest_judgements.WRITTEN,): 4,
        (gest_judgements.REMOVED,): 1,
        (gest_judgements.OTHER_PERSON,): 1,
    }


def test_distinct_pairs_are_a_mean_over_languages(tmp_path: Path) -> None:
    counted = gest_pair_counts.count_distinct_pairs(MadeContext(tmp_path))
    assert counted == {(gest_pair_counts.DISTINCT,): 3 / 2}


def test_the_models_with_fewest_and_most_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {("xlm-roberta-base", "cs"): 1, ("xlm-roberta-base", "sk"): 2, ("xlm-roberta-large", "sk"): 2}

    def select(items: list[Any], language: str, model: str) -> tuple[list[Any], list[Any]]:
        return items[: 1 if model == "no/such/model" else kept.get((model, language), 1)], []

    monkeypatch.setattr(gest_pair_counts, "select_scored_pairs", select)
    counted = gest_pair_counts.count_scored_pairs(MadeContext(tmp_path))
    assert counted == {(gest_pair_counts.LEAST,): 1.0, (gest_pair_counts.MOST,): 1.5}


def test_pairs_are_not_counted_without_the_tokenizers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def select(_items: list[Any], _language: str, model: str) -> None:
        raise ModelError(f"The tokenizer of {model} cannot be loaded.")

    monkeypatch.setattr(gest_pair_counts, "select_scored_pairs", select)
    with raises_mentioning(NotAvailable, "tokenizer of no/such/model"):
        gest_pair_counts.count_scored_pairs(MadeContext(tmp_path))


def test_the_p_value_uses_the_mean_over_the_templates_of_the_released_scores(tmp_path: Path) -> None:
    models = [name for (table, _), name in load_names().items() if table == "9"]
    file = tmp_path / "winobias.csv"
    rows = [f"{model},1,test,{number / 10},{(number % 3) / 10}\n" for number, model in enumerate(models)]
    others = [f"{model},1,dev,9,9\n" for model in models]
    header = "model_name,dataset_type,dataset_split,logprob_male_professions,logprob_female_professions\n"
    file.write_text(header + "".join([*rows, *others]))

    def made(recipe: Recipe) -> Numbers:
        path = str(recipe.arguments[0])
        template = int(path.removesuffix(".txt").rpartition("-")[2])
        model = next(number for number, name in enumerate(models) if f"/{name.rpartition('/')[2]}_template" in path)
        return {("g_s", "all", "value"): 1 + model * template}

    numbers = np.arange(len(models))
    r = np.corrcoef(1 + 1.5 * numbers, np.exp(numbers / 10 - numbers % 3 / 10))[0, 1]
    expected = 2 * student.sf(r * np.sqrt((len(models) - 2) / (1 - r**2)), len(models) - 2)
    ours = gest_winobias.compute_p_value(MadeContext(file, made))
    assert ours[gest_winobias.P_VALUE,] == pytest.approx(expected)
