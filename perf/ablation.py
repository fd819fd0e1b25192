"""What each technique contributes: Tiltmeter with one of them left out at a time.

    python -m perf.ablation --workload stereoset-intra --model bert-29k

Each technique is switched off from here, by replacing a function for as long as it takes, so that the library itself
carries no switches.
"""

import hashlib
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from perf import show, tiltmeter_way
from perf.outcome import Outcome, difference
from perf.prepared import Prepared, parser, prepare
from perf.timing import in_turns, spread
from tiltmeter.engine import execute, head, plan, seq2seq
from tiltmeter.engine.lengths import packs
from tiltmeter.engine.speedups import last_layer
from tiltmeter.questions import Answer, Question


class _Alone(tuple):
    """Token ids that are equal to no others, not even to the same ones: what looks for repetitions finds none."""

    __hash__ = object.__hash__
    __eq__ = object.__eq__
    __ne__ = object.__ne__

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        return _Alone(found) if isinstance(place, slice) else found


def _told_apart(question: Question, number: int) -> list[tuple[Question, list[int]]]:
    """A question as several, with the pairs that each wants: each token that is wanted of one position by itself.

    Each has ids, a source and a digest of its own; `number` tells it from others that want the same.
    """
    wanted_before: dict[int, int] = {}
    pairs: list[list[int]] = []
    for place, (position, _) in enumerate(question.wanted):
        copy = wanted_before.get(position, 0)
        wanted_before[position] = copy + 1
        if copy == len(pairs):
            pairs.append([])
        pairs[copy].append(place)
    apart = []
    for copy, places in enumerate(pairs):
        wanted = tuple(question.wanted[place] for place in places)
        alone = replace(question, ids=_Alone(question.ids), wanted=wanted, source=_Alone(question.source))
        name = question.digest + number.to_bytes(8, "little") + copy.to_bytes(8, "little")
        alone.digest = hashlib.blake2b(name, digest_size=16).digest()
        apart.append((alone, places))
    return apart


def _joined(question: Question, parts: Iterable[tuple[Answer, list[int]]]) -> Answer:
    """The answer to a question from those to its parts."""
    table = np.zeros((question.want.rows, len(question.wanted)), dtype=np.float32)
    for answer, places in parts:
        table[:, places] = answer.reshape(question.want.rows, -1)
    return table.ravel()


@contextmanager
def without_deduplication() -> Iterator[None]:
    """Every question, and every token that it wants of a position, is an input of its own."""
    answers = tiltmeter_way._answers

    def answer(questions: Sequence[Question], *others: Any) -> Any:
        apart = [_told_apart(question, number) for number, question in enumerate(questions)]
        found = answers([copy for copies in apart for copy, _ in copies], *others)
        return {
            question.digest: _joined(question, [(found[copy.digest], places) for copy, places in copies])
            for question, copies in zip(questions, apart, strict=True)
        }

    with patch.object(tiltmeter_way, "_answers", answer):
        yield


@contextmanager
def without_wanted_positions() -> Iterator[None]:
    """The vocabulary at every position, still a slice of it at a time, whatever is wanted of it."""
    read, log_probs = head.VocabularyHead.read, head.VocabularyHead.log_probs
    wanted: list[torch.Tensor] = []

    def read_everywhere(self: head.VocabularyHead, inputs: Mapping[str, Any], rows: torch.Tensor) -> torch.Tensor:
        wanted[:] = [rows]
        ids = inputs["decoder_input_ids"] if "decoder_input_ids" in inputs else inputs["input_ids"]
        return read(self, inputs, torch.arange(ids.numel(), device=rows.device))

    def of_wanted(self: head.VocabularyHead, states: torch.Tensor, which: torch.Tensor, tokens: torch.Tensor) -> Any:
        return log_probs(self, states, wanted[0][which], tokens)

    def instead_of_logits(*arguments: Any) -> torch.Tensor:
        return of_wanted(*arguments)[0]

    with (
        patch.object(head.VocabularyHead, "read", read_everywhere),
        patch.object(head.VocabularyHead, "log_probs", of_wanted),
        patch.object(head.VocabularyHead, "logits", instead_of_logits),
    ):
        yield


@contextmanager
def without_slices() -> Iterator[None]:
    """The whole vocabulary at once."""
    with patch.dict(head._LOGITS_AT_ONCE, cpu=1 << 62), patch.object(head, "_LOGITS_AT_ONCE_ELSEWHERE", 1 << 62):
        yield


@contextmanager
def without_shared_prefixes() -> Iterator[None]:
    """Every causal input, and every target of an encoder-decoder, from its beginning."""
    make_plan = execute.plan

    def without_trees(*arguments: Any, **options: Any) -> Any:
        return make_plan(*arguments, **{**options, "share_prefixes": False})

    with patch.object(execute, "plan", without_trees):
        yield


@contextmanager
def without_narrow_last_layer() -> Iterator[None]:
    """The last layer at every position."""

    def everywhere(*_arguments: Any, **_options: Any) -> AbstractContextManager[None]:
        return nullcontext()

    with patch.object(last_layer.LastLayer, "only_at", everywhere):
        yield


@contextmanager
def without_sorting() -> Iterator[None]:
    """Batches of the same size, but of sentences in no particular order, each in a row of its own."""

    def in_any_order(lengths: Sequence[int], batch_tokens: int) -> list[list[int]]:
        batches: list[list[int]] = [[]]
        longest = 0
        for line in random.Random(0).sample(range(len(lengths)), len(lengths)):
            longest = max(longest, lengths[line])
            if batches[-1] and longest * (len(batches[-1]) + 1) > batch_tokens:
                batches.append([])
                longest = lengths[line]
            batches[-1].append(line)
        return batches

    with (
        without_packing(),
        patch.object(plan, "of_like_length", in_any_order),
        patch.object(seq2seq, "of_like_length", in_any_order),
    ):
        yield


@contextmanager
def without_packing() -> Iterator[None]:
    """A row for each input."""
    make_plan = execute.plan

    def unpacked(*arguments: Any, **options: Any) -> Any:
        return make_plan(*arguments, **{**options, "pack": 0})

    def each_alone(lengths: Sequence[int], _width: int) -> list[list[int]]:
        return packs(lengths, 0)

    with patch.object(execute, "plan", unpacked), patch.object(seq2seq, "packs", each_alone):
        yield


@contextmanager
def without_encoding_once() -> Iterator[None]:
    """Every source through the encoder for each of its targets, which have a row each then."""
    make_plan = execute.plan

    def with_sources_apart(*arguments: Any, **options: Any) -> Any:
        batches = make_plan(*arguments, **{**options, "share_prefixes": False, "pack": 0})
        for row in (row for batch in batches for row in batch):
            row.sources = tuple(_Alone(source) for source in row.sources)
        return batches

    with patch.object(execute, "plan", with_sources_apart):
        yield


# Each technique, how it is left out, and the heads it matters to.
_VOCABULARY = ("masked", "causal", "seq2seq")
TECHNIQUES: dict[str, tuple[Callable[[], AbstractContextManager[Any]], Sequence[str]]] = {
    "deduplication": (without_deduplication, (*_VOCABULARY, "next-sentence")),
    "head at wanted positions only": (without_wanted_positions, _VOCABULARY),
    "last layer at read positions only": (without_narrow_last_layer, (*_VOCABULARY, "next-sentence")),
    "vocabulary in slices": (without_slices, _VOCABULARY),
    "shared prefixes": (without_shared_prefixes, ("causal", "seq2seq")),
    "several inputs in a row": (without_packing, (*_VOCABULARY, "next-sentence")),
    "batches by length": (without_sorting, (*_VOCABULARY, "next-sentence")),
    "encoder once, and shared prefixes": (without_encoding_once, ("seq2seq",)),
}
_ALL = "all of them"


def _variants(prepared: Prepared) -> dict[str, Callable[[], Outcome]]:
    def scored(left_out: Callable[[], AbstractContextManager[Any]]) -> Callable[[], Outcome]:
        def score() -> Outcome:
            with left_out():
                return prepared.tiltmeter()

        return score

    chosen = {f"without {name}": off for name, (off, kinds) in TECHNIQUES.items() if prepared.kind in kinds}
    return {_ALL: scored(nullcontext), **{name: scored(off) for name, off in chosen.items()}}


def _largest(found: Mapping[str, Any]) -> float:
    """The largest difference of a token, or, where logits were asked for, of a score."""
    return found["candidate"] if found["token"] is None else found["token"]


def main() -> None:
    """Measure all variants in turns, print, and write the record."""
    command = parser("Tiltmeter with one technique left out at a time.")
    command.add_argument("--repeats", type=int, default=3)
    options = command.parse_args()
    prepared = prepare(options)
    prepared.warm_up("tiltmeter")
    seconds, outcomes = in_turns(_variants(prepared), options.repeats, prepared.model.device)
    fastest = median(seconds[_ALL])
    record = [
        {
            "variant": name,
            "seconds": found,
            "times_as_long": median(found) / fastest,
            "padding": outcomes[name].padding,
            "difference": difference(outcomes[name], outcomes[_ALL], log_scores=prepared.workload.log_scores).as_dict(),
        }
        for name, found in seconds.items()
    ]
    rows = [
        [
            entry["variant"],
            spread(entry["seconds"]),
            f"{entry['times_as_long']:.2f}",
            f"{entry['padding']:.1%}",
            f"{_largest(entry['difference']):.0e}",
        ]
        for entry in record
    ]
    title = f"{options.workload}, {options.model} ({prepared.kind}), {len(prepared.items)} items"
    show.table(title, ("techniques", "time", "times as long", "padding", "largest difference"), rows)
    show.write_json(record, options.json)


if __name__ == "__main__":
    main()
