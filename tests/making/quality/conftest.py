"""A small Hunspell dictionary, so that tests do not depend on the dictionaries of the machine."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tiltmeter.making.quality import dictionaries

AddDictionary = Callable[[str, str], Path]


@pytest.fixture
def add_dictionary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AddDictionary]:
    """Return a function that writes a dictionary with a name and words; no other dictionary is found."""
    pytest.importorskip("spylls", reason="spylls is not installed: pip install 'tiltmeter[quality]'")
    folder = tmp_path / "dictionaries"
    folder.mkdir()
    monkeypatch.setenv("DICPATH", str(folder))
    monkeypatch.setattr(dictionaries, "_FOLDERS", ())
    dictionaries._find_file.cache_clear()

    def add(name: str, words: str) -> Path:
        listed = words.split()
        (folder / f"{name}.aff").write_text("SET UTF-8\nSFX S Y 1\nSFX S 0 s .\n", encoding="utf-8")
        path = folder / f"{name}.dic"
        path.write_text("\n".join([str(len(listed)), *listed]), encoding="utf-8")
        return path

    yield add
    dictionaries._find_file.cache_clear()
