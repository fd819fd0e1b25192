"""MT-GenEval's test: whether a translation has words that only the reference with the wrong gender has.

The published metric (Currey et al. 2022, accuracy_metric.py): of two references that differ in gender, the words that
only one of them has are taken. A translation is incorrect if it has a word of the wrong reference, else correct, also
if it has no word of either.
"""

import re
from collections.abc import Sequence

from tiltmeter.benchmarks.benchmark import Score
from tiltmeter.errors import UsageError
from tiltmeter.forms.geneval import GenevalItem, reference_words
from tiltmeter.measures.geneval import CORRECT, MATCHED
from tiltmeter.runs.translating.translation_test import Direction, Scored, Scorer, TranslationTest

PROTOCOL = "word-lists"
OTHER_SENTENCES = "its translation has another number of sentences than its source, so its context cannot be cut off"
# The end of a sentence: a full stop (in Hindi a danda), question or exclamation mark, closing quotes, space.
_END = re.compile(r"(?<=[.!?…।؟])[\"'”’»)\]]*\s+")


def sentences(text: str) -> list[str]:
    """The sentences of a text, by their punctuation.

    >>> sentences("She sold roses. Was it May? It was.")
    ['She sold roses.', 'Was it May?', 'It was.']
    """
    ends = [match.end() for match in _END.finditer(text.strip())]
    return [text.strip()[start:end].strip() for start, end in zip([0, *ends], [*ends, None], strict=True)]


def gender_words(item: GenevalItem, translation: str) -> tuple[frozenset[str], frozenset[str]]:
    """The words of a translation that only the correct, and that only the incorrect reference has."""
    correct, incorrect = reference_words(item.correct), reference_words(item.incorrect)
    words = reference_words(translation)
    return words & (correct - incorrect), words & (incorrect - correct)


def without_context(item: GenevalItem, translation: str) -> str | None:
    """The translation of the item's source without that of its context; None if they cannot be told apart."""
    if not item.context:
        return translation
    own = len(sentences(item.source))
    translated = sentences(translation)
    if len(translated) != len(sentences(text(item))):
        return None
    return " ".join(translated[-own:])


def text(item: GenevalItem) -> str:
    """What is translated: the source, after its context where it has one."""
    return f"{item.context} {item.source}" if item.context else item.source


def _open(gender_from: str, _direction: Direction) -> Scorer:
    if gender_from != "rules":
        raise UsageError(
            "MT-GenEval compares translations with the words of its references, so the gender is not found in another "
            "way; leave out --gender-from."
        )

    def score(items: Sequence[GenevalItem], translations: Sequence[str]) -> Scored:
        return [_scores(item, translation) for item, translation in zip(items, translations, strict=True)]

    return score


def _scores(item: GenevalItem, translation: str) -> tuple[Score, ...] | str:
    own = without_context(item, translation)
    if own is None:
        return OTHER_SENTENCES
    right, wrong = gender_words(item, own)
    cue = " ".join(sorted(wrong or right))
    return Score(cue, CORRECT, float(not wrong)), Score(cue, MATCHED, float(bool(right or wrong)))


TEST = TranslationTest(
    form="geneval", measures="geneval", text=text, open=_open, protocol=lambda _gender_from: PROTOCOL, in_target=True
)
