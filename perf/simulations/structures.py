"""Items of real data sets: what they share (crossed factors), and the answers of models on them.

The data sets are read from TILTMETER_MIRROR. `make_words` needs no files: it makes items like those of StereoSet.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

import tiltmeter
from perf.simulations.runner import Rng
from tiltmeter.datasets.dataset_loader import load
from tiltmeter.forms import get_item_form
from tiltmeter.measures.factors import Codes, Factors, Labels
from tiltmeter.measures.standard_errors import Floats

PREDICTIONS = "slds-lmu/stereotypes-multi/results/predictions"
GEST_PREDICTIONS = "kinit-sk/gest/data/predictions"
# The released files with the largest and with a typical effect of words, by language.
RELEASED = {"de": "THUMT_mGPT_GPT2LM_GPT2LM_d_de", "en": "gpt2_GPT2LM_GPT2LM_d_en"}
# A second file for differences between models.
OTHERS = {
    "de": "bert-base-multilingual-cased_BertLM_BertNextSentence_de",
    "en": "bert-base-cased_BertLM_BertNextSentence_en",
}


@dataclass(frozen=True)
class Structure:
    """The factors of the items of a data set and their other columns; `former` names the only factor used formerly.

    `answers` are the preferences of released models: 100 for the stereotype, 0 for the anti-stereotype, 50 for a tie.
    """

    name: str
    factors: Factors
    former: str | None = None
    columns: pd.DataFrame | None = None
    answers: tuple[Floats, ...] = ()

    @property
    def n(self) -> int:
        """The number of items."""
        return len(next(iter(self.factors.codes.values())))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the factors."""
        return tuple(self.factors.labels)

    def where(self, rows: Codes) -> "Structure":
        """Return the items with these indexes."""
        columns = None if self.columns is None else self.columns.iloc[rows].reset_index(drop=True)
        answers = tuple(values[rows] for values in self.answers)
        return replace(self, factors=self.factors.select_rows(rows), columns=columns, answers=answers)

    def get_columns(self) -> pd.DataFrame:
        """Return the columns of the items."""
        assert self.columns is not None, "made items have no columns"
        return self.columns

    def get_labels(self, column: str) -> Labels:
        """Return a column of the items."""
        labels: Labels = self.get_columns()[column].to_numpy(dtype=object)
        return labels

    @cached_property
    def codes(self) -> dict[str, Codes]:
        """The cluster of each item, by column and factor; the clusters of `item` are single items."""
        columns = pd.DataFrame() if self.columns is None else self.columns
        labels = {str(name): values.to_numpy() for name, values in columns.items()} | dict(self.factors.labels)
        return {"item": np.arange(self.n)} | {name: _encode(values) for name, values in labels.items()}

    @cached_property
    def former_factors(self) -> Factors | None:
        """The only factor that was used formerly; None if items counted as independent."""
        if self.former is None:
            return None
        return Factors.from_labels({self.former: self.factors.labels[self.former]})


def _encode(labels: np.ndarray) -> Codes:
    """Return the cluster of each item; an item without a label is a cluster of its own."""
    codes = pd.factorize(labels)[0]
    missing = codes < 0
    codes[missing] = codes.max(initial=-1) + 1 + np.arange(int(missing.sum()))
    return codes


def draw_effects(rng: Rng, structure: Structure, effects: Mapping[str, float]) -> Floats:
    """Return the sum of normal effects for each item; `effects` has the standard deviation of each factor."""
    total = np.zeros(structure.n)
    for factor, deviation in effects.items():
        codes = structure.codes[factor]
        total += deviation * rng.normal(size=int(codes.max()) + 1)[codes]
    return total


def draw_preferences(
    rng: Rng, structure: Structure, effects: Mapping[str, float], mean: float | Floats = 0.5
) -> Floats:
    """Return preferences (0 or 100) whose probits have normal effects of factors; `mean` may differ between items."""
    scale = np.sqrt(1 + sum(deviation**2 for deviation in effects.values()))
    rates = ndtr(scale * ndtri(mean) + draw_effects(rng, structure, effects))
    return 100.0 * (rng.random(structure.n) < rates)


def flip(rng: Rng, structure: Structure, values: Floats, factors: Sequence[str], ideal: float = 50.0) -> Floats:
    """Return values mirrored at the ideal in random clusters; with several factors, each item belongs to one of them.

    The mean of all possible results is the ideal, and the values of a cluster remain as similar as they are.
    """
    own = rng.integers(len(factors), size=structure.n)
    signs = np.empty(structure.n)
    for number, factor in enumerate(factors):
        codes = structure.codes[factor]
        signs[own == number] = rng.choice([-1.0, 1.0], int(codes.max()) + 1)[codes][own == number]
    return ideal + signs * (values - ideal)


def make_words(n: int, terms: int = 79, words: int = 300) -> Structure:
    """Make items with a term and two words each; the frequencies of words follow Zipf's law, as in StereoSet."""
    rng = np.random.default_rng(n)
    shares = 1 / np.arange(2, words + 2)
    drawn = rng.choice(words, (2, n), p=shares / shares.sum())
    labels = {"target": np.arange(n) % terms, "stereotype_word": drawn[0], "anti_stereotype_word": drawn[1]}
    factors = Factors.from_labels({name: values.astype(object) for name, values in labels.items()})
    return Structure(f"made, n={n:,}", factors, "target")


def get_mirror() -> Path | None:
    """Return the folder with the published files, if there is one."""
    mirror = os.environ.get("TILTMETER_MIRROR", "")
    return Path(mirror) if mirror and Path(mirror).is_dir() else None


def _build_structure(name: str, source: tuple[str, str | None, str], former: str | None) -> tuple[Structure, list[str]]:
    """Return the structure of a data set, given as its name, part and language, and the ids of its items."""
    items = load(*source)
    form = get_item_form(items[0])
    columns = pd.DataFrame([form.attributes(item) for item in items])
    names = [column for group in form.factors.values() for column in group if column in columns]
    labels = {column: columns[column].to_numpy(dtype=object) for column in names if columns[column].nunique() > 1}
    return Structure(name, Factors.from_labels(labels), former, columns), [item.id for item in items]


@cache
def load_structure(name: str, part: str | None, language: str, former: str | None) -> Structure:
    """Return the structure of a data set without answers."""
    return _build_structure(f"{name}:{language}", (name, part, language), former)[0]


@cache
def load_words(language: str) -> Structure:
    """Return StereoSet within sentences, with the answers of two released models."""
    structure, ids = _build_structure(
        f"StereoSet:{language}", ("stereoset", "intrasentence", language), former="target"
    )
    answers = tuple(_read_answers(file, language, ids) for file in (RELEASED[language], OTHERS[language]))
    return replace(structure, answers=answers)


def _read_answers(file: str, language: str, ids: Sequence[str]) -> Floats:
    mirror = get_mirror()
    assert mirror is not None
    path = mirror / PREDICTIONS / f"{file}.json"
    scores = tiltmeter.score_predictions(path, form="stereotypes-multi", on=f"stereoset:{language}").scores
    table = scores[scores["part"] == "intrasentence"].pivot(index="item", columns="role", values="score").loc[list(ids)]
    signs = np.sign((table["stereotype"] - table["anti-stereotype"]).to_numpy(dtype=float))
    return 50.0 + 50.0 * signs


@cache
def load_gest() -> pd.DataFrame:
    """Return the scores of a released model on one template of GEST."""
    mirror = get_mirror()
    assert mirror is not None
    path = mirror / GEST_PREDICTIONS / "english_glm" / "gpt2"
    scores = tiltmeter.score_predictions(path, form="gest", on="gest-1.0").scores
    return scores[scores["part"] == scores["part"].iloc[0]].reset_index(drop=True)
