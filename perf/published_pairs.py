"""A reimplementation of the scoring of sentence pairs by Nangia et al. (2020) and Steinborn et al. (2022).

It keeps the properties that make the algorithm slow: one pair and sentence at a time, a masked copy of the sentence for
every shared token, logits at every position of every copy (although one is read), separate softmaxes for probabilities
and their logarithms, a sorted vocabulary to find the most probable token, and a Python loop that fetches one
probability at a time. In its favour, several copies are batched (Nangia et al. use batches of one, Steinborn et al. all
copies of a sentence), and the model does not return attention weights and hidden states, unlike in the code of
Steinborn et al.

Softmaxes are taken at the masks or, with `everywhere`, at every position, as in the released code of StereoSet and of
GEST for masked models.
"""

from collections.abc import Sequence
from difflib import SequenceMatcher

import numpy as np
import torch

from perf.outcome import Outcome
from perf.published_way import PublishedModel
from tiltmeter.forms.pairs import PairItem


def pairs_masked(items: Sequence[PairItem], model: PublishedModel, *, everywhere: bool = False) -> Outcome:
    """Mask the shared tokens one by one; return sums of log-probabilities, S_JSD, and counts of top tokens."""
    numbers: dict[str, list[float]] = {}
    scores: dict[str, float] = {}
    for item in items:
        more, less = (model.tokenize([sentence])["input_ids"][0] for sentence in (item.more, item.less))
        places_more, places_less = _shared(more.tolist(), less.tolist())
        if not places_more:
            continue
        for sentence, ids, places in (("more", more, places_more), ("less", less, places_less)):
            key = f"{item.id}/{sentence}"
            numbers[key], scores[key], hits = _read(model, ids, places, everywhere=everywhere)
            scores[f"{key}/hits_{sentence}"] = float(hits)
        distance = float(np.mean(_distance(numbers[f"{item.id}/more"]) - _distance(numbers[f"{item.id}/less"])))
        scores[item.id] = float(len(places_more))
        scores[f"{item.id}/s_jsd"] = distance
        scores[f"{item.id}/b_s_jsd"] = float(distance < 0)
    return model.outcome(numbers, scores)


def _shared(more: list[int], less: list[int]) -> tuple[list[int], list[int]]:
    """Return the positions of the shared tokens in both sentences, without the special first and last tokens."""
    places_more: list[int] = []
    places_less: list[int] = []
    for kind, start, end, other_start, other_end in SequenceMatcher(None, more, less).get_opcodes():
        if kind == "equal":
            places_more += range(start, end)
            places_less += range(other_start, other_end)
    return places_more[1:-1], places_less[1:-1]


def _read(
    model: PublishedModel, ids: torch.Tensor, places: list[int], *, everywhere: bool
) -> tuple[list[float], float, int]:
    """Return the probabilities of masked tokens, the sum of their logarithms, and the number of top tokens.

    Logits at the masks are copied for each softmax, as in the released code.
    """
    probabilities: list[float] = []
    log_likelihood, hits = 0.0, 0
    for batch in model.batches(places):
        lines, masked = torch.arange(len(batch), device=model.device), torch.tensor(batch, device=model.device)
        copies = ids.repeat(len(batch), 1)
        copies[lines, masked] = model.tokenizer.mask_token_id
        logits = model.module(input_ids=copies).logits
        at_masks = logits.softmax(dim=-1)[lines, masked] if everywhere else logits[lines, masked].softmax(dim=-1)
        logs_at_masks = logits[lines, masked].log_softmax(dim=-1)
        ranking = logs_at_masks.sort(dim=-1, descending=True).indices
        hits += int(torch.where(ranking == ids[masked][:, None], 1, 0)[:, 0].sum())
        log_likelihood += sum(logs_at_masks[lines, ids[masked]]).item()
        probabilities += [at_masks[line, ids[position]].item() for line, position in enumerate(batch)]
    return probabilities, log_likelihood, hits


def _distance(probabilities: list[float]) -> np.ndarray:
    """Return the Jensen-Shannon distance to the true token (Eq. 3 of the paper)."""
    p = np.array(probabilities)
    return np.sqrt((p * np.log2(p) - (p + 1) * np.log2(p + 1) + 2) / 2)
