"""The portions of a run as a model is asked about them: in blocks of items, without the items that are left out.

All portions are checked before the first question is answered. Of the questions that this takes, only those of the
first chunk are kept; the others are made again when it is their turn, so memory does not grow with the number of items.
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
from tiltmeter.runs.model_output import ModelOutput
from tiltmeter.runs.portions import Portion
from tiltmeter.runs.preparation import PreparedRun
from tiltmeter.runs.special_token_items import split_special_items
from tiltmeter.runs.unreadable_items import (
    UnreadableItem,
    find_unreadable_items,
    reject_unreadable_texts,
    skip_unreadable,
)

# The number of items that questions are made for at once.
BLOCK_ITEMS = 512
# The size of the questions that are planned and answered together, in units of about 28 bytes of memory. With a smaller
# one, prefixes are shared between fewer items and more batches are not full.
CHUNK_SIZE = 8_000_000
# The sizes of a question, of a number that it asks for and of a token, with everything that a plan and an answer hold
# of them: of a token in a prefix tree also its place there. Measured with tracemalloc on pairs, StereoSet and multiple
# choice.
_QUESTION_SIZE, _WANTED_SIZE, _TOKEN_SIZE, _TREE_TOKEN_SIZE = 24, 4, 1, 2


@dataclass(slots=True)
class ItemBlock:
    """Some of the items of a portion, from index `start` to `stop`, with the number and size of their questions.

    `trials` are None if they are to be made when they are asked.
    """

    start: int
    stop: int
    questions: int
    size: int
    trials: list[Trial] | None


@dataclass(slots=True)
class PortionBlocks:
    """A portion, how a model is asked about it, and what comes of that.

    `doubts` are the items that the model cannot read, `left_out` those among all items that are not asked about. The
    blocks are asked one after another; `tables` has their scores and `tokens` what is said of each token. `present` are
    the items in doubt that have scores, and `without_doubt` is the number of all others that have.
    """

    portion: Portion
    benchmark: Benchmark
    kind: Kind
    protocol: str
    blocks: list[ItemBlock]
    doubts: dict[str, UnreadableItem]
    skipped: list[SkippedItem]
    left_out: set[str]
    tables: list[pd.DataFrame] = field(default_factory=list)
    tokens: list[pd.DataFrame] = field(default_factory=list)
    present: set[str] = field(default_factory=set)
    without_doubt: int = 0

    def trials(self, block: ItemBlock, model: Model, protocol: str) -> list[Trial]:
        """The trials of a block; `protocol` is the one that was asked for."""
        if block.trials is not None:
            return block.trials
        asked = _ask_benchmark(self.portion, self.benchmark, block.start, block.stop, model, protocol)
        return [trial for trial in asked.trials if trial.item.id not in self.left_out]


def build_portion_blocks(model: Model, prepared: PreparedRun, run: ModelOutput) -> list[PortionBlocks]:
    """The portions with their blocks; those that cannot be asked are entered into the run."""
    asked: list[PortionBlocks] = []
    kept = 0
    for portion, benchmark in _split_into_parts(prepared.chosen, model.kinds[0]):
        try:
            asked.append(_build_checked_blocks(model, portion, benchmark, prepared, kept))
        except UnsupportedPart as refusal:
            run.refused.append({"model": model.name, **portion.label(), "reason": str(refusal)})
        else:
            kept += sum(block.size for block in asked[-1].blocks)
    return asked


def collect_question_digests(model: Model, prepared: PreparedRun) -> dict[Kind, set[bytes]]:
    """The digests of the questions that a model is asked in a run, by the kind of head."""
    found: dict[Kind, set[bytes]] = {}
    for entry in build_portion_blocks(model, prepared, ModelOutput()):
        digests = found.setdefault(entry.kind, set())
        for block in entry.blocks:
            trials = entry.trials(block, model, prepared.settings.protocol)
            digests.update(question.digest for trial in trials for question in trial.questions)
    return found


def group_into_chunks(portions: Sequence[PortionBlocks]) -> list[list[tuple[PortionBlocks, ItemBlock]]]:
    """The blocks that are answered together, in the order of the portions; it does not depend on stored answers."""
    divided: list[list[tuple[PortionBlocks, ItemBlock]]] = []
    size = 0
    for entry in portions:
        for block in entry.blocks:
            if not divided or size + block.size > CHUNK_SIZE:
                divided.append([])
                size = 0
            divided[-1].append((entry, block))
            size += block.size
    return divided


def _split_into_parts(chosen: Sequence[Portion], kind: Kind) -> Iterator[tuple[Portion, Benchmark]]:
    """The portions with their benchmarks, once for each part that the benchmark asks them in."""
    for portion in chosen:
        benchmark = get_benchmark(portion.form)
        for part in portion.split_into_parts(benchmark.parts(kind)):
            yield part, benchmark


def _build_checked_blocks(
    model: Model, portion: Portion, benchmark: Benchmark, prepared: PreparedRun, kept: int
) -> PortionBlocks:
    """A portion that can be asked; `kept` is the size of the questions that are kept already."""
    step = BLOCK_ITEMS if benchmark.item_by_item(portion.items) else max(1, len(portion.items))
    entry: PortionBlocks | None = None
    lengths: dict[str, int] = {}
    for start in range(0, max(1, len(portion.items)), step):
        stop = min(start + step, len(portion.items))
        asked = _ask_benchmark(portion, benchmark, start, stop, model, prepared.settings.protocol)
        asked.protocol = "/".join([asked.protocol, *prepared.suffixes])
        if entry is None:
            entry = PortionBlocks(portion, benchmark, asked.kind, asked.protocol, [], {}, [], set())
        _reject_unknown_ids(model, asked, portion)
        doubts = find_unreadable_items(asked, portion.items[start:stop], portion.form, model.text)
        before = {trial.item.id for trial in asked.trials}
        skip_unreadable(asked, doubts)
        too_long = find_excess_lengths(asked, model.max_length)
        asked.trials = [trial for trial in asked.trials if trial.item.id not in too_long]
        entry.left_out |= before - {trial.item.id for trial in asked.trials}
        entry.doubts |= doubts
        entry.skipped += asked.skipped + find_items_without_questions(asked, model.max_length)
        lengths |= too_long
        block = _build_block(start, stop, asked)
        kept += block.size
        entry.blocks.append(block if kept <= CHUNK_SIZE else replace(block, trials=None))
    assert entry is not None  # there is at least one block
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
    asked = benchmark.ask(portion.part, readable, model.text, protocol=protocol)
    asked.skipped += special
    return asked


def _build_block(start: int, stop: int, asked: PartTrials) -> ItemBlock:
    questions = {question.digest: question for trial in asked.trials for question in trial.questions}
    size = sum(_estimate_size(question, asked.kind) for question in questions.values())
    return ItemBlock(start, stop, len(questions), size, asked.trials)


def _estimate_size(question: Question, kind: Kind) -> int:
    """The size of a question in a plan: that of its tokens, and of everything else."""
    token = _TREE_TOKEN_SIZE if kind in ("causal", "seq2seq") else _TOKEN_SIZE
    tokens = token * len(question.ids) + _TOKEN_SIZE * len(question.source)
    return _QUESTION_SIZE + tokens + _WANTED_SIZE * len(question.wanted)


def _reject_unknown_ids(model: Model, asked: PartTrials, portion: Portion) -> None:
    """A ModelError if the tokenizer gives numbers that the model has no embeddings for."""
    known = getattr(model, "vocabulary_size", None)
    if known is None:
        return
    for trial in asked.trials:
        for question in trial.questions:
            largest = max((*question.ids, *question.source), default=0)
            if largest >= known:
                raise ModelError(
                    f"The tokenizer of {model.name} has a token {largest} in item {trial.item.id} of {portion.name}, "
                    f"and the model knows only {known:,} tokens; it is not the tokenizer of this model."
                )
