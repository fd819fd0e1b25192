"""The test of MT-GenEval: does a translation contain words that only the reference with the wrong gender has?

This is the published metric (Currey et al. 2022, accuracy_metric.py). Each item has two references that differ in
gender. A translation is incorrect if it contains a word that occurs only in the reference with the wrong gender.
Otherwise it is correct, even if it contains no word that occurs in only one reference.
"""

import re
from collections.abc import Sequence

from tiltmeter.benchmarks.benchmark import Score
from tiltmeter.errors import UsageError
from tiltmeter.forms.geneval import GenevalItem, extract_reference_words
from tiltmeter.measures.geneval import CORRECT, MATCHED
from tiltmeter.runs.translation.translation_test import Direction, ScoredTranslations, Scorer, TranslationTest

PROTOCOL = "word-lists"
OTHER_SENTENCES = "its translation and its source differ in the number of sentences, so the context cannot be removed"
# The end of a sentence: full stop (in Hindi a danda), question or exclamation mark, closing quotes, white space.
_END = re.compile(r"(?<=[.!?…।؟])[\"'”’»)\]]*\s+")


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text, split at their punctuation.

    >>> split_sentences("She sold roses. Was it May? It was.")
    ['She sold roses.', 'Was it May?', 'It was.']
    """
    ends = [match.end() for match in _END.finditer(text.strip())]
    return [text.strip()[start:end].strip() for start, end in zip([0, *ends], [*ends, None], strict=True)]


def find_gender_words(item: GenevalItem, translation: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return two sets of words of a translation: those only in the correct and those only in the wrong reference."""
    correct, incorrect = extract_reference_words(item.correct), extract_reference_words(item.incorrect)
    words = extract_reference_words(translation)
    return words & (correct - incorrect), words & (incorrect - correct)


def remove_context(item: GenevalItem, translation: str) -> str | None:
    """Return the translation without its context sentences; None if the context cannot be separated."""
    if not item.context:
        return translation
    own = len(split_sentences(item.source))
    translated = split_sentences(translation)
    if len(translated) != len(split_sentences(build_source_text(item))):
        return None
    return " ".join(translated[-own:])


def build_source_text(item: GenevalItem) -> str:
    """Return the text to translate: the context, if the item has one, followed by the source sentence."""
    return f"{item.context} {item.source}" if item.context else item.source


def _open_scorer(gender_from: str, _direction: Direction) -> Scorer:
    if gender_from != "rules":
        raise UsageError(
            "MT-GenEval finds the gender by the words of its references, so --gender-from is not supported; remove it."
        )

    def score(items: Sequence[GenevalItem], translations: Sequence[str]) -> ScoredTranslations:
        return [_score_translation(item, translation) for item, translation in zip(items, translations, strict=True)]

    return score


def _score_translation(item: GenevalItem, translation: str) -> tuple[Score, ...] | str:
    own = remove_context(item, translation)
    if own is None:
        return OTHER_SENTENCES
    right, wrong = find_gender_words(item, own)
    cue = " ".join(sorted(wrong or right))
    return Score(cue, CORRECT, float(not wrong)), Score(cue, MATCHED, float(bool(right or wrong)))


TEST = TranslationTest(
    form="geneval",
    measures="geneval",
    text=build_source_text,
    open=_open_scorer,
    protocol=lambda _gender_from: PROTOCOL,
    in_target=True,
)
