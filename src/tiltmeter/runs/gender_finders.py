"""Find the speaker's gender in translations: by rules, with Stanza, or from a CoNLL-U file.

English does not mark the speaker's gender, so for English the gender of third-person pronouns is used.
"""

from collections.abc import Callable
from pathlib import Path

from tiltmeter.errors import DataError, UsageError
from tiltmeter.gender import LANGUAGES, SpeakerGender, find_speaker_gender
from tiltmeter.gender.english_pronouns import find_english_gender
from tiltmeter.text_files import read_text, split_lines
from tiltmeter.translators.translation_files import normalize_text

RULES, STANZA, CONLLU = "rules", "stanza", "conllu"

# A function that returns the gender in a translation; None if the CoNLL-U file does not contain the translation.
GenderFinder = Callable[[str], SpeakerGender | None]


def get_gender_protocol(gender_from: str) -> str:
    """Return the protocol for a value of --gender-from: `rules`, `stanza`, or `conllu` for a path.

    >>> get_gender_protocol("rules"), get_gender_protocol("parsed/deepl.conllu")
    ('rules', 'conllu')
    """
    return gender_from if gender_from in (RULES, STANZA) else CONLLU


def open_gender_finder(gender_from: str, language: str) -> GenderFinder:
    """Return the gender finder for translations into a language; `gender_from` is the value of --gender-from."""
    if get_gender_protocol(gender_from) == CONLLU:
        return _open_parse_finder(Path(gender_from))
    if language == "en" and gender_from == RULES:
        return find_english_gender
    if language not in LANGUAGES:
        raise UsageError(
            f"--gender-from {gender_from} does not support {language!r}, only {', '.join(LANGUAGES)}; for other "
            "languages parse the translations and pass the CoNLL-U file with --gender-from."
        )
    if gender_from == STANZA:
        from tiltmeter.gender.stanza import StanzaGenderFinder

        return StanzaGenderFinder(language).find_speaker_gender
    return lambda text: find_speaker_gender(text, language, explain=True)


def _open_parse_finder(path: Path) -> GenderFinder:
    from tiltmeter.gender.conllu import find_conllu_gender, read_conllu

    try:
        lines = split_lines(read_text(path))
    except DataError as error:
        raise UsageError(
            f"--gender-from {path} is not {RULES}, {STANZA} or a readable CoNLL-U file ({error})"
        ) from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 ({error.reason}); save it as UTF-8.") from error
    parsed = {
        normalize_text(sentence.text): find_conllu_gender(sentence.words, explain=True)
        for sentence in read_conllu(lines, str(path))
    }

    def find(text: str) -> SpeakerGender | None:
        """Return the gender of the first parsed sentence that has a gender; None if a part of the text was not parsed.

        The parser may have split the text into several sentences.
        """
        words = normalize_text(text).split()
        result = SpeakerGender(None)
        while words:
            # Find the longest prefix of the remaining words that is a parsed sentence.
            ends = (end for end in range(len(words), 0, -1) if " ".join(words[:end]) in parsed)
            end = next(ends, None)
            if end is None:
                return None
            if result.gender is None:
                result = parsed[" ".join(words[:end])]
            words = words[end:]
        return result

    return find
