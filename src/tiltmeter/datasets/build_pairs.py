"""Pairs of gendered translations, made as GEST's authors made theirs (Pikuliak et al. 2024, section 4.3.2).

A sentence is translated by itself, which gives it one gender, and as something that a person of the other gender says
(`She said: "…"`), which should give it the other. If the two translations differ in one word and its two forms begin
alike, they are a pair; a translator that changes its wording with the prompt gives none.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tiltmeter.datasets.raw_records import BrokenFileError
from tiltmeter.datasets.readers.file_text import read_text
from tiltmeter.errors import DataError
from tiltmeter.forms.gendered_pairs import REPEATED_PAIR, GenderedPairItem, rejection_reason
from tiltmeter.forms.gest import GestItem
from tiltmeter.gender import Gender, speaker_gender

NOT_TRANSLATED = "there is no translation of the sentence by itself"
NO_GENDER = "the translation of the sentence by itself shows no gender"
NOT_PROMPTED = "there is no translation of it as said by somebody of the other gender"

_PROMPT = re.compile(
    r"""(?:the\ )?(?:(?P<masculine>he|man)|(?P<feminine>she|woman))(?:\ said)?:?\ ["“]?(?P<sentence>.+?)["”]?""",
    re.IGNORECASE | re.VERBOSE,
)
# What somebody says, in the quotation marks of nine languages, of which the second may be missing; or after a colon.
_SAID = tuple(map(re.compile, ('["„“«»](.+)["“”«»]', '["„“«»](.+)', ": (.+)")))
_FINAL = (".", "?", "!")


@dataclass(frozen=True, slots=True)
class BuiltPairs:
    """The pairs, and how many sentences gave none, by the reason."""

    pairs: list[GenderedPairItem] = field(default_factory=list)
    rejected: Counter[str] = field(default_factory=Counter)


def build_pairs(
    translations: Iterable[tuple[str, str]], sentences: Sequence[GestItem], language: str, translator: str = ""
) -> BuiltPairs:
    """Pair up the translations of GEST sentences by themselves with those as said by somebody of the other gender.

    >>> sentence = GestItem("0", "en", 9, "I was sure.")
    >>> made = [("I was sure.", "Bol som si istá."), ('She said: "I was sure."', "Povedala: „Bola som si istá.“")]
    >>> build_pairs(made, [sentence], "sk").pairs[0].female
    'Bola som si istá.'
    """
    known = {sentence.sentence for sentence in sentences}
    alone: dict[str, str] = {}
    prompted: dict[tuple[str, Gender], list[str]] = {}
    for source, target in translations:
        if source in known:
            alone.setdefault(source, target)
        elif (prompt := _PROMPT.fullmatch(source)) and prompt["sentence"] in known:
            gender: Gender = "masculine" if prompt["masculine"] else "feminine"
            prompted.setdefault((prompt["sentence"], gender), []).append(quoted_speech(target, prompt["sentence"]))
    built = BuiltPairs()
    seen: set[tuple[str, str]] = set()
    for item in sentences:
        found = _pair(item.sentence, alone, prompted, language)
        if isinstance(found, str):
            built.rejected[found] += 1
        elif found in seen:
            built.rejected[REPEATED_PAIR] += 1
        else:
            seen.add(found)
            identifier = f"{translator}-{item.id}" if translator else item.id
            built.pairs.append(
                GenderedPairItem(
                    identifier, language, item.stereotype, *found, original=item.sentence, translator=translator
                )
            )
    return built


def _pair(
    sentence: str, alone: dict[str, str], prompted: dict[tuple[str, Gender], list[str]], language: str
) -> tuple[str, str] | str:
    """The two translations of a sentence, the man's first; or why there are none."""
    if sentence not in alone:
        return NOT_TRANSLATED
    gender = speaker_gender(alone[sentence], language)
    if gender is None:
        return NO_GENDER
    reason = NOT_PROMPTED
    for other in prompted.get((sentence, "feminine" if gender == "masculine" else "masculine"), []):
        pair = (alone[sentence], other) if gender == "masculine" else (other, alone[sentence])
        found = rejection_reason(*pair)
        if found is None:
            return pair
        reason = found
    return reason


def quoted_speech(translation: str, sentence: str) -> str:
    """What is said in the translation of a prompt, with the final mark that the English sentence has.

    >>> quoted_speech("Žena povedala: „Som doma“.", "I am at home.")
    'Som doma.'
    """
    spoken = next((found[1] for form in _SAID if (found := form.search(translation))), translation).strip()
    return spoken + sentence[-1] if sentence.endswith(_FINAL) and not spoken.endswith(_FINAL) else spoken


def read_translations(path: Path) -> list[tuple[str, str]]:
    """The rows of a CSV file with the columns `from` and `to`."""
    try:
        reader = csv.DictReader(io.StringIO(read_text(path), newline=""), strict=True)
        if not {"from", "to"} <= set(reader.fieldnames or ()):
            raise DataError(f"{path} has no columns from and to, in which translations are expected.")
        return [(row["from"], row["to"]) for row in reader if row["from"] and row["to"]]
    except csv.Error as error:
        raise DataError(f"{path} is not CSV: {error}.") from error
    except BrokenFileError as error:
        raise DataError(f"{path} {error}.") from error
