"""Build gendered pairs from translations, as the authors of GEST did (Pikuliak et al. 2024, section 4.3.2).

A sentence is translated twice: alone, which gives a translation in one gender, and inside a prompt with a speaker of
the other gender (`She said: "…"`), which should give the other gender. The two translations are a pair if they differ
in one word and both forms of this word have the same first letter.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tiltmeter.csv_text import remove_formula_guard
from tiltmeter.datasets.raw_records import BrokenFileError
from tiltmeter.datasets.readers.decoded_text import read_text
from tiltmeter.errors import DataError
from tiltmeter.forms.gendered_pairs import REPEATED_PAIR, GenderedPairItem, find_rejection_reason
from tiltmeter.forms.gest import GestItem, get_stereotype_fields
from tiltmeter.gender import find_speaker_gender

NOT_TRANSLATED = "there is no translation of the sentence alone"
NO_GENDER = "the translation of the sentence alone does not show a gender"
NOT_PROMPTED = "there is no translation as said by a person of the other gender"

_PROMPT = re.compile(
    r"""(?:the\ )?(?:(?P<masculine>he|man)|(?P<feminine>she|woman))(?:\ said)?:?\ ["“]?(?P<sentence>.+?)["”]?""",
    re.IGNORECASE | re.VERBOSE,
)
# Direct speech is in quotation marks of one of the nine Slavic languages of GEST (the closing mark may be missing), or
# after a colon.
_SPEECH = tuple(map(re.compile, ('["„“«»](.+)["“”«»]', '["„“«»](.+)', ": (.+)")))
_FINAL_MARKS = (".", "?", "!")


@dataclass(frozen=True, slots=True)
class BuiltPairs:
    """The built pairs, and the number of rejected sentences for each reason."""

    pairs: list[GenderedPairItem] = field(default_factory=list)
    rejected: Counter[str] = field(default_factory=Counter)


def build_pairs(
    translations: Iterable[tuple[str, str]], sentences: Sequence[GestItem], language: str, translator: str = ""
) -> BuiltPairs:
    """Build pairs from (source, translation) rows; a source is a GEST sentence, or a prompt that quotes the sentence.

    >>> sentence = GestItem("0", "en", 9, "I was sure.")
    >>> made = [("I was sure.", "Bol som si istá."), ('She said: "I was sure."', "Povedala: „Bola som si istá.“")]
    >>> build_pairs(made, [sentence], "sk").pairs[0].female
    'Bola som si istá.'
    """
    alone, prompted = _group_by_sentence(translations, sentences)
    built = BuiltPairs()
    seen: set[tuple[str, str]] = set()
    for item in sentences:
        pair = make_pair(alone.get(item.sentence, ""), prompted.get(item.sentence, {}), language)
        if isinstance(pair, str):
            built.rejected[pair] += 1
        elif pair in seen:
            built.rejected[REPEATED_PAIR] += 1
        else:
            seen.add(pair)
            identifier = f"{translator}-{item.id}" if translator else item.id
            built.pairs.append(
                GenderedPairItem(
                    identifier,
                    language,
                    item.stereotype,
                    *pair,
                    original=item.sentence,
                    translator=translator,
                    **get_stereotype_fields(item),
                )
            )
    return built


def list_prompted_pairs(
    translations: Iterable[tuple[str, str]], sentences: Sequence[GestItem], language: str
) -> Iterator[tuple[str, str]]:
    """Yield all (masculine, feminine) pairs of a translation of a sentence alone and a translation in a prompt."""
    alone, prompted = _group_by_sentence(translations, sentences)
    for sentence, plain in alone.items():
        gender = find_speaker_gender(plain, language)
        if gender is not None:
            for other in prompted.get(sentence, {}).get("feminine" if gender == "masculine" else "masculine", ()):
                yield (plain, other) if gender == "masculine" else (other, plain)


def _group_by_sentence(
    translations: Iterable[tuple[str, str]], sentences: Sequence[GestItem]
) -> tuple[dict[str, str], dict[str, dict[str, list[str]]]]:
    """Return two dictionaries whose keys are English sentences.

    The values of the first are the translations of the sentence alone. The values of the second map the gender of a
    prompt to the translations of the sentence in prompts of this gender.
    """
    known = {sentence.sentence for sentence in sentences}
    alone: dict[str, str] = {}
    prompted: dict[str, dict[str, list[str]]] = {}
    for source, target in translations:
        if source in known:
            alone.setdefault(source, target)
        elif (prompt := _PROMPT.fullmatch(source)) and prompt["sentence"] in known:
            by_gender = prompted.setdefault(prompt["sentence"], {})
            gender = "masculine" if prompt["masculine"] else "feminine"
            by_gender.setdefault(gender, []).append(extract_quoted_speech(target, prompt["sentence"]))
    return alone, prompted


def make_pair(plain: str, prompted: Mapping[str, Sequence[str]], language: str) -> tuple[str, str] | str:
    """Return the (masculine, feminine) translations of a sentence, or the reason why it is rejected.

    `plain` is the translation of the sentence alone; it is empty if there is no such translation. `prompted` maps the
    gender of a prompt to the translations in these prompts.

    >>> make_pair("Bol som doma.", {"feminine": ["Bola som doma."]}, "sk")
    ('Bol som doma.', 'Bola som doma.')
    """
    if not plain:
        return NOT_TRANSLATED
    gender = find_speaker_gender(plain, language)
    if gender is None:
        return NO_GENDER
    reason = NOT_PROMPTED
    for other in prompted.get("feminine" if gender == "masculine" else "masculine", ()):
        pair = (plain, other) if gender == "masculine" else (other, plain)
        rejected = find_rejection_reason(*pair)
        if rejected is None:
            return pair
        reason = rejected
    return reason


def extract_quoted_speech(translation: str, sentence: str) -> str:
    """Return the direct speech in the translation of a prompt.

    If the speech has no final punctuation mark, the final mark of `sentence` is added.

    >>> extract_quoted_speech("Žena povedala: „Som doma“.", "I am at home.")
    'Som doma.'
    """
    matches = (pattern.search(translation) for pattern in _SPEECH)
    speech = next((match[1] for match in matches if match), translation).strip()
    lacks_mark = sentence.endswith(_FINAL_MARKS) and not speech.endswith(_FINAL_MARKS)
    return speech + sentence[-1] if lacks_mark else speech


def read_translations(path: Path) -> list[tuple[str, str]]:
    """Return the (source, translation) rows of a CSV file with the columns `from` and `to`."""
    try:
        reader = csv.DictReader(io.StringIO(read_text(path), newline=""), strict=True)
        if not {"from", "to"} <= set(reader.fieldnames or ()):
            raise DataError(f"{path} has no columns from and to; translations need both.")
        rows = list(reader)
    except csv.Error as error:
        raise DataError(f"{path} is not CSV: {error}.") from error
    except BrokenFileError as error:
        raise DataError(f"{path} {error}.") from error
    return [
        (remove_formula_guard(row["from"]), remove_formula_guard(row["to"]))
        for row in rows
        if row["from"] and row["to"]
    ]
