"""With the authors' alignment of Google's Spanish translations, our rules give about the counts of their log."""

from collections import Counter
from pathlib import Path

import pytest

from perf.winomt import accuracy, delta_g, read_log
from tiltmeter.datasets.dataset_loader import load
from tiltmeter.datasets.upstream_files import get_upstream_file
from tiltmeter.gender.noun_gender import load_noun_rules
from tiltmeter.runs.translation.winomt import read_gender
from tiltmeter.translators.word_alignment import AlignedPair, tokenize_words

REPOSITORY = "gabrielStanovsky/mt_gender"
NAMES = {"masculine": "male", "feminine": "female", "neutral": "neutral", None: "unknown"}


def by_word(text: str) -> list[list[int]]:
    """Return the positions of the tokens of each word between spaces, as the released alignment counts them."""
    places, first = [], 0
    for word in text.split():
        count = len(tokenize_words(word))
        places.append(list(range(first, first + count)))
        first += count
    return places


def aligned(source: str, target: str, line: str) -> AlignedPair:
    sources, targets = by_word(source), by_word(target)
    links = [tuple(map(int, link.split("-"))) for link in line.split()]
    pairs = frozenset((s, t) for one, other in links for s in sources[one] for t in targets[other])
    return AlignedPair(tuple(tokenize_words(source)), tuple(tokenize_words(target)), pairs, pairs)


def test_counts_of_google_into_spanish(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_MIRROR", str(mirror))

    def released(path: str) -> list[str]:
        return (mirror / get_upstream_file(REPOSITORY, path).name).read_text(encoding="utf-8").splitlines()

    rules, counts = load_noun_rules("es"), Counter[tuple[str, str]]()
    lines = zip(released("translations/google/en-es.txt"), released("logs/forward.en-es.align"), strict=True)
    for item, (line, links) in zip(load("winomt", None, "en"), lines, strict=True):
        source, target = line.split(" ||| ")
        found = read_gender(item, target, aligned(source, target, links), rules)
        counts[item.gender, NAMES[found.gender]] += 1
    log = read_log("\n".join(released("logs/google/es.log")))
    assert log.total() == counts.total() == 3888
    assert round(accuracy(log), 1) == 53.1
    assert accuracy(counts) == pytest.approx(accuracy(log), abs=0.5)
    assert delta_g(counts) == pytest.approx(delta_g(log), abs=2.0)
    unknown = sum(count for (_, read), count in counts.items() if read == "unknown")
    assert unknown <= 0.02 * 3888
