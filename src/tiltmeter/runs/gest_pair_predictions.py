"""Read the scores released with GEST for pairs of sentences: one text file per model, with one number per pair.

The number is the log10 of the ratio of two probabilities: that of the masculine form and that of the feminine form. The
pairs of all languages are in one file. A pair is used only if its two sentences differ in exactly one token, so the
pairs that are used depend on the tokenizer of the model.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from tiltmeter.benchmarks.benchmark import SkippedItem
from tiltmeter.benchmarks.gender_log_ratios import PROTOCOL, ROLE, find_differing_positions
from tiltmeter.benchmarks.gendered_pairs import BENCHMARK, NOT_ONE_TOKEN
from tiltmeter.errors import DataError, ModelError, UsageError
from tiltmeter.forms.gendered_pairs import REPEATED_PAIR, GenderedPairItem, find_rejection_reason
from tiltmeter.runs.gest_predictions import read_log_ratios
from tiltmeter.runs.portions import Portion, load_portions
from tiltmeter.runs.prediction_files import Predictions
from tiltmeter.runs.score_tables import build_score_table

FORM = "gest-pairs"


def read_pair_predictions(path: Path, predicted: Sequence[Portion], *, model: str) -> Predictions:
    """Read the scores of a model for the pairs of one language; `model` is its hub id or folder."""
    if len(predicted) != 1 or predicted[0].form != BENCHMARK.form:
        raise UsageError(
            f"Predictions in the format {FORM} need one language of the data set gest-pairs, such as gest-pairs:cs."
        )
    (portion,) = predicted
    items = load_pairs()
    ratios = read_pair_ratios(path, items)
    kept, skipped = select_scored_pairs(items, portion.language, model)
    if not kept:
        first = f" (the first was skipped: {skipped[0].reason})" if skipped else ""
        raise DataError(
            f"{path} has no usable pair of {portion.language}{first}; check --model, because its tokenizer determines "
            "which pairs are used."
        )
    rows = ((item, item.id, ROLE, ratios[int(item.id)]) for item in kept)
    return Predictions(build_score_table(model, portion, PROTOCOL, rows), skipped, [])


def load_pairs() -> list[GenderedPairItem]:
    """Return the pairs of all languages, in the order of the released file."""
    items = [
        item for portion in load_portions("gest-pairs") for item in portion.items if isinstance(item, GenderedPairItem)
    ]
    return sorted(items, key=lambda item: int(item.id))


def read_pair_ratios(path: Path, items: Sequence[GenderedPairItem]) -> list[float]:
    """Return the natural logarithms of the ratios, one for each row of the released file of pairs."""
    ratios = read_log_ratios(path)
    if max((int(item.id) for item in items), default=-1) >= len(ratios):
        raise DataError(f"{path} has {len(ratios)} lines, but gender_variants.csv has more pairs; download both again.")
    return ratios


def select_scored_pairs(
    items: Sequence[GenderedPairItem], language: str, model: str
) -> tuple[list[GenderedPairItem], list[SkippedItem]]:
    """Return the pairs of a language that count for a model, and the others with the reason.

    `items` are the pairs of all languages, because a pair that occurs in two languages counts only in the first, as in
    the released code.
    """
    first = {(item.male, item.female): item for item in reversed(items)}
    reasons, candidates = {}, []
    for item in items:
        if item.language != language:
            continue
        repeated = first[item.male, item.female] is not item
        if (reason := REPEATED_PAIR if repeated else find_rejection_reason(item.male, item.female)) is None:
            candidates.append(item)
        else:
            reasons[item.id] = reason
    kept = _select_one_token_pairs(candidates, model)
    ids = {item.id for item in kept}
    reasons |= {item.id: NOT_ONE_TOKEN for item in candidates if item.id not in ids}
    return kept, [SkippedItem(item, reason) for item, reason in reasons.items()]


def _select_one_token_pairs(items: Sequence[GenderedPairItem], model: str) -> list[GenderedPairItem]:
    from transformers import AutoTokenizer

    from tiltmeter.models.hub_access import build_access_hint

    try:
        tokenizer = AutoTokenizer.from_pretrained(model)
    except (OSError, ValueError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        reason = build_access_hint(error, model) or first
        raise ModelError(
            f"The tokenizer of {model}, which decides which pairs are counted, cannot be loaded: {reason}"
        ) from error

    def tokenize(texts: Iterable[str]) -> list[list[int]]:
        ids: list[list[int]] = tokenizer(list(texts), add_special_tokens=False)["input_ids"]
        return ids

    pairs = zip(items, tokenize(item.male for item in items), tokenize(item.female for item in items), strict=True)
    return [
        item
        for item, male, female in pairs
        if len(male) == len(female) and len(find_differing_positions(male, female)) == 1
    ]
