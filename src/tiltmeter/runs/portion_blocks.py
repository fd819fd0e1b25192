"""The portions (data set, part and language) of a run, divided into blocks of items.

Before a model answers the first question, the questions of all portions are built and checked. Only the questions of
the first chunk (several blocks) are kept; the others are built again when the model is asked. Therefore memory does not
grow with the number of items.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from tiltmeter.benchmarks import get_benchmark
from tiltmeter.benchmarks.benchmark import Benchmark, PartTrials, SkippedItem, Trial, UnsupportedPart
from tiltmeter.errors import ModelError
from tiltmeter.models.model_protocol import Model
from tiltmeter.questions import Kind, Question
from tiltmeter.runs.long_items import find_excess_lengths, find_items_without_questions, skip_long_items
from tiltmeter.runs.manifest import RefusedPart
from tiltmeter.runs.model_output import ModelOutput
from tiltmeter.runs.portions import Portion
from tiltmeter.runs.run_preparation import PreparedRun
from tiltmeter.runs.special_token_items import split_special_items
from tiltmeter.runs.unreadable_items import (
    UnreadableItem,
    find_unreadable_items,
    reject_unreadable_texts,
    skip_unreadable_items,
)

# The maximum number of items in a block; the questions of a block are built together.
BLOCK_ITEMS = 512
# The maximum size of a chunk: the questions that are planned and answered together. It is about 220 MB, because the
# unit is about 28 bytes of memory. With smaller chunks, fewer items share prefixes and more batches are not full.
CHUNK_SIZE = 8_000_000
# The sizes of a question, of a requested value, of a token and of a token in a prefix tree, in units of about 28 bytes.
# They include the memory for plan and answer. They were measured with tracemalloc on three benchmarks.
_QUESTION_SIZE, _WANTED_SIZE, _TOKEN_SIZE, _TREE_TOKEN_SIZE = 24, 4, 1, 2


@dataclass(slots=True)
class ItemBlock:
    """A block: the items of a portion from index `start` to `stop`, and the number, size and tokens of their questions.

    `trials` is None if the trials are not kept; they are then built again when the model is asked.
    """

    start: int
    stop: int
    questions: int
    size: int
    tokens: int
    trials: list[Trial] | None


@dataclass(slots=True)
class PortionBlocks:
    """A portion (data set, part and language), how a model is asked about it, and the results.

    `unreadable` are the items that the model cannot read, `left_out` the items that are not asked about. `tables` has
    the scores of the blocks and `tokens` their token log-probabilities. `flagged` are the unreadable items with scores,
    and `readable` is the number of other items with scores.
    """

    portion: Portion
    benchmark: Benchmark
    kind: Kind
    protocol: str
    blocks: list[ItemBlock]
    unreadable: dict[str, UnreadableItem]
    skipped: list[SkippedItem]
    left_out: set[str]
    tables: list[pd.DataFrame] = field(default_factory=list)
    tokens: list[pd.DataFrame] = field(default_factory=list)
    flagged: set[str] = field(default_factory=set)
    readable: int = 0

    def build_trials(self, block: ItemBlock, model: Model, protocol: str) -> list[Trial]:
        """Return the trials of a block (a trial has the questions about one candidate or item).

        `protocol` is the protocol that the user requested.
        """
        if block.trials is not None:
            return block.trials
        part_trials = _ask_benchmark(self.portion, self.benchmark, block.start, block.stop, model, protocol)
        return [trial for trial in part_trials.trials if trial.item.id not in self.left_out]


def build_portion_blocks(model: Model, prepared: PreparedRun, run: ModelOutput) -> list[PortionBlocks]:
    """Return the portions with their blocks of items; parts that the model does not support go to `run.refused`."""
    entries: list[PortionBlocks] = []
    kept = 0
    for portion, benchmark in _split_into_parts(prepared.chosen, model.kinds[0]):
        try:
            entries.append(_build_checked_blocks(model, portion, benchmark, prepared, kept))
        except UnsupportedPart as refusal:
            run.refused.append(RefusedPart(model.name, **portion.get_key_columns(), reason=str(refusal)))
        else:
            kept += sum(block.size for block in entries[-1].blocks)
    return entries


def collect_question_lengths(model: Model, prepared: PreparedRun) -> dict[Kind, dict[bytes, int]]:
    """Return the numbers of tokens of all questions that a run asks a model, by kind of head and digest."""
    lengths_by_kind: dict[Kind, dict[bytes, int]] = {}
    for entry in build_portion_blocks(model, prepared, ModelOutput()):
        lengths = lengths_by_kind.setdefault(entry.kind, {})
        for block in entry.blocks:
            trials = entry.build_trials(block, model, prepared.settings.protocol)
            lengths.update((q.digest, _count_tokens(q)) for trial in trials for q in trial.questions)
    return lengths_by_kind


def group_into_chunks(portions: Sequence[PortionBlocks]) -> list[list[tuple[PortionBlocks, ItemBlock]]]:
    """Group the blocks of items into chunks that are answered together, in the order of the portions.

    The chunks do not depend on which answers are already stored.
    """
    chunks: list[list[tuple[PortionBlocks, ItemBlock]]] = []
    size = 0
    for entry in portions:
        for block in entry.blocks:
            if not chunks or size + block.size > CHUNK_SIZE:
                chunks.append([])
                size = 0
            chunks[-1].append((entry, block))
            size += block.size
    return chunks


def _split_into_parts(chosen: Sequence[Portion], kind: Kind) -> Iterator[tuple[Portion, Benchmark]]:
    """Yield each portion (data set and language) with its benchmark, once for each part of the benchmark."""
    for portion in chosen:
        benchmark = get_benchmark(portion.form)
        for part in portion.split_into_parts(benchmark.parts(kind)):
            yield part, benchmark


def _build_checked_blocks(
    model: Model, portion: Portion, benchmark: Benchmark, prepared: PreparedRun, kept: int
) -> PortionBlocks:
    """Return a portion divided into blocks; `kept` is the size of earlier portions' questions in memory."""
    step = BLOCK_ITEMS if benchmark.item_by_item(portion.items) else max(1, len(portion.items))
    entry: PortionBlocks | None = None
    lengths: dict[str, int] = {}
    for start in range(0, max(1, len(portion.items)), step):
        stop = min(start + step, len(portion.items))
        part_trials = _ask_benchmark(portion, benchmark, start, stop, model, prepared.settings.protocol)
        part_trials.protocol = "/".join([part_trials.protocol, *prepared.suffixes])
        if entry is None:
            entry = PortionBlocks(portion, benchmark, part_trials.kind, part_trials.protocol, [], {}, [], set())
        _reject_unknown_ids(model, part_trials, portion)
        unreadable = find_unreadable_items(part_trials, portion.items[start:stop], portion.form, model.text)
        before = {trial.item.id for trial in part_trials.trials}
        skip_unreadable_items(part_trials, unreadable)
        too_long = find_excess_lengths(part_trials, model.max_length)
        part_trials.trials = [trial for trial in part_trials.trials if trial.item.id not in too_long]
        entry.left_out |= before - {trial.item.id for trial in part_trials.trials}
        entry.unreadable |= unreadable
        entry.skipped += part_trials.skipped + find_items_without_questions(part_trials, model.max_length)
        lengths |= too_long
        block = _build_block(start, stop, part_trials)
        kept += block.size
        entry.blocks.append(block if kept <= CHUNK_SIZE else replace(block, trials=None))
    # The loop above runs at least once, also for a portion without items, so `entry` is set here.
    assert entry is not None
    reject_unreadable_texts(portion.items, portion.form, model.text)
    if model.max_length is not None:
        every_item = prepared.settings.every_item
        entry.skipped += skip_long_items(lengths, model.max_length, portion, model.name, every_item=every_item)
    return entry


def _ask_benchmark(
    portion: Portion, benchmark: Benchmark, start: int, stop: int, model: Model, protocol: str
) -> PartTrials:
    items = portion.items if stop - start == len(portion.items) else portion.items[start:stop]
    readable, special = split_special_items(items, portion.form, model.text)
    part_trials = benchmark.ask(portion.part, readable, model.text, protocol=protocol)
    part_trials.skipped += special
    return part_trials


def _build_block(start: int, stop: int, part_trials: PartTrials) -> ItemBlock:
    questions = {question.digest: question for trial in part_trials.trials for question in trial.questions}
    size = sum(_estimate_size(question, part_trials.kind) for question in questions.values())
    tokens = sum(map(_count_tokens, questions.values()))
    return ItemBlock(start, stop, len(questions), size, tokens, part_trials.trials)


def _count_tokens(question: Question) -> int:
    return len(question.ids) + len(question.source)


def _estimate_size(question: Question, kind: Kind) -> int:
    token = _TREE_TOKEN_SIZE if kind in ("causal", "seq2seq") else _TOKEN_SIZE
    tokens = token * len(question.ids) + _TOKEN_SIZE * len(question.source)
    return _QUESTION_SIZE + tokens + _WANTED_SIZE * len(question.wanted)


def _reject_unknown_ids(model: Model, part_trials: PartTrials, portion: Portion) -> None:
    """Raise a ModelError if the tokenizer returns ids for which the model has no embeddings."""
    known = getattr(model, "vocabulary_size", None)
    if known is None:
        return
    for trial in part_trials.trials:
        for question in trial.questions:
            largest = max((*question.ids, *question.source), default=0)
            if largest >= known:
                raise ModelError(
                    f"The tokenizer of {model.name} does not belong to the model: in item {trial.item.id} of "
                    f"{portion.name} it returns the token id {largest}, but the model has only {known:,} tokens."
                )
