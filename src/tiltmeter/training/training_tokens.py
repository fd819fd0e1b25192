"""The pairs of a training as token ids: the training pairs of each epoch, validation pairs and held-out pairs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tiltmeter.errors import UsageError
from tiltmeter.models.checkpoint_model import CheckpointModel
from tiltmeter.models.head_config import HeadConfig
from tiltmeter.models.tokenizer_text import TokenizerText
from tiltmeter.progress.progress import ShowProgress
from tiltmeter.training.batches import TrainingBatches
from tiltmeter.training.pairs_files import ArticlePairs
from tiltmeter.training.tokenised_pairs import (
    CHUNK,
    TokenisedPairs,
    replace_negative_pairs,
    tokenise_pairs,
)
from tiltmeter.training.training_folder import TrainingFolder
from tiltmeter.training.training_recipe import TrainingRecipe

# One in `SET_ASIDE` training articles is used for validation, with at most `_MAX_VALIDATION_PAIRS` pairs in total.
SET_ASIDE = 100
_MAX_VALIDATION_PAIRS = 2_000


@dataclass(frozen=True)
class TrainingTokens:
    """The pairs as token ids: `batches` for training, `set_aside` for validation, `held_out` for the final accuracy."""

    batches: TrainingBatches
    set_aside: TokenisedPairs
    held_out: TokenisedPairs


def tokenise_training(
    data: ArticlePairs,
    folder: TrainingFolder,
    base: CheckpointModel,
    head: HeadConfig,
    recipe: TrainingRecipe,
    seed: int,
    watch: ShowProgress,
) -> TrainingTokens:
    """Write the pairs of a training as token ids, or open the files if they already exist."""
    text = TokenizerText(base.tokenizer, base.config, base.kind)

    def write_tokens(name: str, batches: Iterator[pa.RecordBatch], total: int, **more: Any) -> TokenisedPairs:
        with watch(f"tokens of {name}") as report:
            return tokenise_pairs(batches, folder.folder / name, text, head, total=total, report=report, **more)

    size = data.train.count_rows()
    passes: list[TokenisedPairs] = []
    for number in range(recipe.passes):
        if number and not recipe.fresh_negatives:
            passes.append(passes[0])
        else:
            pairs = _read_training_pairs(data, seed, number)
            passes.append(write_tokens(f"pass-{number + 1}", pairs, size, prefixes=head.prefixes or None))
    set_aside = write_tokens("set-aside", _read_validation_pairs(data, seed), size // SET_ASIDE)
    held_out = write_tokens("held-out", data.held_out.to_batches(batch_size=CHUNK), data.held_out.count_rows())
    for name, tokens in (("training", passes[0]), ("held-out", held_out)):
        if not len(tokens):
            raise UsageError(f"{data.folder} has no {name} pairs; create pairs from more articles.")
    return TrainingTokens(
        TrainingBatches(passes, recipe.batch, seed=seed, by_length=recipe.by_length), set_aside, held_out
    )


def _read_training_pairs(data: ArticlePairs, seed: int, number: int) -> Iterator[pa.RecordBatch]:
    """Yield the training pairs of an epoch, without sentences of validation pairs; `number` is the epoch's index."""
    pairs = _filter_articles(data, set_aside=False)
    if number:
        yield from replace_negative_pairs(pairs, seed, number)
        return
    validation = {
        sentence
        for batch in _read_validation_pairs(data, seed)
        for column in ("first", "second")
        for sentence in batch[column].to_pylist()
    }
    yield from replace_negative_pairs(pairs, seed, number, only=validation)


def _read_validation_pairs(data: ArticlePairs, seed: int) -> Iterator[pa.RecordBatch]:
    """Return the validation pairs; with two or more validation articles, they contain no sentence of other articles."""
    return replace_negative_pairs(_take_rows(_filter_articles(data, set_aside=True), _MAX_VALIDATION_PAIRS), seed, 0)


def _filter_articles(data: ArticlePairs, *, set_aside: bool) -> Iterator[pa.RecordBatch]:
    """Yield the pairs whose first sentence is from a validation article (`set_aside`) or a training article."""
    for batch in data.train.to_batches(batch_size=CHUNK):
        selected = [(number % SET_ASIDE == 0) == set_aside for number in batch["group"].to_pylist()]
        yield batch.filter(pa.array(selected, pa.bool_()))


def _take_rows(batches: Iterator[pa.RecordBatch], limit: int) -> Iterator[pa.RecordBatch]:
    remaining = limit
    for batch in batches:
        if remaining <= 0:
            return
        yield batch.slice(0, remaining)
        remaining -= min(remaining, len(batch))
