import re
from pathlib import Path

import pytest

from tiltmeter.datasets.upstream_files import Pin, get_upstream_file, load_repositories


def test_every_repository_is_pinned_and_described() -> None:
    assert "moinnadeem/StereoSet" in load_repositories()
    for repository in load_repositories().values():
        assert re.fullmatch("[0-9a-f]{40}", repository.commit)
        assert repository.licence
        assert repository.citation
        assert repository.warning
        assert repository.files


def test_every_file_has_a_hash_of_the_right_length() -> None:
    lengths = {"sha256": 64, "git-blob": 40, "commit": 0}
    for repository in load_repositories().values():
        for path, file in repository.files.items():
            folder = repository.name if file.service == "github" else f"hub/{repository.name}"
            assert file.name == f"{folder}/{path}"
            assert re.fullmatch(f"[0-9a-f]{{{lengths[file.pin.algorithm]}}}", file.pin.digest)


def test_a_file_is_found_by_repository_and_path() -> None:
    assert get_upstream_file("moinnadeem/StereoSet", "data/dev.json").pin.algorithm == "git-blob"
    with pytest.raises(KeyError):
        get_upstream_file("moinnadeem/StereoSet", "data/test.json")


@pytest.mark.parametrize(
    "pin",
    [
        # From `printf 'a mild sentence\n' | sha256sum` and `… | git hash-object --stdin`.
        Pin("sha256", "9023f55e51df4ae1a5ed1ad84a05424a71cd436d2c3a7cb077de56977d26d6d3"),
        Pin("git-blob", "0c1155ea17ce15ca236932cfe3586eea9af0c38c"),
    ],
)
def test_hashes_are_those_of_the_usual_tools(pin: Pin, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a mild sentence\n")
    assert pin.compute_for_file(path) == pin


def test_a_file_without_a_known_hash_is_taken_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a mild sentence\n")
    pin = Pin("commit", "")
    assert pin.compute_for_file(path) == pin
    assert not pin.is_hash
    assert str(pin) == "commit"
