"""Overlap between the items of runs and the texts that a model was tuned on.

A model that was tuned on the items, or on sentences like them, may have learnt these sentences and nothing else. An
item is

    exact      if one of its texts is one of the tuning texts, or a part of one
    near       if the words of one of its texts and of a tuning text agree by 80% (`difflib` ratio)
    template   if one of its texts and a tuning text differ only in one gap of at most four words

Letter case and punctuation are ignored.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from tiltmeter.errors import DataError, UsageError
from tiltmeter.forms import ItemText
from tiltmeter.forms.case_folding import fold_case
from tiltmeter.runs.result import Result
from tiltmeter.runs.run_items import get_item_texts
from tiltmeter.text_files import parse_json, read_text, split_lines

OverlapKind = Literal["exact", "near", "template"]
KINDS: tuple[OverlapKind, ...] = ("exact", "near", "template")
Words = tuple[str, ...]

_SIMILAR = 0.8  # smallest ratio of agreeing words of a near duplicate
_GAP, _FRAME = 4, 4  # maximum number of words in the gap of a template, and minimum number of words around it
_CANDIDATES = 20  # maximum number of tuning texts to which one text is compared word by word
_MOST_COMMON = 5_000  # pairs of words in more tuning texts than this do not identify similar texts
# Characters of scripts without spaces between words count as words.
_WORD = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]|[^\W_]+(?:['’][^\W_]+)*")
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s*|\n+")


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningOverlap:
    """The numbers of items of a benchmark in one language that are similar to tuning texts.

    `exact`, `near` and `template` are numbers of items; an item counts once, in the first category that applies.
    `words` is the number of distinct words in which the texts of an item differ, for example the stereotypical words,
    and `known_words` the number of those that occur in the tuning texts. `items` are the ids of all similar items.
    """

    benchmark: str
    language: str
    checked: int
    exact: int
    near: int
    template: int
    words: int
    known_words: int
    items: frozenset[str]

    @property
    def sentence(self) -> str:
        """A sentence with the numbers, which is a warning if there are similar items."""
        subject = f"{self.benchmark}:{self.language}"
        known = (
            f"of the {self.words:,} words in which the texts of an item differ, {self.known_words:,} occur in the "
            "tuning texts"
        )
        if not self.items:
            return f"None of the {self.checked:,} items of {subject} is similar to a tuning text; {known}."
        counts = {"the same text": self.exact, "nearly the same text": self.near, "the same template": self.template}
        listed = ", ".join(f"{count:,} with {words}" for words, count in counts.items() if count)
        return (
            f"Warning: {len(self.items):,} of the {self.checked:,} items of {subject} are similar to tuning texts "
            f"({listed}), so a better result may only mean that the model has learnt these texts; {known}."
        )


class TuningTexts:
    """The texts that a model was tuned on, indexed by pairs of adjacent words."""

    def __init__(self, texts: Iterable[str]) -> None:
        pieces = (piece for text in texts for piece in (text, *_SENTENCE_END.split(text)))
        self._sentences: list[Words] = list(dict.fromkeys(filter(None, map(split_words, pieces))))
        self._known = frozenset(self._sentences)
        self.words = frozenset(word for words in self._sentences for word in words)
        self._index: dict[tuple[str, str], list[int]] = {}
        for number, words in enumerate(self._sentences):
            for pair in set(pairwise(words)):
                self._index.setdefault(pair, []).append(number)

    def __len__(self) -> int:
        """The number of distinct texts and sentences."""
        return len(self._sentences)

    def classify(self, text: str) -> OverlapKind | None:
        """Return how a text overlaps with the tuning texts; None if it does not, or if it has fewer than three words.

        >>> tuned = TuningTexts(["My aunt repairs old radios. She likes it.", "He sang."])
        >>> [tuned.classify(text) for text in ("My aunt repairs old radios", "My aunt repairs old bikes", "He sings.")]
        ['exact', 'near', None]
        """
        words = split_words(text)
        if len(words) < 3:
            return None
        if words in self._known:
            return "exact"
        found = {_compare_words(words, self._sentences[number]) for number in self._list_candidates(words)}
        return next((kind for kind in KINDS if kind in found), None)

    def _list_candidates(self, words: Words) -> list[int]:
        """Return the indexes of the texts that share the most pairs of adjacent words with a text."""
        shared: Counter[int] = Counter()
        for pair in set(pairwise(words)):
            numbers = self._index.get(pair, ())
            if len(numbers) <= _MOST_COMMON:
                shared.update(numbers)
        return [number for number, _ in shared.most_common(_CANDIDATES)]


def _compare_words(words: Words, other: Words) -> OverlapKind | None:
    """Return how a text overlaps with one tuning text."""
    if len(words) < len(other) and f" {' '.join(words)} " in f" {' '.join(other)} ":
        return "exact"
    if SequenceMatcher(None, words, other, autojunk=False).ratio() >= _SIMILAR:
        return "near"
    shorter = min(len(words), len(other))
    before = next((at for at in range(shorter) if words[at] != other[at]), shorter)
    rest = shorter - before
    after = next((at for at in range(rest) if words[-1 - at] != other[-1 - at]), rest)
    gap = max(len(words), len(other)) - before - after
    return "template" if before + after >= _FRAME and gap <= _GAP else None


def split_words(text: str) -> Words:
    """Return the words of a text in lower case, without punctuation.

    >>> split_words("It's Tom’s, isn't it?")
    ("it's", 'tom’s', "isn't", 'it')
    """
    return tuple(_WORD.findall(fold_case(text)))


def read_tuning_texts(path: Path) -> TuningTexts:
    """Read tuning texts from a file: all strings of JSON or JSON lines, all cells of CSV or TSV, or lines of text."""
    suffix = path.suffix.lower()
    content = read_text(path)
    if suffix == ".json":
        texts = list(_list_strings(parse_json(content, str(path))))
    elif suffix == ".jsonl":
        rows = ((number, line) for number, line in enumerate(split_lines(content), start=1) if line.strip())
        texts = [text for number, line in rows for text in _list_strings(parse_json(line, f"{path}, line {number}"))]
    elif suffix in (".csv", ".tsv"):
        texts = list(_list_cells(content, path, "," if suffix == ".csv" else "\t"))
    else:
        texts = split_lines(content)
    tuned = TuningTexts(texts)
    if not len(tuned):
        raise UsageError(f"{path} contains no text; --tuned-on needs a text, CSV, TSV, JSON or JSONL file with texts.")
    return tuned


def _list_strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for entry in value.values() if isinstance(value, dict) else value:
            yield from _list_strings(entry)


def _list_cells(content: str, path: Path, delimiter: str) -> Iterator[str]:
    reader = csv.reader(io.StringIO(content, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            yield from row
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}, cannot be read as CSV or TSV: {error}.") from error


def find_overlaps(tuned: TuningTexts, results: Sequence[Result]) -> tuple[list[TuningOverlap], list[str]]:
    """Return the overlap for each benchmark and language of the runs, and notes on those whose texts are not stored."""
    texts: dict[tuple[str, str], dict[str, ItemText]] = {}
    for result in results:
        if result.texts is not None:
            for (benchmark, language), rows in result.texts.groupby(["benchmark", "language"], sort=False):
                texts.setdefault((str(benchmark), str(language)), {}).update(get_item_texts(rows))
    measured = {
        (str(benchmark), str(language))
        for result in results
        for benchmark, language in result.scores[["benchmark", "language"]].drop_duplicates().itertuples(index=False)
    }
    unknown = [f"{benchmark}:{language}" for benchmark, language in sorted(measured - set(texts))]
    notes = [f"The overlap with the tuning texts is unknown for {', '.join(unknown)}: the runs contain no texts of it."]
    overlaps = [_compute_overlap(tuned, *portion, items) for portion, items in texts.items()]
    return overlaps, notes if unknown else []


def _compute_overlap(tuned: TuningTexts, benchmark: str, language: str, items: dict[str, ItemText]) -> TuningOverlap:
    kinds: dict[str, OverlapKind] = {}
    differing: set[str] = set()
    for identifier, item in items.items():
        candidates = list(item.texts.values())
        found = {tuned.classify(text) for text in (item.context, *candidates)}
        if kind := next((kind for kind in KINDS if kind in found), None):
            kinds[identifier] = kind
        counts_by_word = Counter(word for text in candidates for word in set(split_words(text)))
        differing.update(word for word, count in counts_by_word.items() if count < len(candidates))
    counts = Counter(kinds.values())
    return TuningOverlap(
        benchmark=benchmark,
        language=language,
        checked=len(items),
        **{kind: counts[kind] for kind in KINDS},
        words=len(differing),
        known_words=len(differing & tuned.words),
        items=frozenset(kinds),
    )
