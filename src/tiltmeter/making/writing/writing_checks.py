"""Checks of written GEST items.

Sentences must be in the first person and must not show a gender in the source language. Their translations must show a
gender in the target language.
"""

from collections.abc import Iterator, Mapping

from tiltmeter.forms.gendered_pairs import find_rejection_reason
from tiltmeter.gender import LANGUAGES, find_speaker_gender
from tiltmeter.making.draft import RepairFinding
from tiltmeter.making.item_makers import GENDERED_PAIRS, TRANSLATION
from tiltmeter.making.project import Project
from tiltmeter.making.project_settings import ProjectSettings
from tiltmeter.making.writing.speaker_patterns import find_gender_cue, is_first_person


def check_written_item(project: Project, item: str, form: str, texts: Mapping[str, str]) -> list[RepairFinding]:
    """Return the problems of a written item with these texts; see `list_missing_checks` for checks that are skipped."""
    source, language = project.settings.source_language, project.settings.language
    problems: Iterator[tuple[str, str, str]] = iter(())
    if form == "gest":
        problems = _find_gest_problems(texts, source, language)
    elif form == GENDERED_PAIRS:
        problems = _find_pair_problems(texts, language)
    return [RepairFinding(item, field, rule, "open", reason, texts.get(field, "")) for field, rule, reason in problems]


def list_missing_checks(settings: ProjectSettings) -> list[str]:
    """Return a sentence for each check that is not possible, because a language has no patterns or rules."""
    source, language = settings.source_language, settings.language
    missing = []
    if settings.form == "gest":
        if is_first_person("", source) is None:
            missing.append(f"whether sentences are in the first person: there are no patterns for {source!r}")
        if find_gender_cue("", source) is None:
            missing.append(f"whether sentences show the gender of the speaker: there are no patterns for {source!r}")
        if language not in LANGUAGES:
            missing.append(f"whether translations show the gender of the speaker: there are no rules for {language!r}")
    elif settings.form == GENDERED_PAIRS and language not in LANGUAGES:
        missing.append(f"whether the speakers of a pair are a man and a woman: there are no rules for {language!r}")
    return [f"Not checked: {check}." for check in missing]


def _find_gest_problems(texts: Mapping[str, str], source: str, language: str) -> Iterator[tuple[str, str, str]]:
    sentence, translation = texts.get("sentence", ""), texts.get(TRANSLATION, "")
    if is_first_person(sentence, source) is False:
        yield "sentence", "not-first-person", "The sentence is not in the first person singular."
    if cue := find_gender_cue(sentence, source):
        yield "sentence", "gender-in-source", f"The sentence shows the gender of the speaker: {cue}."
    if not translation:
        yield TRANSLATION, "no-translation", "The translation is missing."
    elif language in LANGUAGES and find_speaker_gender(translation, language) is None:
        yield TRANSLATION, "no-gender-in-target", "The translation does not show the gender of the speaker."


def _find_pair_problems(texts: Mapping[str, str], language: str) -> Iterator[tuple[str, str, str]]:
    male, female = texts.get("male", ""), texts.get("female", "")
    if reason := find_rejection_reason(male, female):
        yield "female", "not-a-pair", f"The sentences are not a pair: {reason}."
    if language in LANGUAGES:
        for field, gender in (("male", "masculine"), ("female", "feminine")):
            found = find_speaker_gender(texts.get(field, ""), language)
            if found != gender:
                actual = found or "not visible"
                yield field, "other-gender", f"The gender of the speaker should be {gender}, but is {actual}."
