"""The predictions released with Öztürk et al. 2023 give the numbers printed in its tables."""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import pandas as pd
import pytest

from tiltmeter.datasets.dataset_loader import load
from tiltmeter.measures.association import measure
from tiltmeter.runs.prediction_files import Predictions, read_predictions

PREDICTIONS = "slds-lmu/stereotypes-multi/results/predictions"


@dataclass(frozen=True)
class Released:
    """A file, the names of its model in the tables, and how many printed numbers come from it."""

    file: str
    language: str
    models: tuple[str, ...]
    numbers: int


RELEASED = [
    Released("bert-base-cased_BertLM_BertNextSentence_en.json", "en", ("BERT",), 21),
    Released("bert-base-multilingual-cased_BertLM_BertNextSentence_tr.json", "tr", ("mBERT",), 21),
    Released("dbmdz_bert-base-german-cased_BertLM_BertNextSentence_de.json", "de", ("BERT",), 21),
    Released("dbmdz_german-gpt2_GPT2LM_GPT2LM_d_de.json", "de", ("GPT-2",), 21),
    Released("gpt2_GPT2LM_GPT2LM_d_en.json", "en", ("GPT-2", "GPT-2 (gen)"), 24),
    Released("gpt2__GPT2LM_orig_en.json", "en", ("GPT-2 (gen_orig)",), 3),
    Released("t5-base_T5LM_ModelNSP_en.json", "en", ("T5", "T5 (NSP)"), 24),
]

# (table, model, language, metric): the printed number, and the number from the released predictions.
SLIPS = {
    ("3", "mBERT", "tr", "LMS"): ("78.23", "78.73"),
    ("4", "T5", "en", "SS"): ("60.18", "60.20"),
    ("4", "T5", "en", "ICAT"): ("66.75", "66.70"),
    ("5", "T5", "en", "SS"): ("60.28", "60.32"),
    ("5", "T5", "en", "macro ICAT"): ("65.59", "65.53"),
    ("5", "T5", "en", "micro ICAT"): ("66.57", "66.51"),
}

VIEWS = {"global": "all", "per-target": "targets"}
MEASURES = {"SS": "SS as published", "macro ICAT": "ICAT macro", "micro ICAT": "ICAT micro"}


@pytest.fixture
def tables() -> pd.DataFrame:
    with (files("tiltmeter.papers") / "tables" / "oeztuerk2023.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file, dtype={"table": str})


@pytest.fixture
def predictions(mirror: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TILTMETER_MIRROR", str(mirror))

    def read(released: Released) -> Predictions:
        items = load("stereoset", None, released.language)
        return read_predictions(mirror / PREDICTIONS / released.file, "stereotypes-multi", items)

    return read


def computed(scores: pd.DataFrame) -> dict[tuple[str, str, str], str]:
    """Return the values by part, view and measure, formatted as in a table."""
    records = [record for record in measure(scores, intervals=False) if record.group == "all"]
    return {(record.part, record.view, record.measure): f"{record.value:.2f}" for record in records}


def compare(tables: pd.DataFrame, models: tuple[str, ...], language: str, found: dict[tuple[str, str, str], str]):
    """Yield the place of each number of the tables, with the printed and the computed number."""
    for row in tables[tables["model"].isin(models) & (tables["language"] == language)].itertuples():
        place = (row.table, row.model, row.language, row.metric)
        yield place, (f"{row.value:.2f}", found[row.test, VIEWS[row.view], MEASURES.get(row.metric, row.metric)])


@pytest.mark.parametrize("released", RELEASED, ids=lambda released: released.file.removesuffix(".json"))
def test_released_predictions_give_the_printed_numbers(released: Released, predictions, tables: pd.DataFrame) -> None:
    read = predictions(released)
    assert not read.skipped
    assert len(read.scores) % 3 == 0
    compared = dict(compare(tables, released.models, released.language, computed(read.scores)))
    assert len(compared) == released.numbers
    differences = {place: pair for place, pair in compared.items() if pair[0] != pair[1]}
    expected = {place: pair for place, pair in SLIPS.items() if place in compared}
    assert differences == expected


def test_the_file_without_intrasentence_predictions_says_so(predictions) -> None:
    assert predictions(RELEASED[5]).absent == ["intrasentence"]


def test_the_overall_numbers_of_t5_leave_out_what_german_lacks(predictions, tables: pd.DataFrame) -> None:
    """They were computed from 4,226 items: three intrasentence items are missing from the German data."""
    german = {item.id for item in load("stereoset", None, "de")}
    scores = predictions(RELEASED[6]).scores
    scores = scores[scores["item"].isin(german)]
    assert scores["item"].nunique() == 4_226
    compared = dict(compare(tables[tables["test"] == "overall"], ("T5",), "en", computed(scores)))
    assert {place: pair for place, pair in compared.items() if pair[0] != pair[1]} == {}
