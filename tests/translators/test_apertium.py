import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.cli import app
from tiltmeter.errors import UsageError
from tiltmeter.making.system_languages import check_target_language
from tiltmeter.translators import open_translator
from tiltmeter.translators.apertium import ApertiumTranslator


@pytest.fixture
def apertium() -> ApertiumTranslator:
    if shutil.which("apertium") is None:
        pytest.skip("Apertium is not installed: apt install apertium apertium-eng-spa")
    try:
        return ApertiumTranslator("eng-spa")
    except UsageError as error:
        pytest.skip(str(error))


def test_it_translates(apertium: ApertiumTranslator) -> None:
    texts = ["I was tired", "The house is red. The cat sleeps.", "Two\nlines, one zxqvw text.", "I was tired"]
    translations = apertium.translate(texts, "es")
    assert len(translations) == len(texts)
    assert translations[0] == translations[3]
    assert "cansad" in translations[0].lower()
    assert "casa" in translations[1].lower()
    assert "gato" in translations[1].lower()
    assert "zxqvw" in translations[2]
    assert "*" not in translations[2]
    assert all(text == text.strip() for text in translations)


def test_texts_do_not_influence_each_other(apertium: ApertiumTranslator) -> None:
    # In one sentence, the adjective would come after the noun and agree with it: casa roja.
    assert [text.lower() for text in apertium.translate(["red", "house", "old", "man"], "es")] == [
        "rojo",
        "casa",
        "viejo",
        "hombre",
    ]


def test_the_direction_must_fit_the_languages(apertium: ApertiumTranslator) -> None:
    apertium.check("es")
    apertium.check("spa")
    apertium.check("es-MX")
    with raises_mentioning(UsageError, "eng-spa", "English to 'sk'", "directions from English are", "Install"):
        apertium.check("sk")
    apertium._installed.append("en-gl")
    with raises_mentioning(UsageError, "English to 'gl'; choose en-gl"):
        apertium.check("gl")
    with raises_mentioning(UsageError, "spa-eng", "English"):
        open_translator("apertium:spa-eng").check("en")


def test_a_project_needs_a_system_for_its_language(apertium: ApertiumTranslator, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["make", "new", "x", "--to", "sk", "--with", apertium.name, "-o", str(tmp_path)])
    assert isinstance(result.exception, UsageError)
    assert_mentions(str(result.exception), "'sk'", "eng-spa")
    assert check_target_language(apertium.name, "es") == ""
    assert "eng-xyz" in check_target_language("apertium:eng-xyz", "es")


def test_the_key_names_the_version(apertium: ApertiumTranslator) -> None:
    assert apertium.key == ApertiumTranslator("eng-spa").key
    assert apertium.key.startswith("apertium eng-spa Apertium ")
    assert apertium.price is None


def test_a_direction_that_is_not_installed(apertium: ApertiumTranslator) -> None:
    with raises_mentioning(UsageError, "'eng-xyz'", "eng-spa"):
        open_translator("apertium:eng-xyz")


def make_program(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> ApertiumTranslator:
    program = folder / "apertium"
    program.write_text(f"#!/bin/sh\n[ $1 = -l ] && echo eng-hbs && exit\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return ApertiumTranslator("eng-hbs")


def test_words_without_translation_are_unknown_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marked = "@The *well-being of ana@mail #grad#."
    translator = make_program(tmp_path, monkeypatch, f"printf '{marked}\\n\\nMir.\\n\\n'")
    assert translator.list_unknown_words(["", ""]) == [["The", "well", "being"], []]


@pytest.mark.parametrize("cut", ["/crash/Q", "s/crash.*/cra/;/cra/q"])
def test_a_text_that_crashes_the_program_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: str
) -> None:
    translator = make_program(tmp_path, monkeypatch, f"sed '{cut}'")
    texts = ["one", "two", "a crash", "four", "five"]
    assert translator.translate(texts, "hr") == ["one", "two", "", "four", "five"]


def test_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with raises_mentioning(UsageError, "apt install apertium apertium-eng-spa"):
        open_translator("apertium:eng-spa")
