"""The figures of `perf.winomt` for a synthetic log and synthetic references."""

from collections import Counter

import pytest

from perf.winomt import accuracy, delta_g, entity_places, nearest, read_log
from tiltmeter.forms.winomt import WinoMTItem
from tiltmeter.translators.word_alignment import AlignedPair, tokenize_words

LOG = """acc = 50.0%
defaultdict(<function f at 0x1>,
            {<GENDER.male: 0>: defaultdict(<function g at 0x2>,
                                           {<GENDER.male: 0>: 6,
                                            <GENDER.unknown: 3>: 2}),
             <GENDER.female: 1>: defaultdict(<function g at 0x3>,
                                             {<GENDER.male: 0>: 6,
                                              <GENDER.female: 1>: 2})})
"""


def test_the_counts_of_a_log() -> None:
    counts = read_log(LOG)
    assert counts == {("male", "male"): 6, ("male", "unknown"): 2, ("female", "male"): 6, ("female", "female"): 2}
    assert accuracy(counts) == 50
    # Precision and recall of male are 6/12 and 6/8, of female 2/2 and 2/8.
    assert delta_g(counts) == pytest.approx(100 * (0.6 - 0.4))
    assert delta_g(Counter({("male", "male"): 1, ("female", "female"): 1})) == 0


def pair(source: str, target: str, *links: tuple[int, int]) -> AlignedPair:
    return AlignedPair(tuple(tokenize_words(source)), tuple(tokenize_words(target)), frozenset(links), frozenset(links))


def test_nouns_with_an_article() -> None:
    source = "The cook saw a young gardener, an actor and cook Kim."
    assert entity_places(pair(source, ""), {"cook", "gardener", "actor"}) == [1, 7]


def test_the_nearest_article_or_pronoun() -> None:
    source = "He saw the cook because she sang."
    item = WinoMTItem("1", "en", "female", "cook", 3, source)
    assert nearest(item, pair(source, "Er sah den Koch, weil sie sang.", (3, 3))) == "female"
    assert nearest(item, pair(source, "Er half dem Koch, weil sie sang.", (3, 3))) == "male"
    assert nearest(item, pair(source, "Er sah den Köchin, weil er sang.", (3, 3))) == "female"
