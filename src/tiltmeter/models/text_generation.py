"""Text generation with a causal model; a generated text does not depend on the other prompts in the batch.

If the model passes a check, `tiltmeter.engine.decoding` generates the texts. Otherwise, the method `generate` of
transformers generates them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import nn
from transformers import GenerationConfig, LogitsProcessor

from tiltmeter.engine.attention_masks import AttentionMasks
from tiltmeter.engine.decoding import Decoder, TextRequest
from tiltmeter.engine.decoding_check import DecodingCheck, check_decoder
from tiltmeter.engine.grouped_attention import use_grouped_attention
from tiltmeter.engine.input_limits import list_config_entries
from tiltmeter.engine.token_choice import TokenChoice, split_seed
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
# In float32, a choice between two tokens is computed again without a batch if their logits differ by less than this
# multiple of the largest difference in the check, and at least by less than the second number.
_MARGIN_FACTOR, _MIN_MARGIN = 16, 2e-4
# Maximum size of the cache of a batch, maximum share of the free memory of a GPU, and maximum number of rows.
_CPU_CACHE_BYTES, _CACHE_BYTES, _CACHE_SHARE = 2**29, 2**35, 0.6
_ROWS = 512


@dataclass(frozen=True, slots=True)
class SeededPrompt:
    """The tokens of a prompt, and the seed of the random numbers for the generated text."""

    ids: Ids
    seed: int


@dataclass(kw_only=True)
class TextGenerator:
    """A loaded causal model that generates texts; `ends` are the ids of the tokens that end a text.

    In float32, the texts are those of the model without batches and without a cache (`plain`): if the scores of two
    tokens are so close that rounding could change the choice, they are computed again without batch and cache.

    In a batch of `generate`, the shape depends only on the length of its prompts, and an incomplete batch is filled
    with copies of its prompts. In a batch of another shape, a device might add numbers in another order, which would
    change the last digits of probabilities and sometimes the generated text.
    """

    name: str
    module: nn.Module
    device: torch.device
    dtype: torch.dtype
    ends: Sequence[int]
    padding: int
    vocabulary: int
    max_length: int | None
    plain: bool = False

    def __post_init__(self) -> None:
        # generate() takes missing options from the model's own config, which may contain penalties and limits.
        self.module.generation_config = GenerationConfig()  # type: ignore[no-untyped-call, assignment]

    def generate_texts(
        self, prompts: Sequence[SeededPrompt], *, longest: int, temperature: float
    ) -> Iterator[tuple[Sequence[int], list[list[int]]]]:
        """Yield the indices of some prompts and the generated tokens, as texts are finished."""
        decoded = [place for place in range(len(prompts)) if self._can_decode(len(prompts[place].ids) + longest)]
        yield from self._decode_texts(prompts, decoded, longest, temperature)
        left = set(range(len(prompts))) - set(decoded)
        shapes: dict[tuple[int, int], list[int]] = {}
        for place in sorted(left, key=lambda place: (-len(prompts[place].ids), place)):
            shapes.setdefault(self._compute_batch_shape(len(prompts[place].ids), longest), []).append(place)
        for (width, rows), places in shapes.items():
            for start in range(0, len(places), rows):
                batch = places[start : start + rows]
                filled = [prompts[place] for place in (batch * rows)[:rows]]
                found = self._generate_batch(filled, width, longest, temperature)
                yield batch, [_cut_at_end(tokens, self.ends) for tokens in found[: len(batch)]]

    @property
    def has_batches(self) -> bool:
        """Whether several texts are generated at once."""
        return not self.plain and (self.supports_decoder or self.supports_batches)

    @property
    def supports_decoder(self) -> bool:
        """Whether `Decoder` gives the same probabilities as the model without batches and without a cache."""
        return self._check.error <= _TOLERANCE.get(self.dtype, _TOLERANCE_OTHERWISE)

    @cached_property
    def _decoder(self) -> Decoder:
        use_grouped_attention(self.module)
        return Decoder(
            module=self.module,
            device=self.device,
            ends=self.ends,
            padding=self.padding,
            masks=AttentionMasks.from_config(self.module.config, causal=True),
            recompute_logits=self._compute_plain_logits,
        )

    @cached_property
    @silence_transformers()
    def _check(self) -> DecodingCheck:
        try:
            tolerance = _TOLERANCE.get(self.dtype, _TOLERANCE_OTHERWISE)
            return check_decoder(self._decoder, self.vocabulary, self.max_length, tolerance)
        except (RuntimeError, LookupError, ValueError, TypeError, AttributeError, AssertionError):
            return DecodingCheck(float("inf"), None)

    def _can_decode(self, length: int) -> bool:
        """Return whether `Decoder` generates texts of this length in tokens, including the prompt."""
        if self.plain or not self.supports_decoder:
            return False
        return length <= min(self._position_switch_length, self._check.longest or self._position_switch_length)

    @silence_transformers()
    def _decode_texts(
        self, prompts: Sequence[SeededPrompt], places: Sequence[int], longest: int, temperature: float
    ) -> Iterator[tuple[Sequence[int], list[list[int]]]]:
        if not places:
            return
        requests = [TextRequest(prompts[place].ids, longest, prompts[place].seed) for place in places]
        is_exact = self.dtype not in _TOLERANCE
        margin = max(_MIN_MARGIN, _MARGIN_FACTOR * self._check.error) if is_exact else 0.0
        rows = self._compute_row_count(max(len(request.ids) for request in requests) + longest)
        try:
            for finished in self._decoder.generate_texts(requests, TokenChoice(temperature, margin), rows=rows):
                yield [places[index] for index in finished], [*finished.values()]
        except ArithmeticError as error:
            raise self._build_number_error() from error

    def _compute_row_count(self, columns: int) -> int:
        limit: float = _CPU_CACHE_BYTES
        if self.device.type == "cuda":
            limit = min(_CACHE_BYTES, _CACHE_SHARE * torch.cuda.mem_get_info(self.device)[0])
        return max(1, min(_ROWS, int(limit // (columns * self._decoder.column_bytes))))

    def _compute_plain_logits(self, ids: Sequence[int]) -> torch.Tensor:
        """Return the logits of the token after `ids`, without a batch and without a cache."""
        output = self._call_model(
            [ids], len(ids), None, use_cache=False, max_new_tokens=1, output_logits=True, return_dict_in_generate=True
        )
        logits: torch.Tensor = output.logits[0][0]
        return logits

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
            self.plain
            or width + longest > min(self._position_switch_length, self.max_length or self._position_switch_length)
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
        choice = _SeededChoice(self, [prompt.seed for prompt in prompts], temperature)
        made = self._call_model(
            rows, width, choice, max_new_tokens=longest, eos_token_id=list(self.ends), use_cache=not self.plain
        )
        tokens: list[list[int]] = made[:, width:].tolist()
        return tokens

    def _build_number_error(self) -> ModelError:
        return ModelError(f"{self.name} returns probabilities that are not numbers; try --dtype float32.")

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


class _SeededChoice(LogitsProcessor):
    """Chooses one token for each row with the row's own random numbers, and forbids all other tokens.

    At temperature 0, the scores are not changed, so that the most probable token is generated.
    """

    def __init__(self, generator: TextGenerator, seeds: Sequence[int], temperature: float) -> None:
        self._generator = generator
        self._choice = TokenChoice(temperature)
        self._seeds = torch.tensor([split_seed(seed) for seed in seeds], dtype=torch.int32, device=generator.device)
        self._step = 0

    def __call__(self, _input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        steps = torch.full((len(scores),), self._step, dtype=torch.int32, device=scores.device)
        self._step += 1
        chosen = self._choice.choose_tokens(scores, self._seeds.to(scores.device), steps)
        if not chosen.is_number.all():
            raise self._generator._build_number_error()
        if not self._choice.temperature:
            return scores
        return torch.full_like(scores, -float("inf")).scatter_(1, chosen.tokens[:, None], 0.0)


def _cut_at_end(tokens: Sequence[int], ends: Sequence[int]) -> list[int]:
    """Return the tokens up to and including the first token that is in `ends`.

    >>> _cut_at_end([5, 6, 2, 2, 2], [2])
    [5, 6, 2]
    """
    length = next((place + 1 for place, token in enumerate(tokens) if token in ends), len(tokens))
    return list(tokens[:length])
