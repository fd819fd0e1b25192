"""The item counts in the catalogue are those of the released files."""

from collections import Counter
from pathlib import Path

import pytest

from tiltmeter.datasets import DATASETS


@pytest.mark.parametrize("name", [name for name in DATASETS if not name.startswith("starter")])
def test_items_and_sizes_of_released_files(name: str, mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_MIRROR", str(mirror))
    data = DATASETS[name]
    here = [source for source in data.sources if source.is_local()]
    if not here:
        pytest.skip(f"no file of {name} is in the mirror")
    counted: Counter[str] = Counter()
    for source in here:
        counted[source.language] += len(source.validate().items)
        for file, path in zip(source.files, source.fetch_files(), strict=True):
            assert isinstance(file, Path) or file.size == path.stat().st_size
    whole = {code for code in data.languages if all(s.is_local() for s in data.sources if s.language == code)}
    assert {code: counted[code] for code in whole} == {code: data.items[code] for code in whole}
