import pytest

from tests.making.quality.conftest import AddDictionary
from tests.support.messages import raises_mentioning
from tiltmeter.errors import DataError
from tiltmeter.making.quality.dictionaries import Dictionary, describe_missing_dictionary, find_dictionary


def test_words_and_their_forms(add_dictionary: AddDictionary) -> None:
    add_dictionary("gl_ES", "casa/S Lugo actor")
    found = find_dictionary("gl")
    assert isinstance(found, Dictionary)
    assert found.name == "gl_ES"
    known = ["casa", "casas", "Casa", "Lugo", "actor"]
    assert [word for word in [*known, "lugo", "messy"] if found.has_word(word)] == known


def test_the_dictionary_of_the_region_is_preferred(add_dictionary: AddDictionary) -> None:
    for name in ("pt_BR", "pt_PT", "ca_ES-valencia", "ca", "hyph_pt"):
        add_dictionary(name, "casa")
    names = {code: found.name for code in ("pt", "pt-BR", "ca", "cat") if (found := find_dictionary(code))}
    assert names == {"pt": "pt_PT", "pt-BR": "pt_BR", "ca": "ca", "cat": "ca"}


def test_no_dictionary(add_dictionary: AddDictionary) -> None:
    add_dictionary("es_ES", "casa")
    assert find_dictionary("gl") is None
    assert "apt install hunspell-gl" in describe_missing_dictionary("gl")


def test_no_package(add_dictionary: AddDictionary, monkeypatch: pytest.MonkeyPatch) -> None:
    add_dictionary("gl_ES", "casa")
    monkeypatch.setattr("tiltmeter.making.quality.dictionaries.find_spec", lambda _name: None)
    assert find_dictionary("gl") is None
    assert "tiltmeter[quality]" in describe_missing_dictionary("gl")


def test_a_damaged_dictionary(add_dictionary: AddDictionary) -> None:
    path = add_dictionary("gl_ES", "casa")
    path.with_suffix(".aff").write_text("SFX S Y many\n", encoding="utf-8")
    found = find_dictionary("gl")
    assert found is not None
    with raises_mentioning(DataError, str(path), "install it again"):
        found.has_word("casa")


def test_entries_with_special_characters_data_and_capitals(add_dictionary: AddDictionary) -> None:
    # The first line of the file is the number of entries; spylls itself is the reference for the rest.
    path = add_dictionary("gl_ES", r"and\/or 24 McLean/S casa/S casa rúa")
    text = path.read_text(encoding="utf-8")
    path.write_text(f"{text}\nmesa/S\tpo:noun\nsilla po:noun\nen vez\n/S\n", encoding="utf-8")
    spylls = pytest.importorskip("spylls.hunspell")
    found, reference = find_dictionary("gl"), spylls.Dictionary.from_files(str(path.with_suffix("")))
    assert found is not None
    words = [
        "and/or",
        "24",
        "McLean",
        "MCLEAN",
        "mclean",
        "McLeans",
        "casas",
        "CASAS",
        "rúas",
        "mesas",
        "silla",
        "sillas",
    ]
    words += ["en vez", "/S", "po:noun", "cas", ""]
    assert {word: found.has_word(word) for word in words} == {word: bool(reference.lookup(word)) for word in words}
    assert found.has_word("MCLEAN")
    assert not found.has_word("sillas")
