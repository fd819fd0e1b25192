"""The choice of the next token: the most probable token, or a random token with the random numbers of the text."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

# Multipliers of hash functions: the golden ratio, and the finalizer of MurmurHash3.
_GOLDEN, _FIRST, _SECOND = (number - 2**32 for number in (0x9E3779B9, 0x85EBCA6B, 0xC2B2AE35))


class ChosenTokens(NamedTuple):
    """The tokens that are chosen for the rows of a batch.

    `is_close` tells whether rounding could change the choice, and `is_number` whether all scores are numbers.
    """

    tokens: Tensor
    is_close: Tensor
    is_number: Tensor


@dataclass(frozen=True, slots=True)
class TokenChoice:
    """Chooses tokens at a temperature; at temperature 0, the most probable token.

    A random token is the token with the largest sum of its logit, divided by the temperature, and random noise that
    has the Gumbel distribution. The probabilities are those of the softmax. The noise of a token depends only on the
    seed of the text, the place in the text and the token, so that the choice does not depend on the batch. It changes
    with rounding only if two sums are nearly equal; choices whose sums differ by less than `margin` logits are marked.
    """

    temperature: float
    margin: float = 0.0

    def choose_tokens(self, logits: Tensor, seeds: Tensor, steps: Tensor) -> ChosenTokens:
        """Return the chosen token of each row; `seeds` is a tensor of rows × 2, `steps` the places in the texts."""
        scores = self.compute_scores(logits, seeds, steps)
        largest, tokens = scores.max(-1)
        is_close = torch.zeros_like(tokens, dtype=torch.bool)
        if self.margin:
            least = largest - self.margin / (self.temperature or 1)
            is_close = (scores >= least[:, None]).sum(-1) > 1
        return ChosenTokens(tokens, is_close, ~largest.isnan())

    def compute_scores(self, logits: Tensor, seeds: Tensor, steps: Tensor) -> Tensor:
        """Return the scores of all tokens in float32; the token with the largest score is chosen."""
        scores = logits.float()
        if not self.temperature:
            return scores
        scores = scores / self.temperature
        scores += draw_noise(seeds, steps, scores.shape[1])
        return scores


def split_seed(seed: int) -> tuple[int, int]:
    """Return the two 32-bit integers of a 64-bit seed.

    >>> split_seed(2**63 + 5)
    (-2147483648, 5)
    """
    high, low = seed >> 32 & 0xFFFFFFFF, seed & 0xFFFFFFFF
    return high - (high >> 31 << 32), low - (low >> 31 << 32)


def draw_noise(seeds: Tensor, steps: Tensor, vocabulary: int) -> Tensor:
    """Return random numbers with the Gumbel distribution, as a tensor of rows × vocabulary.

    They are computed by a hash function from the seed, the step and the token.
    """
    tokens = torch.arange(vocabulary, dtype=torch.int32, device=seeds.device)
    first, second = (_mix(seeds[:, index] + steps.int() * factor) for index, factor in ((0, _GOLDEN), (1, _FIRST)))
    state = _mix((tokens * _GOLDEN)[None] ^ first[:, None])
    state = _mix(state.bitwise_xor_(second[:, None]))
    # Large noise comes from small shares, which float32 represents precisely.
    shares = state.bitwise_and_(0x7FFFFFFF).float().add_(0.5).mul_(2.0**-31)
    return shares.neg_().log1p_().neg_().log_().neg_()


def _mix(state: Tensor) -> Tensor:
    # The shift of signed integers keeps the sign, so the copies of the sign are removed.
    state = (state >> 16).bitwise_and_(0xFFFF).bitwise_xor_(state).mul_(_FIRST)
    state = (state >> 13).bitwise_and_(0x7FFFF).bitwise_xor_(state).mul_(_SECOND)
    return (state >> 16).bitwise_and_(0xFFFF).bitwise_xor_(state)
