"""From the starter set to a published set by a real system, Apertium."""

import shutil
from pathlib import Path

import pytest

from tiltmeter.datasets.dataset_loader import validate_spec
from tiltmeter.datasets.dataset_spec import parse_spec
from tiltmeter.errors import UsageError
from tiltmeter.making.project import create_project
from tiltmeter.making.publication import publish_project
from tiltmeter.making.repair_step import repair_project
from tiltmeter.making.translation_step import translate_project
from tiltmeter.translators import Translator, open_translator


@pytest.fixture
def apertium() -> Translator:
    if shutil.which("apertium") is None:
        pytest.skip("Apertium is not installed: apt install apertium apertium-eng-spa")
    try:
        return open_translator("apertium:eng-spa")
    except UsageError as error:
        pytest.skip(str(error))


def test_the_starter_set_in_spanish(apertium: Translator, tmp_path: Path) -> None:
    source = "starter:en"
    with create_project(tmp_path / "es", source, language="es", system="apertium:eng-spa", limit=50) as project:
        done = translate_project(project, apertium)
        assert done.items == 50
        assert sum(done.blanks[outcome] for outcome in ("kept", "respelled", "merged", "restored")) == 25
        repair_project(project)
        accepted = {"untranslated": "a test"}
        edition = publish_project(project, tmp_path / "out", open_items="keep", accepted=accepted)
    assert edition.facts["untranslated"]["untranslated"] > 0
    assert (edition.facts["items"], edition.facts["licence"]) == (50, "Apache-2.0")
    (checked,) = validate_spec(parse_spec(f"{tmp_path}/out/"))
    assert checked.errors == []
    assert {item.language for item in checked.items} == {"es"}
