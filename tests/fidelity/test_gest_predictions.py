"""The scores released with GEST give the printed numbers of its tables, on the published scale."""

import csv
import math
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from statistics import NormalDist, fmean, pstdev

import numpy as np
import pandas as pd
import pytest

from tiltmeter.measures.records import Record
from tiltmeter.measures.winobias import compute_validity
from tiltmeter.runs.prediction_run import score_predictions

# Released names, with the table (9: masked models, 10: causal models), the printed name and the offset of templates.
MODELS = {
    "english_mlm/bert-base-uncased": ("9", "bert-base", 0),
    "english_mlm/xlm-roberta-base": ("9", "xlm-roberta-base", 0),
    "english_glm/gpt2": ("10", "gpt2", 2),
    "english_glm/phi-1": ("10", "phi-1", 2),
}
# Printed intervals with an end more than 0.01 away, because they are based on 1,000 unseeded resamples.
NOISY = {("phi-1", 4, 3), ("phi-1", 4, 6), ("phi-1", 4, 14)}


@pytest.fixture(autouse=True)
def _use_it(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_MIRROR", str(mirror))


def tables() -> pd.DataFrame:
    with (files("tiltmeter.papers") / "tables" / "gest2024.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file, dtype={"table": str})


@cache
def scored(folder: Path, name: str) -> pd.DataFrame:
    return score_predictions(folder / name, form="gest", on="gest-1.0").scores


@cache
def measured(folder: Path, name: str) -> dict[tuple[str, str, str], Record]:
    records = score_predictions(folder / name, form="gest", on="gest-1.0").records
    return {(record.measure, record.part, record.group): record for record in records}


@pytest.fixture
def folder(mirror: Path) -> Path:
    return mirror / "kinit-sk/gest/data/predictions"


def printed(name: str) -> Iterator[tuple[tuple[str, int, int], "pd.Series[float]"]]:
    """Yield name, template and stereotype of each row of a model, with the printed row."""
    table, system, offset = MODELS[name]
    rows = tables()
    for _, row in rows[(rows["table"] == table) & (rows["system"] == system)].iterrows():
        yield (system, int(row["template"]) + offset, int(row["stereotype"])), row


@pytest.mark.parametrize("name", MODELS)
def test_released_scores_give_the_printed_rates(name: str, folder: Path) -> None:
    found = measured(folder, name)
    compared = 0
    for (_, template, stereotype), row in printed(name):
        record = found["q_i as published", f"template-{template}", str(stereotype)]
        assert f"{record.value:.2f}" == f"{row['value']:.2f}"
        compared += 1
    assert compared == (64 if "mlm" in name else 32)


@pytest.mark.parametrize("name", MODELS)
def test_and_the_printed_intervals(name: str, folder: Path) -> None:
    found = measured(folder, name)
    beyond = set()
    for place, row in printed(name):
        record = found["q_i as published", f"template-{place[1]}", str(place[2])]
        assert record.low is not None
        assert record.high is not None
        ends = (round(record.low, 2) - row["lower"], round(record.high, 2) - row["upper"])
        if max(map(abs, ends)) > 0.011:
            beyond.add(place)
        # The rates of phi-1 are as high as 3.4, and their intervals as wide as 0.5.
        assert max(map(abs, ends)) <= 0.011 * max(1.0, row["value"])
    assert beyond == {place for place in NOISY if place[0] == MODELS[name][1]}


@pytest.mark.parametrize("name", MODELS)
def test_the_printed_intervals_are_off_by_no_more_than_their_own_noise(name: str, folder: Path) -> None:
    """The released ends are m ± z s, with the noisy mean m and standard deviation s of 1,000 resampled means."""
    scores = scored(folder, name)
    z = NormalDist().inv_cdf(0.975)
    for (_, template, stereotype), row in printed(name):
        some = scores[(scores["part"] == f"template-{template}") & (scores["stereotype"] == stereotype)]
        log10 = (some["score"] / math.log(10)).tolist()
        mean, spread = fmean(log10), pstdev(log10) / math.sqrt(len(log10))
        noise = spread * math.sqrt(1 / 1000 + z**2 / 2000)
        for sign, end in ((-1, "lower"), (1, "upper")):
            exact = math.exp(mean + sign * z * spread)
            assert abs(row[end] - exact) <= 0.005 + 3.5 * noise * exact


def test_the_defined_rates_are_not_the_printed_ones(folder: Path) -> None:
    """g_s of bert-base-uncased, the mean over templates, as published with the wrong base and as defined."""
    found = measured(folder, "english_mlm/bert-base-uncased")
    assert f"{found['g_s as published', 'overall', 'all'].value:.3f}" == "1.166"
    assert f"{found['g_s', 'overall', 'all'].value:.3f}" == "1.426"


def test_scores_are_natural_logarithms_and_all_rows_are_there(folder: Path) -> None:
    scores = scored(folder, "english_mlm/bert-base-uncased")
    assert len(scores) == 4 * 3565
    first = float((folder / "english_mlm/bert-base-uncased_template-2.txt").read_text().split()[0])
    (row,) = scores[(scores["part"] == "template-3") & (scores["item"] == "0")].to_dict("records")
    assert row["score"] == pytest.approx(first * math.log(10))
    assert (row["candidate"], row["role"], row["protocol"]) == ("he/she", "log_ratio", "published")
    assert scores["family_words"][(scores["stereotype"] > 7) & (scores["part"] == "template-1")].sum() == 166


def log_rates() -> dict[tuple[str, str, str], "np.ndarray[tuple[int], np.dtype[np.float64]]"]:
    rows = tables()
    rows = rows[rows["table"].isin(["9", "10"])].sort_values("stereotype")
    return {
        (str(table), str(system), str(template)): np.log(some["value"].to_numpy())
        for (table, system, template), some in rows.groupby(["table", "system", "template"])
    }


def test_the_predictive_validity_of_the_paper(mirror: Path) -> None:
    """Appendix B: Pearson's correlation of g_s with WinoBias, over eleven masked models, is 0.95."""

    def record(model: str, part: str, value: float) -> Record:
        about = {"benchmark": "", "language": "en", "view": "as published", "group": "all", "protocol": "published"}
        return Record(
            model=model, part=part, value=value, measure="g_s as published", low=None, high=None, n=1, ideal=1, **about
        )

    by_model: dict[str, list[float]] = {}
    for (table, system, _), logs in log_rates().items():
        if table == "9":
            by_model.setdefault(system, []).append(math.exp(logs[7:].mean() - logs[:7].mean()))
    records = [record(model, "overall", fmean(values)) for model, values in by_model.items()]
    with (mirror / "kinit-sk/gest/data/predictions/winobias/winobias.csv").open() as file:
        for row in csv.DictReader(file):
            name = row["model_name"].rpartition("/")[2]
            for ending in ("-uncased", "-v2", "lingual-cased", "-generator"):
                name = name.removesuffix(ending)
            log10 = float(row["logprob_male_professions"]) - float(row["logprob_female_professions"])
            records.append(record(name, f"type{row['dataset_type']}-{row['dataset_split']}", math.exp(log10)))
    found = compute_validity(records, as_published=True)
    assert len(found.models) == 11
    assert f"{found.correlation:.2f}" == "0.95"
    assert found.p_value < 2e-5
