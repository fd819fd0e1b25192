"""Checks of written GEST items: in the first person, neutral in the source, gendered in the target."""

from collections.abc import Iterator, Mapping

from tiltmeter.forms.gendered_pairs import find_rejection_reason
from tiltmeter.gender import LANGUAGES, find_speaker_gender
from tiltmeter.making.draft import RepairFinding
from tiltmeter.making.item_makers import GENDERED_PAIRS, TRANSLATION
from tiltmeter.making.project import Project
from tiltmeter.making.project_settings import ProjectSettings
from tiltmeter.making.writing.speaker_patterns import find_gender_cue, is_first_person


def check_written_item(project: Project, item: str, form: str, texts: Mapping[str, str]) -> list[RepairFinding]:
    """What is wrong with a written item; `list_missing_checks` has what cannot be told."""
    source, language = project.settings.source_language, project.settings.language
    found: Iterator[tuple[str, str, str]] = iter(())
    if form == "gest":
        found = _find_gest_problems(texts, source, language)
    elif form == GENDERED_PAIRS:
        found = _find_pair_problems(texts, language)
    return [RepairFinding(item, field, rule, "open", reason, texts.get(field, "")) for field, rule, reason in found]


def list_missing_checks(settings: ProjectSettings) -> list[str]:
    """The checks that are not made of the items of a project, since there are no patterns or rules for a language."""
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
    return [f"Not checked: {what}." for what in missing]


def _find_gest_problems(texts: Mapping[str, str], source: str, language: str) -> Iterator[tuple[str, str, str]]:
    sentence, translation = texts.get("sentence", ""), texts.get(TRANSLATION, "")
    if is_first_person(sentence, source) is False:
        yield "sentence", "not-first-person", "The sentence is not in the first person singular."
    if cue := find_gender_cue(sentence, source):
        yield "sentence", "gender-in-source", f"The sentence shows the gender of the speaker: {cue}."
    if not translation:
        yield TRANSLATION, "no-translation", "There is no translation that shows a gender."
    elif language in LANGUAGES and find_speaker_gender(translation, language) is None:
        yield TRANSLATION, "no-gender-in-target", "The translation shows no gender of the speaker."


def _find_pair_problems(texts: Mapping[str, str], language: str) -> Iterator[tuple[str, str, str]]:
    male, female = texts.get("male", ""), texts.get("female", "")
    if reason := find_rejection_reason(male, female):
        yield "female", "not-a-pair", f"They are not a pair: {reason}."
    if language in LANGUAGES:
        for field, gender in (("male", "masculine"), ("female", "feminine")):
            found = find_speaker_gender(texts.get(field, ""), language)
            if found != gender:
                shown = f"is {found}" if found else "shows no gender"
                yield field, "other-gender", f"The speaker of the sentence {shown}, and should be {gender}."
