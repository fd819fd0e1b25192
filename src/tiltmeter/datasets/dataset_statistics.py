"""What is in a data set, in numbers: items, contexts, subjects, words, kinds of bias."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from tiltmeter.datasets.language_facts import get_language_facts
from tiltmeter.datasets.word_counts import build_word_counter, explain_missing_count
from tiltmeter.forms import Item, get_item_form
from tiltmeter.forms.blank import BLANK, fill_blank

# Of a text, the number of pieces that a tokenizer makes of it.
CountPieces = Callable[[Sequence[str]], list[int]]


@dataclass(frozen=True, slots=True)
class LengthStatistics:
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
class PortionStatistics:
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
    words: LengthStatistics | None = None
    pieces: LengthStatistics | None = None
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "part": self.part,
            "language": self.language,
            **get_language_facts(self.language).attributes(),
            "items": self.items,
            "contexts": self.contexts,
            "sentences": self.sentences,
            self.subject or "subject": dict(self.per_subject),
            **{name: dict(counts) for name, counts in self.groups.items()},
            "words": self.words.to_dict() if self.words else None,
            "pieces": self.pieces.to_dict() if self.pieces else None,
            "note": self.note,
        }


def describe_items(items: Iterable[Item], count_pieces: CountPieces | None = None) -> list[PortionStatistics]:
    """Describe items by part and language, in the order in which these occur."""
    groups: dict[tuple[str, str], list[Item]] = {}
    for item in items:
        groups.setdefault((get_item_form(item).part_of(item) or "", item.language), []).append(item)
    return [_describe_portion(part, language, chosen, count_pieces) for (part, language), chosen in groups.items()]


def list_sentences(item: Item) -> list[str]:
    """The sentences of an item as a model reads them: contexts with their blank filled, and all other sentences."""
    form = get_item_form(item)
    texts = form.translatable(item)
    by_kind: dict[str, list[str]] = {"context": [], "word": [], "sentence": []}
    for name, text in texts.items():
        by_kind.get(form.text_kind(name), []).append(text)
    contexts = [
        filled
        for context in by_kind["context"]
        for filled in ([fill_blank(context, word) for word in by_kind["word"]] if BLANK in context else [context])
    ]
    return [*contexts, *by_kind["sentence"]]


def _describe_portion(
    part: str, language: str, items: Sequence[Item], count_pieces: CountPieces | None
) -> PortionStatistics:
    form = get_item_form(items[0])
    attributes = [form.attributes(item) for item in items]
    names = [name for name in dict.fromkeys(key for row in attributes for key in row) if name not in form.numbers]
    subject = form.subject
    counts = {name: _count_values(row.get(name) for row in attributes) for name in names}
    # A grouping in which every item is a group of its own tells nothing.
    kept = {name: found for name, found in counts.items() if name != subject and len(found) < len(items)}
    sentences = [sentence for item in items for sentence in list_sentences(item)]
    counted = [build_word_counter(language)(sentence) for sentence in sentences]
    known = [count for count in counted if count is not None]
    firsts = {form.shown(item).context or list_sentences(item)[0] for item in items}
    return PortionStatistics(
        part=part,
        language=language,
        items=len(items),
        contexts=len(firsts),
        sentences=len(sentences),
        subject=subject,
        per_subject=counts.get(subject, {}),
        groups=kept,
        words=_summarise_lengths(known) if len(known) == len(counted) else None,
        pieces=_summarise_lengths(count_pieces(sentences)) if count_pieces else None,
        note="" if len(known) == len(counted) else explain_missing_count(language),
    )


def _count_values(values: Iterable[Any]) -> dict[str, int]:
    """How often each value occurs, the most frequent first."""
    return dict(Counter(str(value) for value in values if value not in (None, "")).most_common())


def _summarise_lengths(counts: Sequence[int]) -> LengthStatistics | None:
    return LengthStatistics(sum(counts), len(counts), min(counts), median(counts), max(counts)) if counts else None
