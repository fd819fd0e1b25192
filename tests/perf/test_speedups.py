"""`perf.speedups`: its arithmetic, and a short run."""

import json
from pathlib import Path

import pytest
from scipy.stats import t

from perf import speedups
from perf.speedups import PLAIN, Ratio, ratio, verdict
from tests.models.tiny import CAUSAL, made
from tests.models.tiny_tokenizers import word_level
from tiltmeter.engine.speedups import ALL, NAMES


def test_the_quantiles() -> None:
    for freedom, quantile in enumerate(speedups._T, start=1):
        assert quantile == pytest.approx(t.ppf(0.975, freedom), abs=6e-4)


def test_the_interval_is_that_of_the_logarithms() -> None:
    found = ratio([(2.0, 1.0), (2.2, 1.0), (1.8, 1.0)])
    logs = [0.6931472, 0.7884574, 0.5877867]
    expected = t.interval(0.95, 2, loc=sum(logs) / 3, scale=_deviation(logs) / 3**0.5)
    assert found.value == pytest.approx(2.718281828 ** (sum(logs) / 3), rel=1e-5)
    assert (found.low, found.high) == pytest.approx([2.718281828**end for end in expected], rel=1e-3)
    assert str(ratio([(3.0, 2.0)])) == "1.50"


def _deviation(values: list[float]) -> float:
    mean = sum(values) / len(values)
    return (sum((value - mean) ** 2 for value in values) / (len(values) - 1)) ** 0.5


def test_verdicts() -> None:
    little, much, wide = Ratio(1.0, 0.95, 1.05), Ratio(1.5, 1.4, 1.6), Ratio(1.1, 1.0, 1.2)
    assert verdict("norms", [little, little]) == "delete"
    assert verdict("norms", [little, much]) == "keep"
    assert verdict("norms", [little, wide]) == "unclear"
    assert verdict("norms", [ratio([(1, 1)])]) == "too few turns"
    assert verdict(PLAIN, [little]) == ""


def test_each_speed_up_of_a_model_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made(CAUSAL["gpt2"]).save_pretrained(tmp_path / "m")
    word_level(bos_token="<s>").save_pretrained(tmp_path / "m")
    monkeypatch.setattr(speedups, "WORKLOADS", (("stereoset-intra", str(tmp_path / "m")),))
    file = tmp_path / "record.json"
    speedups.main(["--items-from", "starter", "--items", "4", "--repeats", "2", "--json", str(file)])
    (measured,) = json.loads(file.read_text())["measured"]
    assert set(measured["seconds"]) <= ALL | {PLAIN}
    assert set(measured["seconds"]) >= {"activations", "last_layer", "packing", "prefixes", "gc_pause", PLAIN}
    assert all(len(pairs) == 2 for pairs in measured["seconds"].values())
    assert max(measured["differences"].values()) < 1e-4
    printed = capsys.readouterr().out
    rows = [line.split(" | ")[0] for line in printed.splitlines() if line.startswith("| ")]
    assert [row for row in rows if row[2:] in measured["seconds"]] == [
        f"| {name}" for name in (*NAMES, PLAIN) if name in measured["seconds"]
    ]
