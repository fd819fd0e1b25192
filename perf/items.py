"""The items of a workload: a sample of a data set, or the starter set extended with variants to any number."""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import count as counting
from pathlib import Path

from tiltmeter.benchmarks.gest import TEMPLATES
from tiltmeter.datasets.dataset_loader import get_dataset, load, load_file
from tiltmeter.forms import Item
from tiltmeter.forms.association import AssociationItem
from tiltmeter.forms.blank import BLANK
from tiltmeter.forms.gest import GestItem
from tiltmeter.forms.pairs import PairItem

STARTER = "starter"
_SEED = 20230


def load_items(source: str, part: str | None, count: int) -> list[Item]:
    """Return `count` items in the order of their file.

    `source` is the name of a data set or the path of a JSONL file. Languages are added one by one until there are
    enough items; a starter set, which is small, is then extended with variants.
    """
    items: list[Item] = []
    for batch in _by_language(source, part):
        items += [_with_language_in_ids(item) for item in batch]
        if len(items) >= count:
            break
    if len(items) < count and source.startswith(STARTER):
        items = _varied(items, count)
    if len(items) < count:
        raise SystemExit(f"{source} has {len(items)} items of this part, fewer than {count}; give a smaller --items.")
    sample = sorted(random.Random(_SEED).sample(range(len(items)), count))
    return [items[index] for index in sample]


def texts(source: str) -> list[str]:
    """Return all sentences of a data set, as in questions, to train a tokenizer."""
    return [text for batch in _by_language(source, None) for item in batch for text in _as_asked(item)]


def _by_language(source: str, part: str | None) -> Iterator[Sequence[Item]]:
    if source.endswith(".jsonl"):
        yield [item for item in load_file(Path(source)) if part is None or getattr(item, "part", part) == part]
        return
    for language in get_dataset(source).languages:
        yield load(source, part, language)


def _sentences(item: Item) -> list[str]:
    if isinstance(item, AssociationItem):
        sentences = [candidate.sentence for candidate in item.candidates]
        return sentences if BLANK in item.context else [item.context, *sentences]
    return [getattr(item, name) for name in ("more", "less", "sentence") if hasattr(item, name)]


def _as_asked(item: Item) -> list[str]:
    if isinstance(item, GestItem):
        words = [(template, word) for template in TEMPLATES.values() for word in (template.male, template.female)]
        return [template.fill_in_sentence(item.sentence, word) for template, word in words]
    return _sentences(item)


def _with_language_in_ids(item: Item) -> Item:
    """Add the language to the ids, because translations have the ids of the originals."""
    changes: dict[str, object] = {"id": f"{item.language}:{item.id}"}
    if isinstance(item, AssociationItem):
        changes["candidates"] = tuple(replace(c, id=f"{item.language}:{c.id}") for c in item.candidates)
    return replace(item, **changes)


def _varied(items: Sequence[Item], count: int) -> list[Item]:
    """Return the items, extended with variants with other words of the language to this number.

    Variants have the lengths of the originals and different beginnings, so that deduplication and shared prefixes save
    no more than with real items. The sentences of a pair differ in the same words as before. The sentences are
    meaningless, because only their cost is measured.
    """
    chance = random.Random(_SEED)
    words: dict[str, list[str]] = {}
    for item in items:
        words.setdefault(item.language, []).extend(re.findall(r"\w+", " ".join(_sentences(item))))
    varied = list(items)
    for number in counting(1):
        for item in items:
            if len(varied) == count:
                return varied
            varied.append(_variant(item, number, words[item.language], chance))
    raise AssertionError("counting never ends")


def _variant(item: Item, number: int, words: Sequence[str], chance: random.Random) -> Item:
    def other_words(text: str) -> str:
        return re.sub(r"\w+", lambda word: BLANK if word[0] == BLANK else chance.choice(words), text)

    new_id = f"{item.id}#{number}"
    match item:
        case AssociationItem():
            context = other_words(item.context)
            candidates = tuple(
                replace(
                    candidate,
                    id=f"{candidate.id}#{number}",
                    sentence=context.replace(BLANK, candidate.word)
                    if candidate.word
                    else other_words(candidate.sentence),
                )
                for candidate in item.candidates
            )
            return replace(item, id=new_id, context=context, candidates=candidates)
        case PairItem():
            more, less = _with_other_shared_words(item.more, item.less, words, chance)
            return replace(item, id=new_id, more=more, less=less)
        case GestItem():
            return replace(item, id=new_id, sentence=other_words(item.sentence))
        case _:
            raise SystemExit(
                "There are no variants of items of this form; ask for no more items than the starter set has."
            )


def _with_other_shared_words(more: str, less: str, words: Sequence[str], chance: random.Random) -> tuple[str, str]:
    """Replace the words that two sentences share by other words, the same in both."""
    pieces = [re.split(r"(\w+)", sentence) for sentence in (more, less)]
    blocks = SequenceMatcher(None, *pieces, autojunk=False).get_matching_blocks()
    shared = [(block.a + step, block.b + step) for block in blocks for step in range(block.size)]
    kept = {
        piece
        for sentence, indices in zip(pieces, zip(*shared, strict=True), strict=True)
        for index, piece in enumerate(sentence)
        if index not in indices
    }
    others = [word for word in words if word not in kept]
    for first, second in shared:
        if re.fullmatch(r"\w+", pieces[0][first]):
            pieces[0][first] = pieces[1][second] = chance.choice(others)
    return "".join(pieces[0]), "".join(pieces[1])
