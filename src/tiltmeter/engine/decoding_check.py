"""A check whether a model's logits in the batches of a `Decoder` equal those of each text alone and without a cache."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from tiltmeter.engine.batch_effects import has_experts
from tiltmeter.engine.decoding import Decoder, TextRequest
from tiltmeter.engine.speedups.norms import fuse_norms
from tiltmeter.engine.token_choice import ChosenTokens
from tiltmeter.questions import Ids

# Pairs of the length of a prompt and the number of generated tokens. The prompts of a line have a common prefix. In a
# batch with fewer rows than prompts, texts leave the batch and others join it.
_SHAPES = (
    ((37, 4), (21, 2), (12, 3)),
    ((30, 2), (5, 5), (18, 3)),
)
_ROWS = 3
# For a mixture of experts, the number and the length of prompts that repeat one token, which is the work of one expert.
_REPEATING = 16
# Maximum length of a prompt that is longer than the attention window of the model.
_LONGEST_ON_CPU, _LONGEST_ON_GPU = 192, 1_024


@dataclass(frozen=True, slots=True)
class DecodingCheck:
    """The result of a check.

    `error` is the largest difference of a log-probability; infinity if the model does not support the batches. In half
    precision, which rounds single log-probabilities coarsely, it is the largest mean over the vocabulary.

    Texts of more than `longest` tokens are not covered by the check; None means that there is no such limit.
    """

    error: float
    longest: int | None


@dataclass(slots=True)
class _RecordingChoice:
    """Chooses tokens that are known in advance, and keeps the log-probabilities at which they were chosen."""

    vocabulary: int
    margin: float = 0.0
    found: dict[tuple[int, int], Tensor] = field(default_factory=dict)

    def choose_tokens(self, logits: Tensor, seeds: Tensor, steps: Tensor) -> ChosenTokens:
        indices, places = seeds[:, 1].tolist(), steps.tolist()
        for index, place, row in zip(indices, places, logits.float().log_softmax(-1), strict=True):
            self.found[index, place] = row
        tokens = [
            compute_known_token(index, place, self.vocabulary) for index, place in zip(indices, places, strict=True)
        ]
        chosen = torch.tensor(tokens, device=logits.device)
        return ChosenTokens(chosen, torch.zeros_like(chosen, dtype=torch.bool), torch.isfinite(logits).any(-1))


def compute_known_token(index: int, place: int, vocabulary: int) -> int:
    """Return the token that follows the prompt `index` in the check, after `place` other tokens."""
    return (11 * place + index + 2) % vocabulary


def check_decoder(decoder: Decoder, vocabulary: int, max_length: int | None, tolerance: float) -> DecodingCheck:
    """Return the result of the check; set the form of the attention mask that gives the smallest difference."""
    window = min((size for size in (decoder.masks.window, decoder.masks.chunk) if size), default=None)
    highest = _LONGEST_ON_CPU if decoder.device.type == "cpu" else _LONGEST_ON_GPU
    crossed = None if window is None or window + 8 > min(highest, max_length or highest) else window + 8
    requests = _build_requests(decoder, vocabulary, max_length, crossed)
    expected = _compute_log_probs_alone(decoder, requests, vocabulary)
    # In half precision, norms in one kernel change numbers less than the rounding of transformers' own norms.
    fused = fuse_norms(decoder.module) if decoder.device.type == "cuda" and decoder.is_half_precision else []
    error = _try_mask_forms(decoder, requests, expected, vocabulary, tolerance, crossed)
    if fused and error > tolerance:
        for module in fused:
            del module.forward  # removes the instance attribute, so that the method of the class is used again
        error = _try_mask_forms(decoder, requests, expected, vocabulary, tolerance, crossed)
    return DecodingCheck(error, window if crossed is None else None)


def _try_mask_forms(
    decoder: Decoder,
    requests: Sequence[TextRequest],
    expected: dict[tuple[int, int], Tensor],
    vocabulary: int,
    tolerance: float,
    crossed: int | None,
) -> float:
    """Return the smallest error of all forms of attention mask, and use this form."""
    error, best = float("inf"), decoder.masks
    # Windows are part of the masks even if the check does not reach them, as far as `longest`.
    for form in decoder.masks.list_mask_forms(crossed or 0):
        decoder.masks = replace(decoder.masks, form=form)
        found = _measure_error(decoder, requests, expected, vocabulary)
        if found < error:
            error, best = found, decoder.masks
        if error <= tolerance:
            break
    decoder.masks = best
    return error


def _build_requests(
    decoder: Decoder, vocabulary: int, max_length: int | None, crossed: int | None
) -> list[TextRequest]:
    shapes = [[*line] for line in _SHAPES]
    if crossed is not None:
        shapes[0][0] = (crossed, 4)
    requests: list[TextRequest] = []
    for line, factor in zip(shapes, (7, 5), strict=True):
        for length, longest in line:
            length = min(length, (max_length or length + longest) - longest)
            ids = tuple((factor * place + 3) % vocabulary for place in range(length))
            requests.append(TextRequest(ids, longest, len(requests)))
    if has_experts(decoder.module.config):
        for _ in range(_REPEATING):
            ids = (3 % vocabulary,) * min(_REPEATING, (max_length or _REPEATING + 2) - 2)
            requests.append(TextRequest(ids, 2, len(requests)))
    return requests


@torch.inference_mode()
def _compute_log_probs_alone(
    decoder: Decoder, requests: Sequence[TextRequest], vocabulary: int
) -> dict[tuple[int, int], Tensor]:
    expected = {}
    for index, request in enumerate(requests):
        known = [compute_known_token(index, place, vocabulary) for place in range(request.longest - 1)]
        ids: Ids = (*request.ids, *known)
        inputs = torch.tensor([ids], device=decoder.device)
        module: Any = decoder.module
        output = module(input_ids=inputs, attention_mask=torch.ones_like(inputs), use_cache=False)
        rows = output.logits[0, len(request.ids) - 1 :].float().log_softmax(-1).to(decoder.device)
        expected.update({(index, place): row for place, row in enumerate(rows)})
    return expected


def _measure_error(
    decoder: Decoder, requests: Sequence[TextRequest], expected: dict[tuple[int, int], Tensor], vocabulary: int
) -> float:
    """Return the largest difference between log-probabilities in batches and alone."""
    largest = 0.0
    try:
        for rows in (_ROWS, len(requests)):
            choice = _RecordingChoice(vocabulary)
            for _ in decoder.generate_texts(requests, choice, rows=rows):
                pass
            largest = max(
                largest,
                *(
                    _find_difference(expected[key], row, use_mean=decoder.is_half_precision)
                    for key, row in choice.found.items()
                ),
            )
        return largest
    except Exception:  # models raise various classes of errors for masks, caches or arguments that they do not support
        return float("inf")


def _find_difference(one: Tensor, other: Tensor, *, use_mean: bool) -> float:
    # Log-probabilities of minus infinity are equal, but their difference is not a number.
    differences = (one - other).abs().masked_fill(one == other, 0.0)
    return float((differences.mean() if use_mean else differences.max()).nan_to_num(float("inf")))
