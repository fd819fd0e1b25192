"""The items of a workload: a sample of a data set, or Tiltmeter's own sentences varied to any number."""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import count as counting
from pathlib import Path

from tiltmeter.benchmarks.gest import TEMPLATES
from tiltmeter.datasets.by_name import dataset, load, load_file
from tiltmeter.forms import Item
from tiltmeter.forms.association import AssociationItem
from tiltmeter.forms.blank import BLANK
from tiltmeter.forms.gest import GestItem
from tiltmeter.forms.pairs import PairItem

STARTER = "starter"
_SEED = 20230


def load_items(source: str, part: str | None, count: int) -> list[Item]:
    """`count` items in the order of their file.

    `source` is the name of a data set or the path of a JSONL file. Languages are taken in turn until there are
    enough; a starter set, which is small, is then varied.
    """
    found: list[Item] = []
    for batch in _by_language(source, part):
        found += [_with_language_in_ids(item) for item in batch]
        if len(found) >= count:
            break
    if len(found) < count and source.startswith(STARTER):
        found = _varied(found, count)
    if len(found) < count:
        raise SystemExit(f"{source} has {len(found)} items of this part, which is less than {count}.")
    kept = sorted(random.Random(_SEED).sample(range(len(found)), count))
    return [found[place] for place in kept]


def texts(source: str) -> list[str]:
    """All sentences of a data set as they are asked, of all parts and languages: what a tokenizer is trained on."""
    return [text for batch in _by_language(source, None) for item in batch for text in _as_asked(item)]


def _by_language(source: str, part: str | None) -> Iterator[Sequence[Item]]:
    if source.endswith(".jsonl"):
        yield [item for item in load_file(Path(source)) if part is None or getattr(item, "part", part) == part]
        return
    for language in dataset(source).languages:
        yield load(source, part, language)


def _sentences(item: Item) -> list[str]:
    if isinstance(item, AssociationItem):
        sentences = [candidate.sentence for candidate in item.candidates]
        return sentences if BLANK in item.context else [item.context, *sentences]
    return [getattr(item, name) for name in ("more", "less", "sentence") if hasattr(item, name)]


def _as_asked(item: Item) -> list[str]:
    if isinstance(item, GestItem):
        words = [(template, word) for template in TEMPLATES.values() for word in (template.male, template.female)]
        return [template.fill(item.sentence, word) for template, word in words]
    return _sentences(item)


def _with_language_in_ids(item: Item) -> Item:
    """Translations share the ids of the original; here items of several languages stand together."""
    changes: dict[str, object] = {"id": f"{item.language}:{item.id}"}
    if isinstance(item, AssociationItem):
        changes["candidates"] = tuple(replace(c, id=f"{item.language}:{c.id}") for c in item.candidates)
    return replace(item, **changes)


def _varied(items: Sequence[Item], count: int) -> list[Item]:
    """The items, then the same ones with other words of their language, until there are enough.

    Lengths stay as they were, and no two items become the same or begin with the same words, so that neither
    deduplication nor shared prefixes find more than in real items. The two sentences of a pair go on differing in the
    words in which they do, and share all others. The sentences mean nothing; their cost is what is measured.
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
        return re.sub(r"\w+", lambda found: BLANK if found[0] == BLANK else chance.choice(words), text)

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
            raise SystemExit("Items of this form are not varied yet; ask for no more than the starter set has.")


def _with_other_shared_words(more: str, less: str, words: Sequence[str], chance: random.Random) -> tuple[str, str]:
    """Two sentences with other words, the same in both, in the places of those that both have."""
    pieces = [re.split(r"(\w+)", sentence) for sentence in (more, less)]
    blocks = SequenceMatcher(None, *pieces, autojunk=False).get_matching_blocks()
    shared = [(block.a + step, block.b + step) for block in blocks for step in range(block.size)]
    kept = {
        piece
        for some, places in zip(pieces, zip(*shared, strict=True), strict=True)
        for place, piece in enumerate(some)
        if place not in places
    }
    others = [word for word in words if word not in kept]
    for first, second in shared:
        if re.fullmatch(r"\w+", pieces[0][first]):
            pieces[0][first] = pieces[1][second] = chance.choice(others)
    return "".join(pieces[0]), "".join(pieces[1])
