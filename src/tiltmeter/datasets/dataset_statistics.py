"""Statistics of data sets: counts of items, contexts, sentences, subjects, groups and words."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from tiltmeter.datasets.language_facts import get_language_facts
from tiltmeter.datasets.word_counts import build_word_counter, explain_missing_count
from tiltmeter.forms import Item, get_item_form
from tiltmeter.forms.blank import BLANK, fill_blank

# A function that takes texts and returns the number of tokens of each text.
CountPieces = Callable[[Sequence[str]], list[int]]


@dataclass(frozen=True, slots=True)
class LengthStatistics:
    """Statistics of the lengths of sentences, in words or tokens."""

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
        """Return the statistics as a dictionary of JSON values."""
        numbers = {"total": self.total, "per_sentence": self.mean, "shortest": self.shortest}
        return numbers | {"median": self.median, "longest": self.longest}


@dataclass(frozen=True, slots=True)
class PortionStatistics:
    """Statistics of the items of one part and language.

    `contexts` is the number of different contexts, or of different first sentences if items have no context. `subject`
    is the attribute that names the subject of an item, such as `target`; `per_subject` maps its values to numbers of
    items. `groups` maps each other attribute to a mapping from its values to numbers of items. `words` and `pieces` are
    the lengths of sentences in words and in tokens. `words` is None if words cannot be counted; `note` has the reason.
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
        """Return the statistics and the facts about the language as a dictionary of JSON values."""
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
    """Return the statistics of each part and language, in order of occurrence; `count_pieces` counts tokens."""
    groups: dict[tuple[str, str], list[Item]] = {}
    for item in items:
        groups.setdefault((get_item_form(item).part_of(item) or "", item.language), []).append(item)
    return [_describe_portion(part, language, chosen, count_pieces) for (part, language), chosen in groups.items()]


def list_sentences(item: Item) -> list[str]:
    """Return the sentences of an item as a model reads them; each word of the item replaces BLANK in the context."""
    form = get_item_form(item)
    texts = form.translatable(item)
    by_type: dict[str, list[str]] = {"context": [], "word": [], "sentence": []}
    for name, text in texts.items():
        by_type.get(form.text_kind(name), []).append(text)
    contexts = [
        filled
        for context in by_type["context"]
        for filled in ([fill_blank(context, word) for word in by_type["word"]] if BLANK in context else [context])
    ]
    return [*contexts, *by_type["sentence"]]


def _describe_portion(
    part: str, language: str, items: Sequence[Item], count_pieces: CountPieces | None
) -> PortionStatistics:
    form = get_item_form(items[0])
    attributes = [form.attributes(item) for item in items]
    unlisted = (*form.numbers, *form.hidden)
    names = [name for name in dict.fromkeys(key for row in attributes for key in row) if name not in unlisted]
    subject = form.subject
    counts = {name: _count_values(row.get(name) for row in attributes) for name in names}
    # An attribute with a different value for each item does not group items.
    groups = {name: found for name, found in counts.items() if name != subject and len(found) < len(items)}
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
        groups=groups,
        words=_summarise_lengths(known) if len(known) == len(counted) else None,
        pieces=_summarise_lengths(count_pieces(sentences)) if count_pieces else None,
        note="" if len(known) == len(counted) else explain_missing_count(language),
    )


def _count_values(values: Iterable[Any]) -> dict[str, int]:
    """Return the number of occurrences of each value, the most frequent value first."""
    return dict(Counter(str(value) for value in values if value not in (None, "")).most_common())


def _summarise_lengths(counts: Sequence[int]) -> LengthStatistics | None:
    return LengthStatistics(sum(counts), len(counts), min(counts), median(counts), max(counts)) if counts else None
