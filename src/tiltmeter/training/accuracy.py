"""The accuracy of a next-sentence head on held-out pairs, for each language, with intervals."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.functional import cross_entropy

from tiltmeter.errors import ModelError
from tiltmeter.measures.estimates import Share
from tiltmeter.measures.factors import Factors
from tiltmeter.progress.progress import Progress, ReportProgress, ignore_progress
from tiltmeter.training.batches import build_tensors
from tiltmeter.training.tokenised_pairs import TokenisedPairs

# Maximum number of tokens per batch. The limit is higher than in training, because evaluation stores no gradients.
_BATCH_TOKENS = {"cpu": 4_096, "cuda": 65_536}
# The accuracy of guessing in percent, because half of the pairs are positive.
_CHANCE = 50.0


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The percentage of correctly classified pairs with its 95% interval; `language` is "" for all languages together.

    The interval is clustered by article, because pairs from one article are correlated. `positive` is the accuracy on
    the pairs whose second sentence follows the first.
    """

    language: str
    value: float
    low: float
    high: float
    pairs: int
    articles: int
    positive: float | None

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a dictionary of JSON values."""
        return asdict(self)


def describe_chance(accuracies: Sequence[Accuracy]) -> str:
    """Return a warning that names the languages in which a head is not better than guessing; empty if there are none.

    >>> describe_chance([Accuracy("de", 50.6, 47.1, 54.0, 900, 300, 49.0)]).partition(" (the")[0]
    'Warning: the head is no better than guessing (50%) in de: 50.6'
    """
    guessing = [row for row in accuracies if row.low <= _CHANCE]
    if not guessing:
        return ""
    listed = ", ".join(f"{row.language or 'all languages'}: {row.value:.1f}" for row in guessing)
    return (
        f"Warning: the head is no better than guessing (50%) in {listed} (the interval contains 50). Its results will "
        "not be interpretable; train on more articles, or with another learning rate."
    )


def compute_logits(
    module: nn.Module,
    tokens: TokenisedPairs,
    rows: NDArray[np.int64] | None = None,
    *,
    precision: torch.dtype = torch.float32,
    report: ReportProgress = ignore_progress,
) -> NDArray[np.float32]:
    """Return two logits for each pair: of "does not follow" and of "follows".

    `rows` are the indices of the pairs; the default is all pairs.
    """
    device = next(module.parameters()).device
    rows = np.arange(len(tokens)) if rows is None else rows
    order = rows[np.argsort(tokens.lengths[rows], kind="stable")]
    all_logits = np.empty((len(tokens), 2), dtype=np.float32)
    autocast = torch.autocast(device.type, precision) if precision != torch.float32 else nullcontext()
    module.eval()
    done = 0
    with torch.inference_mode(), autocast:
        for batch in _group_batches(tokens.lengths, order, _BATCH_TOKENS.get(device.type, 16_384)):
            inputs = build_tensors(tokens, batch)
            inputs.pop("labels")
            logits = module(**{name: tensor.to(device) for name, tensor in inputs.items()})["logits"]
            all_logits[batch] = logits.float().cpu().numpy()
            done += len(batch)
            report(Progress(done, len(order)))
    if not np.isfinite(all_logits[rows]).all():
        raise ModelError(
            "The logits of the head are not finite; train it with --precision float32 or lower learning rates."
        )
    return all_logits[rows]


def compute_accuracies(logits: NDArray[np.float32], tokens: TokenisedPairs) -> list[Accuracy]:
    """Return the accuracy for each language; if there are several languages, the accuracy on all pairs is added."""
    correct = 100.0 * (logits.argmax(axis=1) == tokens.labels)
    accuracies = []
    for number, language in enumerate(tokens.names):
        accuracies.append(_compute_accuracy(language, correct, tokens, tokens.languages == number))
    if len(accuracies) > 1:
        accuracies.append(_compute_accuracy("", correct, tokens, np.ones(len(tokens), dtype=bool)))
    return accuracies


def compute_validation_metrics(module: nn.Module, tokens: TokenisedPairs, precision: torch.dtype) -> dict[str, float]:
    """Return a dictionary with the `loss` and the `accuracy` (in percent) of a head on the validation pairs."""
    logits = compute_logits(module, tokens, precision=precision)
    labels = torch.from_numpy(tokens.labels.astype(np.int64))
    return {
        "loss": float(cross_entropy(torch.from_numpy(logits), labels)),
        "accuracy": float(100 * (logits.argmax(axis=1) == tokens.labels).mean()),
    }


def _compute_accuracy(
    language: str, correct: NDArray[np.float64], tokens: TokenisedPairs, selected: NDArray[np.bool_]
) -> Accuracy:
    articles = tokens.articles[selected].astype(object)
    share = Share.from_values(correct[selected], Factors.from_labels({"article": articles}))
    low, high = share.interval()
    positive = correct[selected & (tokens.labels == 1)]
    return Accuracy(
        language=language,
        value=share.value,
        low=low,
        high=high,
        pairs=int(selected.sum()),
        articles=len(set(articles)),
        positive=float(positive.mean()) if len(positive) else None,
    )


def _group_batches(lengths: NDArray[np.integer], order: NDArray[np.int64], limit: int) -> list[NDArray[np.int64]]:
    """Split row indices, which are ordered by length, into batches of at most `limit` tokens including padding."""
    batches: list[NDArray[np.int64]] = []
    start = 0
    for end in range(1, len(order) + 1):
        if end == len(order) or (end + 1 - start) * int(lengths[order[end]]) > limit:
            batches.append(order[start:end])
            start = end
    return batches
