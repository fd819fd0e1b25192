"""The accuracy of a next-sentence head on pairs that it was not trained on, by language, with intervals."""

from collections.abc import Callable, Sequence
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
from tiltmeter.training.batches import build_tensors
from tiltmeter.training.tokenised_pairs import TokenisedPairs

# Tokens in a batch; no gradients are kept, so that more fit than in training.
_BATCH_TOKENS = {"cpu": 4_096, "cuda": 65_536}
Told = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The percentage of pairs that a head decides correctly, with its 95% interval; `language` is "" for all pairs.

    The pairs of an article are correlated, and the interval is that of a sample of articles. `positive` is the accuracy
    on pairs that do follow.
    """

    language: str
    value: float
    low: float
    high: float
    pairs: int
    articles: int
    positive: float | None

    def to_json(self) -> dict[str, Any]:
        """Its fields."""
        return asdict(self)


def compute_logits(
    module: nn.Module,
    tokens: TokenisedPairs,
    rows: NDArray[np.int64] | None = None,
    *,
    precision: torch.dtype = torch.float32,
    told: Told = lambda _pairs: None,
) -> NDArray[np.float32]:
    """For each pair, the logits of "does not follow" and "follows"."""
    device = next(module.parameters()).device
    chosen = np.arange(len(tokens)) if rows is None else rows
    order = chosen[np.argsort(tokens.lengths[chosen], kind="stable")]
    found = np.empty((len(tokens), 2), dtype=np.float32)
    half = torch.autocast(device.type, precision) if precision != torch.float32 else nullcontext()
    module.eval()
    done = 0
    with torch.inference_mode(), half:
        for batch in _group_batches(tokens.lengths, order, _BATCH_TOKENS.get(device.type, 16_384)):
            inputs = build_tensors(tokens, batch)
            inputs.pop("labels")
            logits = module(**{name: tensor.to(device) for name, tensor in inputs.items()})["logits"]
            found[batch] = logits.float().cpu().numpy()
            done += len(batch)
            told(done)
    if not np.isfinite(found[chosen]).all():
        raise ModelError("The head's decisions are no numbers; train it in float32, or with lower rates.")
    return found[chosen]


def compute_accuracies(logits: NDArray[np.float32], tokens: TokenisedPairs) -> list[Accuracy]:
    """The accuracy in each language, and if there are several that of all pairs."""
    correct = 100.0 * (logits.argmax(axis=1) == tokens.labels)
    found = []
    for number, language in enumerate(tokens.names):
        found.append(_compute_accuracy(language, correct, tokens, tokens.languages == number))
    if len(found) > 1:
        found.append(_compute_accuracy("", correct, tokens, np.ones(len(tokens), dtype=bool)))
    return found


def compute_validation_metrics(module: nn.Module, tokens: TokenisedPairs, precision: torch.dtype) -> dict[str, float]:
    """The loss and accuracy on pairs that are set aside during training."""
    logits = compute_logits(module, tokens, precision=precision)
    labels = torch.from_numpy(tokens.labels.astype(np.int64))
    return {
        "loss": float(cross_entropy(torch.from_numpy(logits), labels)),
        "accuracy": float(100 * (logits.argmax(axis=1) == tokens.labels).mean()),
    }


def compute_language_mean(found: Sequence[Accuracy]) -> float:
    """The mean of the accuracies of the languages."""
    return float(np.mean([accuracy.value for accuracy in found if accuracy.language]))


def _compute_accuracy(
    language: str, correct: NDArray[np.float64], tokens: TokenisedPairs, chosen: NDArray[np.bool_]
) -> Accuracy:
    articles = tokens.articles[chosen].astype(object)
    share = Share.from_values(correct[chosen], articles)
    low, high = share.interval()
    positive = correct[chosen & (tokens.labels == 1)]
    return Accuracy(
        language=language,
        value=share.value,
        low=low,
        high=high,
        pairs=int(chosen.sum()),
        articles=len(set(articles)),
        positive=float(positive.mean()) if len(positive) else None,
    )


def _group_batches(lengths: NDArray[np.integer], order: NDArray[np.int64], limit: int) -> list[NDArray[np.int64]]:
    """Consecutive pairs of at most `limit` tokens with padding; `order` is by length."""
    batches: list[NDArray[np.int64]] = []
    start = 0
    for end in range(1, len(order) + 1):
        if end == len(order) or (end + 1 - start) * int(lengths[order[end]]) > limit:
            batches.append(order[start:end])
            start = end
    return batches
