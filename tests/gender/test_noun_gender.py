"""The gender of nouns for people, by the rules of each language."""

import tomllib
from importlib.resources import files

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.gender.noun_gender import GENDERS, find_noun_gender, list_noun_languages

M, F, N = "masculine", "feminine", "neutral"

# The noun is the word in upper case, or else the last one.
CASES = [
    ("de", "Der GÄRTNER sang", M),
    ("de", "Die GÄRTNERIN sang", F),
    ("de", "Er half der GÄRTNERIN", F),
    ("de", "Er half dem GÄRTNER", M),
    ("de", "Sie sah den GÄRTNER", M),
    # "der" is masculine in the nominative, and feminine in the dative.
    ("de", "Der Angestellte", M),
    ("de", "Sie half der ANGESTELLTEN", F),
    ("de", "Sie half dem ANGESTELLTEN", M),
    ("de", "Die ANGESTELLTE sang", F),
    ("de", "Die PUTZKRAFT sang", F),
    ("de", "Das KIND sang", N),
    ("de", "Er half JEMANDEM gern", N),
    ("de", "Sie arbeitet als GÄRTNER", M),
    ("de", "Er half der alten GÄRTNERIN", F),
    ("es", "El JARDINERO cantó", M),
    ("es", "La JARDINERA cantó", F),
    ("es", "Vio al CONSERJE ayer", M),
    ("es", "Vio a la CONSERJE ayer", F),
    ("es", "Habló con el AMA de casa", F),
    ("es", "Llamó a la empresa de MUDANZAS", F),
    ("es", "Vio a ALGUIEN ayer", N),
    ("es", "Trabaja como JARDINERA allí", F),
    ("es", "Vio a su CONSERJE", None),
    ("fr", "Le JARDINIER chanta", M),
    ("fr", "La JARDINIÈRE chanta", F),
    ("fr", "Elle vit l' INFIRMIER", M),
    ("fr", "Il vit l' INFIRMIÈRE", F),
    ("fr", "Il vit l' ARCHITECTE", None),
    # The article of another noun does not count.
    ("fr", "la de l' ARCHITECTE", None),
    ("fr", "Il vit quelqu' UN", N),
    ("fr", "La femme de MÉNAGE", F),
    ("it", "Il GIARDINIERE cantò", M),
    ("it", "La GIARDINIERA cantò", F),
    ("it", "Vide un' INSEGNANTE", F),
    ("it", "Vide un INSEGNANTE", M),
    ("it", "Vide l' INSEGNANTE", None),
    ("it", "Parlò con l' INFERMIERA", F),
    ("it", "Vide QUALCUNO ieri", N),
]


@pytest.mark.parametrize(("language", "text", "gender"), CASES)
def test_genders(language: str, text: str, gender: str | None) -> None:
    words = text.split()
    place = next((n for n, word in enumerate(words) if len(word) > 1 and word.isupper()), len(words) - 1)
    # German nouns have a capital, and pronouns have none.
    words[place] = words[place].lower() if gender == N and language == "de" else words[place].capitalize()
    assert find_noun_gender(words, place, language).gender == gender


def test_the_words_that_show_the_gender_are_given() -> None:
    assert find_noun_gender(["Vio", "al", "viejo", "conserje"], 3, "es").cue == ("al", "conserje")
    assert find_noun_gender(["Vio", "conserje"], 1, "es").cue == ()


def test_a_german_word_without_a_capital_is_no_noun() -> None:
    assert find_noun_gender(["der", "gärtner"], 1, "de").gender is None


@pytest.mark.parametrize("language", list_noun_languages())
def test_no_form_has_two_genders(language: str) -> None:
    """A form in two lists of a table would never decide."""
    text = (files("tiltmeter.gender") / "nouns" / f"{language}.toml").read_text(encoding="utf-8")
    for name, table in tomllib.loads(text).items():
        if not isinstance(table, dict):
            continue
        assert set(table) <= {*GENDERS, "either"}, name
        forms = [form for listed in table.values() for form in listed]
        assert len(forms) == len(set(forms)), (name, sorted({form for form in forms if forms.count(form) > 1}))


def test_languages_without_rules_are_usage_errors() -> None:
    assert list_noun_languages() == ("de", "es", "fr", "it")
    with raises_mentioning(UsageError, "'ru'", "de, es, fr, it", "in Russian"):
        find_noun_gender(["врач"], 0, "ru")
    with raises_mentioning(UsageError, "'he'", "de, es, fr, it"):
        find_noun_gender(["רופא"], 0, "he")


def test_italian_nouns_after_an_elided_article_are_read_by_their_ending() -> None:
    """Their article has no gender; counting them as neutral would lower the accuracy by three points."""
    genders = {"avvocato": "masculine", "editore": "masculine", "ingegnere": "masculine", "infermiera": "feminine"}
    for article in ("l'", "dell'", "all'", "dall'"):
        for noun, gender in genders.items():
            assert find_noun_gender([article, noun], 1, "it").gender == gender
        assert find_noun_gender([article, "insegnante"], 1, "it").gender is None
