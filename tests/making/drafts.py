"""Drafts for the tests of repair."""

from collections.abc import Mapping

from tiltmeter.making.draft import Draft
from tiltmeter.making.repair.repair_resources import ProjectAlignment
from tiltmeter.translators.word_alignment import ENOUGH_PAIRS, AlignedPair, tokenize_words

WORD = "candidates[0].word"


def draft(
    context: str,
    *,
    source: str = "The gardener was BLANK.",
    term: tuple[str, str] = ("gardener", "Gärtner"),
    word: tuple[str, str] = ("patient", "geduldig"),
    filled: str = "",
    item: str = "g-1",
    language: str = "de",
) -> Draft:
    """An association item with one candidate word; pairs are (source, translation)."""
    return Draft(
        item,
        "association",
        "en",
        language,
        {"target_term": term[0], "context": source, WORD: word[0]},
        {"target_term": term[1], "context": context, WORD: word[1]},
        {WORD: filled} if filled else {},
        {WORD: word[1]},
    )


def links(one: Draft, words: Mapping[str, str]) -> AlignedPair:
    """The context of a draft aligned by words: source word to the words that stand for it, in both directions."""
    source, target = tokenize_words(one.source["context"]), tokenize_words(one.texts["context"])
    found = {
        (here, there)
        for here, token in enumerate(source)
        for there, other in enumerate(target)
        if other.text in words.get(token.text, "").split()
    }
    return AlignedPair(tuple(source), tuple(target), frozenset(found), frozenset(found))


def alignment(pairs: Mapping[str, AlignedPair], count: int = ENOUGH_PAIRS) -> ProjectAlignment:
    """The alignment of contexts, by item, as if trained on `count` sentence pairs."""
    return ProjectAlignment({(item, "context"): pair for item, pair in pairs.items()}, {}, count)
