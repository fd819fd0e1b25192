"""The vendored scripts are unchanged."""

import hashlib
from importlib.resources import files

import pytest

STATIC = files("tiltmeter.studio") / "static"


@pytest.mark.parametrize(
    ("name", "digest", "licence"),
    [
        (
            "htmx-2.0.11.min.js",
            "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717",
            "htmx-LICENSE.txt",
        ),
        (
            "tinykeys-3.1.0.umd.js",
            "acb38124d007e3a336dfcb56816a9c255883a20a016f0e971fc093c218d506fb",
            "tinykeys-LICENSE.txt",
        ),
    ],
)
def test_vendored_files_are_as_released(name: str, digest: str, licence: str) -> None:
    assert hashlib.sha256((STATIC / name).read_bytes()).hexdigest() == digest
    assert "ermission" in (STATIC / licence).read_text(encoding="utf-8")
