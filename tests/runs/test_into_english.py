"""Translation from languages without gender into English, with the starter set and a fake system."""

from collections.abc import Sequence
from copy import copy
from pathlib import Path

import pytest

from tests.support.messages import raises_mentioning
from tests.translators.fake import FakeTranslator
from tiltmeter.datasets import load
from tiltmeter.errors import UsageError
from tiltmeter.gender.english_pronouns import find_english_gender
from tiltmeter.runs.translation_run import evaluate_translator
from tiltmeter.translators.apertium import ApertiumTranslator
from tiltmeter.translators.translator_protocol import with_source_language


class FromAnywhere(FakeTranslator):
    """A fake system with several source languages, which follows the stereotype in 23 of 24 sentences."""

    source = "en"

    def with_source_language(self, language: str) -> "FromAnywhere":
        other = copy(self)
        other.source = language
        other.key = f"{self.key} from {language}"
        return other

    def translate(self, texts: Sequence[str], language: str) -> list[str]:
        assert language == "en"
        items = {item.sentence: item for item in load("starter-neutral", language=self.source)}
        self.sent += texts
        pronouns = {"feminine": "She", "masculine": "He"}
        return [
            "He or she is there." if items[text].id.endswith("-01") else f"{pronouns[items[text].side]} is there."
            for text in texts
        ]


def test_stereotypical_pronouns(tmp_path: Path) -> None:
    system = FromAnywhere(key=f"fake {tmp_path}")
    result = evaluate_translator(system, on="starter-neutral-mt:tr-en,hu-en", out=tmp_path / "run")
    values = {(record.language, record.group, record.measure): record for record in result.records}
    for language in ("tr-en", "hu-en"):
        assert values[language, "all", "yield"].value == pytest.approx(46 / 48)
        assert values[language, "all", "f_s"].value > 0.8
        assert values[language, "all", "f_m"].value == pytest.approx(0.5)
        verdict = values[language, "all", "f_s"].verdict
        assert verdict is not None
        assert verdict.words == "significant bias towards stereotypes, beyond 0.05"
        assert values[language, "18 occupations", "p_i"].n == 11
    assert [entry.item_language for entry in result.manifest.data] == ["tr", "hu"]
    assert set(result.scores["language"]) == {"tr-en", "hu-en"}
    assert (tmp_path / "run" / "manifest.json").is_file()


def test_translations_are_stored_by_source_language(tmp_path: Path) -> None:
    system = FromAnywhere(key=f"fake {tmp_path}")
    result = evaluate_translator(system, on="starter-neutral-mt:tr-en")
    assert result.manifest.models[0].details["sent"] == {"tr-en": 48}
    again = evaluate_translator(system, on="starter-neutral-mt:tr-en,hu-en")
    assert again.manifest.models[0].details["sent"] == {"tr-en": 0, "hu-en": 48}


def test_systems_and_languages_that_do_not_fit() -> None:
    with raises_mentioning(UsageError, "fake", "from 'tr'"):
        evaluate_translator(FakeTranslator(), on="starter-neutral-mt:tr-en")
    with raises_mentioning(UsageError, "starter-neutral", "'fi-en'", "tr, hu"):
        evaluate_translator(FromAnywhere(), on="starter-neutral-mt:fi-en")
    with raises_mentioning(UsageError, "starter-neutral has no English"):
        evaluate_translator(FromAnywhere(), on="starter-neutral-mt:sk")


def test_both_languages_of_an_apertium_direction_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiltmeter.translators.apertium.shutil.which", lambda _program: "/usr/bin/apertium")
    monkeypatch.setattr("tiltmeter.translators.apertium._run_apertium", lambda _arguments, _text: "eng-spa\nspa-eng\n")
    system = ApertiumTranslator("spa-eng")
    with_source_language(system, "es").check("en")
    with raises_mentioning(UsageError, "spa-eng", "English to 'en'"):
        system.check("en")
    with raises_mentioning(UsageError, "spa-eng", "'tr' to 'en'"):
        with_source_language(system, "tr").check("en")


@pytest.mark.parametrize(
    ("text", "gender"),
    [
        ("She cooks every evening.", "feminine"),
        ("HE'S a pilot.", "masculine"),
        ("The pilot lost his hat.", "masculine"),
        ("They repair the roof.", None),
        ("He/she is an engineer.", None),
        ("The shepherd heard it there.", None),
    ],
)
def test_english_pronouns(text: str, gender: str | None) -> None:
    assert find_english_gender(text).gender == gender


def test_the_two_languages_have_the_same_items() -> None:
    turkish, hungarian = (load("starter-neutral", language=code) for code in ("tr", "hu"))
    assert [(item.id, item.side, item.sub_stereotype) for item in turkish] == [
        (item.id, item.side, item.sub_stereotype) for item in hungarian
    ]
    # Without a pronoun, a sentence would not reveal the system's choice.
    assert all(item.sentence.startswith("O ") for item in turkish)
    assert all(item.sentence.startswith("Ő ") for item in hungarian)
