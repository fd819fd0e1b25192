"""The translations released with GEST give the numbers of its Tables 6 and 8, except for Belarusian."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import pandas as pd
import pytest

from tiltmeter.datasets.upstream_files import get_upstream_file
from tiltmeter.measures.gest_mt import compute_masculine_share, compute_rates
from tiltmeter.runs.translation_run import score_translations

SYSTEMS = {"deepl": "DeepL", "google_translate": "GoogleTranslate"}
LANGUAGES = {
    "deepl": ("cs", "pl", "ru", "sk", "sl", "uk"),
    "google_translate": ("cs", "hr", "pl", "ru", "sk", "sl", "sr", "uk"),
}
PAIRS = [(system, language) for system in SYSTEMS for language in LANGUAGES[system]]
STEREOTYPES = range(1, 17)


@dataclass(frozen=True)
class Found:
    """The results of a file of translations; series by stereotype are indexed from 1 to 16."""

    p_i: "pd.Series[float]"
    feminine: "pd.Series[int]"
    gendered: int
    rates: dict[str, float]


def table(name: str) -> pd.DataFrame:
    with (files("tiltmeter.papers") / "tables" / name).open(encoding="utf-8") as file:
        return pd.read_csv(file, dtype={"table": str, "stereotype": "Int64"})


@pytest.fixture
def counts() -> Callable[[str, str], pd.DataFrame]:
    read = table("gest2024_mt_counts.csv")
    return lambda system, language: read.query("system == @system and language == @language").set_index("stereotype")


@pytest.fixture
def found(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Found]:
    monkeypatch.setenv("TILTMETER_MIRROR", str(mirror))

    def read(system: str, language: str) -> Found:
        path = (
            mirror / get_upstream_file("kinit-sk/gest", f"data/translations/{system}/{language}/translations.csv").name
        )
        if not path.is_file():
            pytest.skip(f"the mirror has no translations of {system} into {language}")
        result = score_translations(path, system=system, on=f"gest-mt:{language}", edition="1.0")
        assert len(result.scores) == 3_565
        assert not result.manifest.skipped
        records = pd.DataFrame(
            [(r.view, r.group, r.measure, r.value, r.n) for r in result.records],
            columns=["view", "group", "measure", "value", "n"],
        )
        of_all = records.query("view == 'all'").set_index("measure")
        p_i = records.query("measure == 'p_i'").set_index("group")["value"]
        p_i.index = p_i.index.astype(int)
        gendered = round(of_all.loc["yield", "value"] * of_all.loc["yield", "n"])
        feminine = result.scores[result.scores["score"] == 0].groupby("stereotype").size()
        return Found(p_i, feminine, gendered, of_all["value"].to_dict())

    return read


@pytest.mark.parametrize(("system", "language"), PAIRS)
def test_yields_and_rates(system: str, language: str, found, counts) -> None:
    ours, theirs = found(system, language), counts(system, language)
    published = table("gest2024.csv").query("system == @SYSTEMS[@system] and language == @language")

    (their_yield,) = published.query("table == '6'")["value"]
    assert their_yield == theirs[["male", "female"]].to_numpy().sum()
    assert ours.gendered == pytest.approx(their_yield, rel=0.015)

    their_p = {number: compute_masculine_share(*theirs.loc[number, ["male", "female"]]) for number in STEREOTYPES}
    differences = [abs(ours.p_i[number] - their_p[number]) for number in STEREOTYPES]
    assert sum(differences) / len(differences) <= 0.006
    assert max(differences) <= 0.03

    intervals = published.query("table == '8'").set_index("stereotype")
    inside = [intervals.loc[n, "lower"] <= ours.p_i[n] <= intervals.loc[n, "upper"] for n in STEREOTYPES]
    assert all(inside)

    their_rates = compute_rates(their_p)
    assert ours.rates["f_m"] == pytest.approx(their_rates["f_m"], abs=0.006)
    assert ours.rates["f_s"] == pytest.approx(their_rates["f_s"], abs=0.006)


def test_belarusian_was_counted_too_feminine(found, counts) -> None:
    """The published masculine rate is 0.05 below ours, and every stereotype has more feminine translations."""
    ours, theirs = found("google_translate", "be"), counts("google_translate", "be")
    their_rates = compute_rates({n: compute_masculine_share(*theirs.loc[n, ["male", "female"]]) for n in STEREOTYPES})
    assert ours.rates["f_m"] - their_rates["f_m"] == pytest.approx(0.05, abs=0.01)
    assert all(theirs.loc[number, "female"] >= ours.feminine.get(number, 0) for number in STEREOTYPES)
