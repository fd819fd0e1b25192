"""The reader of WinoBias files. The sentences are ours."""

from pathlib import Path

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.datasets.readers import validate_file
from tiltmeter.errors import DataError
from tiltmeter.forms.winobias import WinoBiasItem

PRO = "1 [The gardener] met the florist because [he] lost [his] hat.\n2 The gardener met [a florist] and saw [her].\n"
ANTI = "1 [The gardener] met the florist because [she] lost [her] hat.\n2 The gardener met [a florist] and saw [him].\n"


def write(folder: Path, pro: str = PRO, anti: str | None = ANTI, name: str = "pro_stereotyped_type2.txt.dev") -> Path:
    path = folder / name
    path.write_text(pro, encoding="utf-8")
    if anti is not None:
        path.with_name(name.replace("pro_", "anti_")).write_text(anti, encoding="utf-8")
    return path


def test_two_files_make_pairs(tmp_path: Path) -> None:
    assert validate_file(write(tmp_path), "winobias", "en").require_valid_items() == [
        WinoBiasItem(
            "type2-dev/1",
            "type2-dev",
            "en",
            "gardener",
            "male",
            "The gardener met the florist because he lost his hat.",
            "The gardener met the florist because she lost her hat.",
        ),
        WinoBiasItem(
            "type2-dev/2",
            "type2-dev",
            "en",
            "florist",
            "female",
            "The gardener met a florist and saw him.",
            "The gardener met a florist and saw her.",
        ),
    ]


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"name": "type1.txt"}, ["name", "pro_stereotyped_type1.txt.dev"]),
        ({"anti": None}, ["needs", "anti_stereotyped_type2.txt.dev"]),
        ({"anti": ANTI.splitlines()[0]}, ["2 lines", "anti_stereotyped_type2.txt.dev has 1"]),
        ({"pro": PRO.replace("2 The", "3 The")}, ["line 2: ", "number"]),
        ({"pro": PRO.replace("[his]", "[her]")}, ["line 1: ", "brackets"]),
        ({"pro": PRO.replace("[The gardener]", "The gardener")}, ["line 1: ", "brackets"]),
    ],
)
def test_invalid_files(change: dict[str, str | None], parts: list[str], tmp_path: Path) -> None:
    path = write(tmp_path, **change)  # type: ignore[arg-type]
    with raises_mentioning(DataError, *parts):
        validate_file(path, "winobias", "en").require_valid_items()
