"""The gender of the protagonist of a story, by the rules of each language."""

import pytest

from tests.runs.stories import STORIES
from tests.support.messages import raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.gender.protagonist_gender import (
    find_protagonist_gender,
    list_protagonist_languages,
    list_third_person_languages,
)

M, F = "masculine", "feminine"
# Sentences with a trap.
CASES = [
    ("en", "Robin met her brother. He waved.", None),
    ("en", "They opened the door.", None),
    ("en", "Ms Green opened the shop.", F),
    ("en", "They never miss the bus.", None),
    ("en", "Miss Green opened the shop.", F),
    ("de", "Sie gingen nach Hause, und sie sangen.", None),
    ("de", "Robin kam heim, weil sie eine Pause brauchte.", F),
    ("de", "Die Person öffnete die Tür. Sie lächelte.", None),
    ("de", "Die Person ist eine Frau. Sie lächelte.", F),
    ("de", "Sie\nging nach Hause.", F),
    ("de", "Es kann sein, dass es regnet.", None),
    ("es", "La persona abrió la puerta. Ella sonrió.", None),
    ("es", "Robin tenía un don para la música.", None),
    ("es", "Vive aquí don Robin.", M),
    ("es", "El gato era negro.", None),
    ("fr", "Il y avait du vent, et il pleuvait.", None),
    ("fr", "Il est vrai que le vent est fort.", None),
    ("fr", "Il est vraiment content.", M),
    ("fr", "Camille ouvrit la porte.", None),
    ("fr", "Il fallait partir, dit-elle.", F),
    ("it", "Era una bella giornata.", None),
    ("it", "Robin era molto stanca.", F),
    ("ru", "У Александра есть лодка.", None),
    ("ru", "Этот человек пел. Он улыбался.", None),
    ("sk", "Brat prišiel domov.", None),
    ("sk", "Bola som doma a brat prišiel.", F),
]


@pytest.mark.parametrize(("language", "text", "gender"), CASES)
def test_traps(language: str, text: str, gender: str | None) -> None:
    assert find_protagonist_gender(text, language).gender == gender


@pytest.mark.parametrize("language", sorted(STORIES))
def test_both_genders_are_read_in_each_language(language: str) -> None:
    assert [find_protagonist_gender(story, language).gender for story in STORIES[language]] == [F, M]
    # Two protagonists have no common gender.
    assert find_protagonist_gender(" ".join(STORIES[language]), language).gender is None


def test_other_persons_do_not_decide() -> None:
    found = find_protagonist_gender("She sang. Her brother heard her. He waved.", "en")
    assert (found.gender, found.cue) == (F, ("she", "her"))


def test_languages() -> None:
    assert set(list_third_person_languages()) == {"de", "en", "es", "fr", "it", "ru"}
    assert set(STORIES) <= set(list_protagonist_languages())
    with raises_mentioning(UsageError, "'tr'", "sk"):
        find_protagonist_gender("Kapıyı açtı.", "tr")
