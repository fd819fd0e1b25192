"""What is in a data set, in numbers: items, contexts, subjects, words, kinds of bias."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from tiltmeter.datasets.language_facts import language
from tiltmeter.datasets.word_counts import why_not_counted, word_counter
from tiltmeter.forms import Item, form_of
from tiltmeter.forms.blank import BLANK, fill

# Of a text, the number of pieces that a tokenizer makes of it.
CountPieces = Callable[[Sequence[str]], list[int]]


@dataclass(frozen=True, slots=True)
class Lengths:
    """Lengths of sentences in words or pieces."""

    total: int
    sentences: int
    shortest: int
    median: float
    longest: int

    @property
    def mean(self) -> float:
        """The mean length."""
        return self.total / self.sentences

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        numbers = {"total": self.total, "per_sentence": self.mean, "shortest": self.shortest}
        return numbers | {"median": self.median, "longest": self.longest}


@dataclass(frozen=True, slots=True)
class DataDescription:
    """The items of one part and language.

    `contexts` are different contexts, or different first sentences where there is no context. `subject` names the
    attribute that says whom items are about, `per_subject` counts items by it; `groups` counts items by each other
    attribute that groups them.
    """

    part: str
    language: str
    items: int
    contexts: int
    sentences: int
    subject: str
    per_subject: Mapping[str, int]
    groups: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    words: Lengths | None = None
    pieces: Lengths | None = None
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "part": self.part,
            "language": self.language,
            **language(self.language).attributes(),
            "items": self.items,
            "contexts": self.contexts,
            "sentences": self.sentences,
            self.subject or "subject": dict(self.per_subject),
            **{name: dict(counts) for name, counts in self.groups.items()},
            "words": self.words.to_dict() if self.words else None,
            "pieces": self.pieces.to_dict() if self.pieces else None,
            "note": self.note,
        }


def describe(items: Iterable[Item], count_pieces: CountPieces | None = None) -> list[DataDescription]:
    """Describe items by part and language, in the order in which these occur."""
    groups: dict[tuple[str, str], list[Item]] = {}
    for item in items:
        groups.setdefault((form_of(item).part_of(item) or "", item.language), []).append(item)
    return [_describe(part, language, chosen, count_pieces) for (part, language), chosen in groups.items()]


def sentences_of(item: Item) -> list[str]:
    """The sentences of an item as a model reads them: contexts with their blank filled, and all other sentences."""
    form = form_of(item)
    texts = form.translatable(item)
    by_kind: dict[str, list[str]] = {"context": [], "word": [], "sentence": []}
    for name, text in texts.items():
        by_kind.get(form.text_kind(name), []).append(text)
    contexts = [
        filled
        for context in by_kind["context"]
        for filled in ([fill(context, word) for word in by_kind["word"]] if BLANK in context else [context])
    ]
    return [*contexts, *by_kind["sentence"]]


def _describe(part: str, language: str, items: Sequence[Item], count_pieces: CountPieces | None) -> DataDescription:
    form = form_of(items[0])
    attributes = [form.attributes(item) for item in items]
    names = [name for name in dict.fromkeys(key for row in attributes for key in row) if name not in form.numbers]
    subject = form.subject
    counts = {name: _counted(row.get(name) for row in attributes) for name in names}
    # A grouping in which every item is a group of its own tells nothing.
    kept = {name: found for name, found in counts.items() if name != subject and len(found) < len(items)}
    sentences = [sentence for item in items for sentence in sentences_of(item)]
    counted = [word_counter(language)(sentence) for sentence in sentences]
    known = [count for count in counted if count is not None]
    firsts = {form.shown(item).context or sentences_of(item)[0] for item in items}
    return DataDescription(
        part=part,
        language=language,
        items=len(items),
        contexts=len(firsts),
        sentences=len(sentences),
        subject=subject,
        per_subject=counts.get(subject, {}),
        groups=kept,
        words=_lengths(known) if len(known) == len(counted) else None,
        pieces=_lengths(count_pieces(sentences)) if count_pieces else None,
        note="" if len(known) == len(counted) else why_not_counted(language),
    )


def _counted(values: Iterable[Any]) -> dict[str, int]:
    """How often each value occurs, the most frequent first."""
    return dict(Counter(str(value) for value in values if value not in (None, "")).most_common())


def _lengths(counts: Sequence[int]) -> Lengths | None:
    return Lengths(sum(counts), len(counts), min(counts), median(counts), max(counts)) if counts else None
