"""The pairs of a training as token ids: those of each pass, those set aside, and the held-out ones."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tiltmeter.errors import UsageError
from tiltmeter.models.checkpoint_model import CheckpointModel
from tiltmeter.models.head_config import HeadConfig
from tiltmeter.models.tokenizer_text import TokenizerText
from tiltmeter.training.batches import TrainingBatches
from tiltmeter.training.pairs_files import ArticlePairs
from tiltmeter.training.tokenised_pairs import (
    CHUNK,
    TokenisedPairs,
    compute_article_numbers,
    tokenise_pairs,
    with_fresh_negatives,
)
from tiltmeter.training.training_folder import TrainingFolder
from tiltmeter.training.training_recipe import TrainingRecipe

# One article in so many of the training's is set aside, to see how the training goes; at most so many pairs.
SET_ASIDE = 100
_MOST_SET_ASIDE = 2_000
# Shows the progress of a step with this name.
Watch = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]


def ignore_progress(_name: str, _total: int) -> AbstractContextManager[Callable[[int], None]]:
    """Shows nothing."""
    return nullcontext(lambda _done: None)


@dataclass(frozen=True)
class TrainingTokens:
    """The pairs of a training as token ids."""

    batches: TrainingBatches
    set_aside: TokenisedPairs
    held_out: TokenisedPairs


def tokenise_training(
    data: ArticlePairs,
    space: TrainingFolder,
    base: CheckpointModel,
    head: HeadConfig,
    recipe: TrainingRecipe,
    seed: int,
    watch: Watch,
) -> TrainingTokens:
    """Write the pairs of a training as token ids, or open those that were written before."""
    text = TokenizerText(base.tokenizer, base.config, base.kind)

    def write(name: str, batches: Iterator[pa.RecordBatch], total: int, **more: Any) -> TokenisedPairs:
        with watch(f"tokens of {name}", total) as told:
            return tokenise_pairs(batches, space.folder / name, text, head, told=told, **more)

    size = data.train.count_rows()
    passes: list[TokenisedPairs] = []
    for number in range(recipe.passes):
        if number and not recipe.fresh_negatives:
            passes.append(passes[0])
        else:
            pairs = _read_training_pairs(data, seed, number)
            passes.append(write(f"pass-{number + 1}", pairs, size, prefixes=head.prefixes or None))
    set_aside = write("set-aside", _read_validation_pairs(data, seed), size // SET_ASIDE)
    held_out = write("held-out", data.held_out.to_batches(batch_size=CHUNK), data.held_out.count_rows())
    for name, found in (("training", passes[0]), ("held-out", held_out)):
        if not len(found):
            raise UsageError(f"{data.folder} has no {name} pairs; make pairs of more articles.")
    return TrainingTokens(
        TrainingBatches(passes, recipe.batch, seed=seed, by_length=recipe.by_length), set_aside, held_out
    )


def _read_training_pairs(data: ArticlePairs, seed: int, number: int) -> Iterator[pa.RecordBatch]:
    """The pairs of a pass, with no sentence of the pairs that are set aside."""
    pairs = _filter_articles(data, set_aside=False)
    if number:
        yield from with_fresh_negatives(pairs, seed, number)
        return
    aside = {
        sentence
        for batch in _read_validation_pairs(data, seed)
        for column in ("first", "second")
        for sentence in batch[column].to_pylist()
    }
    yield from with_fresh_negatives(pairs, seed, number, only=aside)


def _read_validation_pairs(data: ArticlePairs, seed: int) -> Iterator[pa.RecordBatch]:
    """The pairs that are set aside; if they are of several articles, with no sentence of others."""
    return with_fresh_negatives(_take_rows(_filter_articles(data, set_aside=True), _MOST_SET_ASIDE), seed, 0)


def _filter_articles(data: ArticlePairs, *, set_aside: bool) -> Iterator[pa.RecordBatch]:
    """The pairs whose first sentence is of an article that is set aside, or of another."""
    for batch in data.train.to_batches(batch_size=CHUNK):
        chosen = [(number % SET_ASIDE == 0) == set_aside for number in compute_article_numbers(batch)]
        yield batch.filter(pa.array(chosen, pa.bool_()))


def _take_rows(batches: Iterator[pa.RecordBatch], most: int) -> Iterator[pa.RecordBatch]:
    left = most
    for batch in batches:
        if left <= 0:
            return
        yield batch.slice(0, left)
        left -= min(left, len(batch))
