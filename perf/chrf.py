"""chrF (Popović 2015): the similarity of two sets of texts by character n-grams, as in sacrebleu.

    python -m perf.chrf es/ stereoset:es

It compares the texts of the items that two data sets share, by type of text.
"""

import argparse
from collections.abc import Iterable

from tiltmeter.datasets import load_spec, parse_spec
from tiltmeter.forms import get_item_form
from tiltmeter.making.quality.similarity import compute_chrf


def chrf(pairs: Iterable[tuple[str, str]]) -> float:
    """Return the corpus-level chrF of (text, reference) pairs, from 0 to 100."""
    return 100 * compute_chrf(pairs)


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
