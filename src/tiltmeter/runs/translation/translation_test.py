"""The class `TranslationTest` and the types of its results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tiltmeter.benchmarks.benchmark import Score


class Direction(NamedTuple):
    """The source and target language of a translation.

    >>> Direction("en", "sk").label, Direction("tr", "en").label
    ('sk', 'tr-en')
    """

    source: str
    target: str

    @property
    def label(self) -> str:
        """The value of `language` in results: the target language, or `tr-en` if the source is not English."""
        return self.target if self.source == "en" else f"{self.source}-{self.target}"


# One element for each item, in the order of the items: the scores of its translation, or the reason why there are none.
# An undetermined score is NaN.
ScoredTranslations = Sequence[tuple[Score, ...] | str]
Scorer = Callable[[Sequence[Any], Sequence[str]], ScoredTranslations]


@dataclass(frozen=True, slots=True)
class TranslationTest:
    """How items of one form test a translation system.

    - `measures` is the name of the module that measures the scores.
    - `text(item)` returns the text to translate.
    - `open(gender_from, direction)` returns the function that scores translations, or raises a UsageError for an
      unsupported language.
    - `protocol(gender_from)` returns the name of the protocol.
    - `in_target` says whether the data set lists the items under the target language, because the items have
      references; otherwise it lists them under the source language.
    """

    form: str
    measures: str
    text: Callable[[Any], str]
    open: Callable[[str, Direction], Scorer]
    protocol: Callable[[str], str]
    in_target: bool = False
