"""chrF (Popović 2015): the similarity of two sets of texts by character n-grams, as in sacrebleu.

    python -m perf.chrf es/ stereoset:es

It compares the texts of the items that two data sets share, by type of text.
"""

import argparse
from collections import Counter
from collections.abc import Iterable

from tiltmeter.datasets import load_spec, parse_spec
from tiltmeter.forms import get_item_form

ORDER, BETA = 6, 2.0


def chrf(pairs: Iterable[tuple[str, str]]) -> float:
    """Return the corpus-level chrF of (text, reference) pairs, from 0 to 100, without spaces.

    >>> round(chrf([("El gato duerme.", "El gato duerme.")]))
    100
    """
    made, wanted, shared = [0] * ORDER, [0] * ORDER, [0] * ORDER
    for text, reference in pairs:
        for order in range(1, ORDER + 1):
            ours, theirs = _ngrams(text, order), _ngrams(reference, order)
            made[order - 1] += ours.total()
            wanted[order - 1] += theirs.total()
            shared[order - 1] += (ours & theirs).total()
    used = [order for order in range(ORDER) if made[order] and wanted[order]]
    if not used:
        return 0.0
    precision = sum(shared[order] / made[order] for order in used) / len(used)
    recall = sum(shared[order] / wanted[order] for order in used) / len(used)
    weighted = BETA**2 * precision + recall
    return 100 * (1 + BETA**2) * precision * recall / weighted if weighted else 0.0


def _ngrams(text: str, order: int) -> Counter[str]:
    characters = "".join(text.split())
    return Counter(characters[start : start + order] for start in range(len(characters) - order + 1))


def by_kind(made: str, reference: str) -> dict[str, list[tuple[str, str]]]:
    """Return pairs of texts of the items that two data sets share, by type, including filled contexts."""
    theirs = {item.id: item for item in load_spec(parse_spec(reference))}
    kinds: dict[str, list[tuple[str, str]]] = {}
    for item in load_spec(parse_spec(made)):
        other = theirs.get(item.id)
        if other is None:
            continue
        form = get_item_form(item)
        texts = form.translatable(other)
        for field, text in form.translatable(item).items():
            if field in texts:
                kinds.setdefault(form.text_kind(field), []).append((text, texts[field]))
        for own, same in zip(getattr(item, "candidates", ()), getattr(other, "candidates", ()), strict=True):
            if own.word:
                kinds.setdefault("filled context", []).append((own.sentence, same.sentence))
    return kinds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("made")
    parser.add_argument("reference")
    options = parser.parse_args()
    for kind, pairs in by_kind(options.made, options.reference).items():
        same = sum(text == reference for text, reference in pairs)
        print(f"{kind:<16}{len(pairs):>7,} texts, {same / len(pairs):>6.1%} the same, chrF {chrf(pairs):.1f}")


if __name__ == "__main__":
    main()
