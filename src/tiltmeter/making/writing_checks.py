"""Checks of written GEST items: in the first person, neutral in the source, gendered in the target."""

import re
from collections.abc import Iterator, Mapping

from tiltmeter.forms.gendered_pairs import rejection_reason
from tiltmeter.gender import LANGUAGES, speaker_gender
from tiltmeter.making.draft import RepairFinding
from tiltmeter.making.item_makers import TRANSLATION
from tiltmeter.making.project import Project

_FIRST_PERSON = re.compile(r"\b(?:I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself)\b")
_PEOPLE = (
    "man|woman|boy|girl|lady|gentleman|guy|father|mother|dad|mom|mum|son|daughter|brother|sister|husband|wife|"
    "boyfriend|girlfriend|uncle|aunt|grandfather|grandmother|king|queen|actress|waitress|housewife|businessman|"
    "businesswoman|male|female"
)
# "I am a good mother", "as a woman": the speaker says of themselves what they are.
_GENDERED_SPEAKER = re.compile(
    rf"\b(?:I am|I'm|I was|I have been|I've been|I became|being|as) (?:an?|the|your|his|her|their) (?:[\w-]+ ){{0,2}}"
    rf"(?:{_PEOPLE})\b",
    re.IGNORECASE,
)


def check_written(project: Project, item: str, form: str, texts: Mapping[str, str]) -> list[RepairFinding]:
    """What is wrong with a written item; languages without rules of the speaker's gender are not checked for it."""
    source, language = project.settings.source_language, project.settings.language
    found: Iterator[tuple[str, str, str]] = iter(())
    if form == "gest":
        found = _gest_problems(texts, source, language)
    elif form == "gendered-pairs":
        found = _pair_problems(texts, language)
    return [RepairFinding(item, field, rule, "open", reason, texts.get(field, "")) for field, rule, reason in found]


def _gest_problems(texts: Mapping[str, str], source: str, language: str) -> Iterator[tuple[str, str, str]]:
    sentence, translation = texts.get("sentence", ""), texts.get(TRANSLATION, "")
    if not is_first_person(sentence, source):
        yield "sentence", "not-first-person", "The sentence is not in the first person singular."
    if cue := source_gender(sentence, source):
        yield "sentence", "gender-in-source", f"The sentence shows the gender of the speaker: {cue}."
    if not translation:
        yield TRANSLATION, "no-translation", "There is no translation that shows a gender."
    elif language in LANGUAGES and speaker_gender(translation, language) is None:
        yield TRANSLATION, "no-gender-in-target", "The translation shows no gender of the speaker."


def _pair_problems(texts: Mapping[str, str], language: str) -> Iterator[tuple[str, str, str]]:
    male, female = texts.get("male", ""), texts.get("female", "")
    if reason := rejection_reason(male, female):
        yield "female", "not-a-pair", f"They are not a pair: {reason}."
    if language in LANGUAGES:
        for field, gender in (("male", "masculine"), ("female", "feminine")):
            found = speaker_gender(texts.get(field, ""), language)
            if found != gender:
                shown = f"is {found}" if found else "shows no gender"
                yield field, "other-gender", f"The speaker of the sentence {shown}, and should be {gender}."


def is_first_person(sentence: str, language: str) -> bool:
    """Whether a sentence is in the first person singular; True in languages other than English, for want of rules.

    >>> is_first_person("I cooked dinner.", "en"), is_first_person("They cooked dinner.", "en")
    (True, False)
    """
    return language != "en" or _FIRST_PERSON.search(sentence) is not None


def source_gender(sentence: str, language: str) -> str:
    """The words by which a sentence shows the gender of its speaker; empty if it is neutral.

    >>> source_gender("As a young woman, I was shy.", "en"), source_gender("I called a woman.", "en")
    ('As a young woman', '')
    """
    if language == "en":
        shown = _GENDERED_SPEAKER.search(sentence)
        return shown[0] if shown else ""
    if language in LANGUAGES:
        return " ".join(speaker_gender(sentence, language, explain=True).cue)
    return ""
