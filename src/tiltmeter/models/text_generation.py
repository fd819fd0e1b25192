"""Text generation with a causal model; a generated text does not depend on the other prompts in the batch."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import nn
from transformers import GenerationConfig, LogitsProcessor

from tiltmeter.engine.input_limits import list_config_entries
from tiltmeter.errors import ModelError
from tiltmeter.models.transformers_logging import silence_transformers
from tiltmeter.questions import Ids

# Maximum number of tokens of prompts and texts in a batch, and maximum number of rows on a CPU, where more rows gain
# little.
_BATCH_TOKENS = 8_192
_CPU_ROWS = 8
# The length of a padded prompt is a multiple of this number.
_GRID = 32
# Lengths in tokens of the two prompts that check whether a batch changes the probabilities for a prompt.
_CHECKED_LENGTHS = (5, 37)
# Maximum difference between log-probabilities that counts as rounding.
_TOLERANCE = {torch.float16: 0.5, torch.bfloat16: 0.5}
_TOLERANCE_OTHERWISE = 1e-3


@dataclass(frozen=True, slots=True)
class SeededPrompt:
    """The tokens of a prompt, and the seed of the random numbers for the generated text."""

    ids: Ids
    seed: int


@dataclass(kw_only=True)
class TextGenerator:
    """A loaded causal model that generates texts; `ends` are the ids of the tokens that end a text.

    The shape of a batch depends only on the length of its prompts, and an incomplete batch is filled with copies of its
    prompts. In a batch of another shape, a device might add numbers in another order, which would change the last
    digits of probabilities and sometimes the generated text.
    """

    name: str
    module: nn.Module
    device: torch.device
    dtype: torch.dtype
    ends: Sequence[int]
    padding: int
    vocabulary: int
    max_length: int | None

    def __post_init__(self) -> None:
        # generate() takes missing options from the model's own config, which may contain penalties and limits.
        self.module.generation_config = GenerationConfig()  # type: ignore[no-untyped-call, assignment]

    def generate_texts(
        self, prompts: Sequence[SeededPrompt], *, longest: int, temperature: float
    ) -> Iterator[tuple[Sequence[int], list[list[int]]]]:
        """Yield for each batch the indices of its prompts and the generated tokens; long prompts come first."""
        shapes: dict[tuple[int, int], list[int]] = {}
        for place in sorted(range(len(prompts)), key=lambda place: -len(prompts[place].ids)):
            shapes.setdefault(self._compute_batch_shape(len(prompts[place].ids), longest), []).append(place)
        for (width, rows), places in shapes.items():
            for start in range(0, len(places), rows):
                batch = places[start : start + rows]
                filled = [prompts[place] for place in (batch * rows)[:rows]]
                found = self._generate_batch(filled, width, longest, temperature)
                yield batch, [_cut_at_end(tokens, self.ends) for tokens in found[: len(batch)]]

    @cached_property
    def supports_batches(self) -> bool:
        """Whether the probabilities for a prompt are independent of padding and of the other prompts in the batch."""
        lengths = [min(length, (self.max_length or length + 2) - 2) for length in _CHECKED_LENGTHS]
        short, long = ([(7 * place + 3) % self.vocabulary for place in range(length)] for length in lengths)
        try:
            alone = self._compute_log_probs([short], len(short))
            batched = self._compute_log_probs([short, long], len(long))
        except (RuntimeError, IndexError, ValueError, TypeError, AssertionError):
            return False
        tolerance = _TOLERANCE.get(self.dtype, _TOLERANCE_OTHERWISE)
        return bool((alone - batched).abs().max() <= tolerance)

    def _compute_batch_shape(self, length: int, longest: int) -> tuple[int, int]:
        """Return the width in tokens and the number of rows of a batch for prompts of this length.

        `longest` is the maximum number of generated tokens.
        """
        width = -(-length // _GRID) * _GRID
        if (
            width + longest > min(self._position_switch_length, self.max_length or self._position_switch_length)
            or not self.supports_batches
        ):
            return length, 1
        rows = max(1, _BATCH_TOKENS // (width + longest))
        return width, min(rows, _CPU_ROWS) if self.device.type == "cpu" else rows

    @cached_property
    def _position_switch_length(self) -> float:
        """The row length in tokens from which all rows of a batch get another position encoding; infinite if unused."""
        config: Any = self.module.config
        lengths = [
            value for name, value in list_config_entries(config.to_dict()) if name == "original_max_position_embeddings"
        ]
        return min((length for length in lengths if isinstance(length, int)), default=float("inf"))

    def _generate_batch(
        self, prompts: Sequence[SeededPrompt], width: int, longest: int, temperature: float
    ) -> list[list[int]]:
        rows = [prompt.ids for prompt in prompts]
        choice = _TokenChoice(self.name, [prompt.seed for prompt in prompts], temperature)
        made = self._call_model(rows, width, choice, max_new_tokens=longest, eos_token_id=list(self.ends))
        tokens: list[list[int]] = made[:, width:].tolist()
        return tokens

    def _compute_log_probs(self, rows: Sequence[Sequence[int]], width: int) -> torch.Tensor:
        """Generate two tokens; return the log-probabilities of the vocabulary for both tokens in the first row."""
        output = self._call_model(rows, width, None, max_new_tokens=2, output_logits=True, return_dict_in_generate=True)
        return torch.stack([logits[0].log_softmax(-1) for logits in output.logits])

    @silence_transformers()
    @torch.inference_mode()
    def _call_model(
        self, rows: Sequence[Sequence[int]], width: int, choice: LogitsProcessor | None, **settings: Any
    ) -> Any:
        padded = [[self.padding] * (width - len(row)) + list(row) for row in rows]
        mask = [[0] * (width - len(row)) + [1] * len(row) for row in rows]
        config = GenerationConfig(  # type: ignore[no-untyped-call]
            do_sample=False, num_beams=1, pad_token_id=self.padding, **settings
        )
        # The method of the class is used, because a model with a folder custom_generate/ replaces the method of the
        # object.
        generate: Any = type(self.module).generate  # type: ignore[attr-defined]
        return generate(
            self.module,
            torch.tensor(padded, device=self.device),
            attention_mask=torch.tensor(mask, device=self.device),
            generation_config=config,
            logits_processor=[choice] if choice else [],
        )


class _TokenChoice(LogitsProcessor):
    """Draws one token for each row with the row's own random numbers, and forbids all other tokens.

    At temperature 0, the scores are not changed, so that the most probable token is generated.
    """

    def __init__(self, name: str, seeds: Sequence[int], temperature: float) -> None:
        self._name = name
        self._draws = [random.Random(seed) for seed in seeds]
        self._temperature = temperature

    def __call__(self, _input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        if scores.isnan().any():
            raise ModelError(f"{self._name} returns probabilities that are not numbers; try --dtype float32.")
        if not self._temperature:
            return scores
        wide = scores if scores.device.type == "mps" else scores.double()
        shares = (wide / self._temperature).softmax(-1).cumsum(-1)
        draws = torch.tensor([[draw.random()] for draw in self._draws], dtype=shares.dtype, device=shares.device)
        # Rounding can make the last cumulative sum smaller than 1. Each draw is multiplied by this sum, so that it
        # always selects a token.
        tokens = torch.searchsorted(shares, draws * shares[:, -1:], right=True).clamp_max(scores.shape[-1] - 1)
        return torch.full_like(scores, -float("inf")).scatter_(1, tokens, 0.0)


def _cut_at_end(tokens: Sequence[int], ends: Sequence[int]) -> list[int]:
    """Return the tokens up to and including the first token that is in `ends`.

    >>> _cut_at_end([5, 6, 2, 2, 2], [2])
    [5, 6, 2]
    """
    length = next((place + 1 for place, token in enumerate(tokens) if token in ends), len(tokens))
    return list(tokens[:length])
