"""A short run of `perf.pairs_memory`: the memory of Python is the same for ten times the articles."""

import tracemalloc
from pathlib import Path

import pytest

from perf.pairs_memory import MadeArticles, measure_apart
from tiltmeter.training import negative_pairs, pairs_files
from tiltmeter.training.pairs_creation import PairOptions, make_pairs


def peak(articles: int, out: Path) -> int:
    tracemalloc.start()
    try:
        make_pairs([MadeArticles(articles, "en")], out, PairOptions(check_language=False))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_articles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Buffers that the smallest number of articles fills.
    monkeypatch.setattr(pairs_files, "_ROW_GROUP", 500)
    monkeypatch.setattr(negative_pairs, "_BUFFER_SIZE", 100)
    peak(50, tmp_path / "warm")
    few, many = peak(150, tmp_path / "few"), peak(1500, tmp_path / "many")
    assert many < 1.3 * few


def test_the_record(capsys: pytest.CaptureFixture[str]) -> None:
    record = measure_apart(60)
    assert record["articles"] == 60
    assert 200 < record["pairs"] < 60 * 5 * 2
    assert record["peak"] > 20e6
