"""Data files are hashed once in a run, and every time outside of one."""

import hashlib
from collections import Counter
from pathlib import Path

import pytest

from tests.models.tiny import MASKED, made
from tests.models.tiny_tokenizers import word_piece
from tiltmeter.datasets import DATASETS, Dataset, file_hashes
from tiltmeter.datasets.dataset_definition import Source
from tiltmeter.datasets.file_hashes import cache_hashes, get_hashes, get_sha256
from tiltmeter.datasets.upstream_files import Pin, UpstreamFile
from tiltmeter.runs.evaluate import evaluate
from tiltmeter.runs.portions import load_portions

PAIRS = """translator,language,original,stereotype,male,female
,sk,I was rude.,4,the nurse was gruff,the nurse was gen
,cs,I was rude.,4,a nurse was gruff,a nurse was gen
"""


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    read: Counter[str] = Counter()
    original = file_hashes.compute_hashes

    def count(path: Path) -> file_hashes.FileHashes:
        read[path.name] += 1
        return original(path)

    monkeypatch.setattr(file_hashes, "compute_hashes", count)
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
    assert [entry["files"] for entry in result.manifest["data"]] == [{"me/pairs/pairs.csv": sha256}] * 2
    assert counted == {"pairs.csv": 1}


def test_without_a_run_it_is_hashed_each_time(pairs: str, counted: Counter[str]) -> None:
    assert len(list(load_portions(pairs))) == 2
    assert counted == {"pairs.csv": 6}  # three times for each language


def test_outside_of_a_run_a_file_is_read_each_time_and_in_it_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("one")
    with cache_hashes():
        first = get_sha256(path)
        path.write_text("two")
        with cache_hashes():  # a nested block shares the cache
            assert get_sha256(path) == first
        assert get_sha256(path) == first
    assert get_sha256(path) == hashlib.sha256(b"two").hexdigest()
    assert get_hashes(path).git_blob == hashlib.sha1(b"blob 3\0two").hexdigest()
    with cache_hashes():
        assert get_sha256(path) != first
