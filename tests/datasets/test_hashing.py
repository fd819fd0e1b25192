"""Data files are hashed once in a run, and every time outside of one."""

import hashlib
from collections import Counter
from pathlib import Path

import pytest

from tests.models.tiny import MASKED, made
from tests.models.tiny_tokenizers import word_piece
from tiltmeter.datasets import DATASETS, Dataset, hashing
from tiltmeter.datasets.description import Source
from tiltmeter.datasets.hashing import digests, hashed_once, sha256_of
from tiltmeter.datasets.upstream import Pin, UpstreamFile
from tiltmeter.runs.evaluate import evaluate
from tiltmeter.runs.portions import portions

PAIRS = """translator,language,original,stereotype,male,female
,sk,I was rude.,4,the nurse was gruff,the nurse was gen
,cs,I was rude.,4,a nurse was gruff,a nurse was gen
"""


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    read: Counter[str] = Counter()
    original = hashing.read_digests

    def count(path: Path) -> hashing.Digests:
        read[path.name] += 1
        return original(path)

    monkeypatch.setattr(hashing, "read_digests", count)
    return read


@pytest.fixture
def pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A data set with one file, in a mirror, that has two languages."""
    file = tmp_path / "me" / "pairs" / "pairs.csv"
    file.parent.mkdir(parents=True)
    file.write_text(PAIRS, encoding="utf-8")
    blob = hashlib.sha1(b"blob %d\0" % len(PAIRS.encode()) + PAIRS.encode()).hexdigest()
    pinned = UpstreamFile("me/pairs", "c0ffee", "pairs.csv", Pin("git-blob", blob))
    sources = tuple(Source(language, None, "gest-pairs-csv", pinned) for language in ("sk", "cs"))
    data = Dataset("made-pairs", "gendered-pairs", "made up", "CC0", "nobody", "none", (), sources)
    monkeypatch.setitem(DATASETS._datasets, "made-pairs", data)
    monkeypatch.setenv("TILTMETER_MIRROR", str(tmp_path))
    return data.name


def test_a_run_hashes_a_file_once(pairs: str, tmp_path: Path, counted: Counter[str]) -> None:
    """Its pin is verified, its hash is in the manifest, and it is read in two languages."""
    made(MASKED["bert"]).save_pretrained(tmp_path / "model")
    word_piece().save_pretrained(tmp_path / "model")
    result = evaluate(tmp_path / "model", pairs)
    assert set(result.scores["language"]) == {"sk", "cs"}
    sha256 = hashlib.sha256(PAIRS.encode()).hexdigest()
    assert [entry.files for entry in result.manifest.data] == [{"me/pairs/pairs.csv": sha256}] * 2
    assert counted == {"pairs.csv": 1}


def test_without_a_run_it_is_hashed_each_time(pairs: str, counted: Counter[str]) -> None:
    assert len(list(portions(pairs))) == 2
    assert counted == {"pairs.csv": 6}  # three times for each language


def test_outside_of_a_run_a_file_is_read_each_time_and_in_it_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("one")
    with hashed_once():
        first = sha256_of(path)
        path.write_text("two")
        with hashed_once():  # a nested block shares the cache
            assert sha256_of(path) == first
        assert sha256_of(path) == first
    assert sha256_of(path) == hashlib.sha256(b"two").hexdigest()
    assert digests(path).git_blob == hashlib.sha1(b"blob 3\0two").hexdigest()
    with hashed_once():
        assert sha256_of(path) != first
