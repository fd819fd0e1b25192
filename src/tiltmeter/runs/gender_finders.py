"""Who finds the speaker's gender of translations: the rules, Stanza, or a parse that is there already."""

from collections.abc import Callable
from pathlib import Path

from tiltmeter.errors import DataError, UsageError
from tiltmeter.gender import LANGUAGES, SpeakerGender, speaker_gender
from tiltmeter.runs.translation_files import normalize_text

RULES, STANZA, CONLLU = "rules", "stanza", "conllu"

# The gender of a translation, or None where nothing is known of it: the parse does not have it.
GenderFinder = Callable[[str], SpeakerGender | None]


def protocol_of(gender_from: str) -> str:
    """How a way to find the gender is called in results; a path is that of a CoNLL-U file.

    >>> protocol_of("rules"), protocol_of("parsed/deepl.conllu")
    ('rules', 'conllu')
    """
    return gender_from if gender_from in (RULES, STANZA) else CONLLU


def open_gender_finder(gender_from: str, language: str) -> GenderFinder:
    """What finds the gender in translations into this language; `gender_from` as in `protocol_of`."""
    if protocol_of(gender_from) == CONLLU:
        return _from_parse(Path(gender_from))
    if language not in LANGUAGES:
        raise UsageError(
            f"The speaker's gender in {language!r} is not known to {gender_from}, only in {', '.join(LANGUAGES)}; for "
            "other languages parse the translations, and give the CoNLL-U file with --gender-from."
        )
    if gender_from == STANZA:
        from tiltmeter.gender.stanza import StanzaSpeaker

        return StanzaSpeaker(language).speaker_gender
    return lambda text: speaker_gender(text, language, explain=True)


def _from_parse(path: Path) -> GenderFinder:
    from tiltmeter.gender.conllu import read_conllu, speaker_gender_conllu

    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise UsageError(
            f"--gender-from {path} is neither {RULES}, nor {STANZA}, nor a CoNLL-U file that can be read "
            f"({error.strerror or error})."
        ) from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 ({error.reason}); save it as UTF-8.") from error
    parsed = {
        normalize_text(sentence.text): speaker_gender_conllu(sentence.words, explain=True)
        for sentence in read_conllu(lines, str(path))
    }

    def find(text: str) -> SpeakerGender | None:
        """A parser may have cut the text into sentences; the first that shows a gender decides."""
        words = normalize_text(text).split()
        decided = SpeakerGender(None)
        while words:
            # The longest beginning that was parsed.
            ends = (end for end in range(len(words), 0, -1) if " ".join(words[:end]) in parsed)
            end = next(ends, None)
            if end is None:
                return None
            if decided.gender is None:
                decided = parsed[" ".join(words[:end])]
            words = words[end:]
        return decided

    return find
