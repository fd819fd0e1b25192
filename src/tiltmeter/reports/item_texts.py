"""The texts of items, by their ids, where the data set is on this machine."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from tiltmeter.data import AssociationItem, GestItem, GestPairItem, Item, PairItem, load_spec, parse_spec
from tiltmeter.data.datasets import DATASETS
from tiltmeter.errors import TiltmeterError


@dataclass(frozen=True, slots=True)
class Texts:
    """What an item says: what comes before the candidates, if anything, and a text for each role."""

    context: str
    by_role: Mapping[str, str]


@lru_cache(maxsize=32)
def item_texts(benchmark: str, language: str) -> dict[tuple[str, str], Texts]:
    """The texts of a benchmark in a language by part and id; nothing where its files are not here.

    A report is no occasion for a download: what is not here is shown by its id. The part is empty where the data are
    not divided.
    """
    known = DATASETS.get(benchmark)
    try:
        if known is not None and not all(source.is_here() for source in known.select(None, [language])):
            return {}
        items = load_spec(parse_spec(f"{benchmark}:{language}"))
    except TiltmeterError:
        return {}
    return {(getattr(item, "part", ""), item.id): _texts(item) for item in items}


def find(benchmark: str, language: str, part: str, item: str) -> Texts | None:
    """The texts of one item; None if they are not to be had."""
    there = item_texts(benchmark, language)
    return there.get((part, item)) or there.get(("", item))


def _texts(item: Item) -> Texts:
    match item:
        case AssociationItem():
            context = item.context if item.part == "intersentence" else ""
            return Texts(context, {one.role: one.sentence for one in item.candidates})
        case PairItem():
            return Texts("", {"more": item.more, "less": item.less})
        case GestItem():
            return Texts(item.sentence, {})
        case GestPairItem():
            return Texts(item.original, {"male": item.male, "female": item.female})
        case _:
            return Texts("", dict(_halves(item)))


def _halves(item: Item) -> Iterator[tuple[str, str]]:
    for role in ("male", "female"):
        if text := getattr(item, role, ""):
            yield role, text
