"""chrF (Popović 2015): the similarity of texts by character n-grams, as in sacrebleu."""

from collections import Counter
from collections.abc import Iterable

ORDER, BETA = 6, 2.0


def compute_chrf(pairs: Iterable[tuple[str, str]]) -> float:
    """Return the corpus-level chrF of (text, reference) pairs, from 0 to 1; spaces do not count.

    >>> compute_chrf([("El gato duerme.", "El gato duerme.")]), compute_chrf([("sí", "no")])
    (1.0, 0.0)
    """
    made, wanted, shared = [0] * ORDER, [0] * ORDER, [0] * ORDER
    for text, reference in pairs:
        for order in range(ORDER):
            ours, theirs = _count_ngrams(text, order + 1), _count_ngrams(reference, order + 1)
            made[order] += ours.total()
            wanted[order] += theirs.total()
            shared[order] += (ours & theirs).total()
    used = [order for order in range(ORDER) if made[order] and wanted[order]]
    if not used:
        return 0.0
    precision = sum(shared[order] / made[order] for order in used) / len(used)
    recall = sum(shared[order] / wanted[order] for order in used) / len(used)
    weighted = BETA**2 * precision + recall
    return (1 + BETA**2) * precision * recall / weighted if weighted else 0.0


def _count_ngrams(text: str, order: int) -> Counter[str]:
    characters = "".join(text.split())
    return Counter(characters[start : start + order] for start in range(len(characters) - order + 1))
