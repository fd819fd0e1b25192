"""The pairs of a training as token ids: those of each pass, those set aside, and the held-out ones."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tiltmeter.errors import UsageError
from tiltmeter.models.head_config import HeadConfig
from tiltmeter.models.loading import CheckpointModel
from tiltmeter.models.text import TokenizerText
from tiltmeter.progress.progress import ShowProgress
from tiltmeter.training.batches import Batches
from tiltmeter.training.pairs_files import ArticlePairs
from tiltmeter.training.tokens import CHUNK, TokenisedPairs, article_numbers, tokenise, with_fresh_negatives
from tiltmeter.training.training_recipe import TrainingRecipe
from tiltmeter.training.workspace import Workspace

# One article in so many of the training's is set aside, to see how the training goes; at most so many pairs.
SET_ASIDE = 100
_MOST_SET_ASIDE = 2_000


@dataclass(frozen=True)
class TrainingTokens:
    """The pairs of a training as token ids."""

    batches: Batches
    set_aside: TokenisedPairs
    held_out: TokenisedPairs


def tokenise_training(
    data: ArticlePairs,
    space: Workspace,
    base: CheckpointModel,
    head: HeadConfig,
    recipe: TrainingRecipe,
    seed: int,
    watch: ShowProgress,
) -> TrainingTokens:
    """Write the pairs of a training as token ids, or open those that were written before."""
    text = TokenizerText(base.tokenizer, base.config, base.kind)

    def write(name: str, batches: Iterator[pa.RecordBatch], total: int, **more: Any) -> TokenisedPairs:
        with watch(f"tokens of {name}") as report:
            return tokenise(batches, space.folder / name, text, head, total=total, report=report, **more)

    size = data.train.count_rows()
    passes: list[TokenisedPairs] = []
    for number in range(recipe.passes):
        if number and not recipe.fresh_negatives:
            passes.append(passes[0])
        else:
            pairs = _training_pairs(data, seed, number)
            passes.append(write(f"pass-{number + 1}", pairs, size, prefixes=head.prefixes or None))
    set_aside = write("set-aside", _set_aside_pairs(data, seed), size // SET_ASIDE)
    held_out = write("held-out", data.held_out.to_batches(batch_size=CHUNK), data.held_out.count_rows())
    for name, found in (("training", passes[0]), ("held-out", held_out)):
        if not len(found):
            raise UsageError(f"{data.folder} has no {name} pairs; make pairs of more articles.")
    return TrainingTokens(Batches(passes, recipe.batch, seed=seed, by_length=recipe.by_length), set_aside, held_out)


def _training_pairs(data: ArticlePairs, seed: int, number: int) -> Iterator[pa.RecordBatch]:
    """The pairs of a pass, with no sentence of the pairs that are set aside."""
    pairs = _of_articles(data, set_aside=False)
    if number:
        yield from with_fresh_negatives(pairs, seed, number)
        return
    aside = {
        sentence
        for batch in _set_aside_pairs(data, seed)
        for column in ("first", "second")
        for sentence in batch[column].to_pylist()
    }
    yield from with_fresh_negatives(pairs, seed, number, only=aside)


def _set_aside_pairs(data: ArticlePairs, seed: int) -> Iterator[pa.RecordBatch]:
    """The pairs that are set aside; if they are of several articles, with no sentence of others."""
    return with_fresh_negatives(_first_rows(_of_articles(data, set_aside=True), _MOST_SET_ASIDE), seed, 0)


def _of_articles(data: ArticlePairs, *, set_aside: bool) -> Iterator[pa.RecordBatch]:
    """The pairs whose first sentence is of an article that is set aside, or of another."""
    for batch in data.train.to_batches(batch_size=CHUNK):
        chosen = [(number % SET_ASIDE == 0) == set_aside for number in article_numbers(batch)]
        yield batch.filter(pa.array(chosen, pa.bool_()))


def _first_rows(batches: Iterator[pa.RecordBatch], most: int) -> Iterator[pa.RecordBatch]:
    left = most
    for batch in batches:
        if left <= 0:
            return
        yield batch.slice(0, left)
        left -= min(left, len(batch))
