"""Grouping rows by length, compared with simple reference implementations."""

import math
from collections.abc import Iterator
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.engine import row_groups as module
from tiltmeter.engine.row_groups import group_similar_lengths, pack_lengths, split_evenly, split_in_order

LENGTHS = st.lists(st.integers(1, 30), max_size=60)


@given(LENGTHS, st.integers(1, 40))
def test_packs_are_those_of_packing_inputs_one_by_one(lengths: list[int], width: int) -> None:
    rooms: list[int] = []
    for length in sorted(lengths, reverse=True):
        enough = [room for room in rooms if room >= length]
        if enough:
            rooms.remove(min(enough))
        rooms.append((min(enough) if enough else max(width, length)) - length)
    found = pack_lengths(lengths, width)
    assert sorted(number for pack in found for number in pack) == list(range(len(lengths)))
    packed = [[lengths[number] for number in pack] for pack in found]
    room_left = [max(width, *pack) - sum(pack) for pack in packed]
    assert sorted(room_left) == sorted(rooms)


@given(LENGTHS, st.integers(31, 400))
def test_even_chunks_are_in_order_and_within_the_limit(lengths: list[int], most: int) -> None:
    parts = list(split_evenly(lengths, most))
    assert [number for part in parts for number in part] == list(range(len(lengths)))
    sizes = [sum(lengths[number] for number in part) for part in parts]
    assert all(size <= most for size in sizes)
    # Except for the last, no chunk is smaller than the mean by a whole row.
    assert all(size > sum(lengths) // len(parts) - max(lengths) for size in sizes[:-1])


def padding_and_starts(counts: list[tuple[int, int]], batch_tokens: int) -> int:
    """The cost of padding rows to the longest of them, and of their batches."""
    longest = max(length for length, _ in counts)
    rows = sum(number for _, number in counts)
    in_a_batch = max(1, batch_tokens // longest)
    padding = sum((longest - length) * number for length, number in counts)
    return padding + math.ceil(rows / in_a_batch) * int(batch_tokens * module._BATCH_OVERHEAD)


def divisions(counts: list[tuple[int, int]]) -> Iterator[list[list[tuple[int, int]]]]:
    """All divisions of a sequence into groups of neighbours."""
    for cuts in product((False, True), repeat=max(0, len(counts) - 1)):
        ends = [place for place, cut in enumerate(cuts, 1) if cut]
        yield [counts[start:end] for start, end in zip([0, *ends], [*ends, len(counts)], strict=True)]


@given(st.dictionaries(st.integers(1, 60), st.integers(1, 40), min_size=1, max_size=7), st.integers(1, 640))
def test_lengths_are_grouped_at_minimum_cost(numbers: dict[int, int], batch_tokens: int) -> None:
    counts = sorted(numbers.items(), reverse=True)
    groups = module._choose_length_groups(counts, batch_tokens)
    assert [length for group in groups for length in group] == [length for length, _ in counts]
    cost = sum(padding_and_starts([(length, numbers[length]) for length in group], batch_tokens) for group in groups)
    cheapest = min(sum(padding_and_starts(group, batch_tokens) for group in division) for division in divisions(counts))
    assert cost == cheapest


@given(LENGTHS, st.integers(1, 200))
def test_batches_of_like_length_are_full_and_the_longest_come_first(lengths: list[int], batch_tokens: int) -> None:
    batches = group_similar_lengths(lengths, batch_tokens)
    assert sorted(line for batch in batches for line in batch) == list(range(len(lengths)))
    longest = [max(lengths[line] for line in batch) for batch in batches]
    assert longest == sorted(longest, reverse=True)
    for batch, length in zip(batches, longest, strict=True):
        assert len(batch) <= max(1, batch_tokens // length)
        assert [lengths[line] for line in batch] == sorted((lengths[line] for line in batch), reverse=True)
    # Rows of one length that fit into one batch are not divided.
    if len(set(lengths)) == 1:
        assert len(batches) == math.ceil(len(lengths) / max(1, batch_tokens // lengths[0]))


@given(LENGTHS, st.integers(1, 60))
def test_in_order_each_chunk_takes_what_fits(lengths: list[int], most: int) -> None:
    parts: list[list[int]] = []
    for line, length in enumerate(lengths):
        if parts and sum(lengths[other] for other in parts[-1]) + length <= most:
            parts[-1].append(line)
        else:
            parts.append([line])
    assert list(split_in_order(lengths, most)) == parts


@given(LENGTHS)
def test_without_a_width_each_input_has_a_row_of_its_own(lengths: list[int]) -> None:
    assert pack_lengths(lengths, 0) == [[number] for number in range(len(lengths))]


@given(LENGTHS, st.integers(31, 400))
def test_the_number_of_even_chunks(lengths: list[int], most: int) -> None:
    # A chunk may exceed the mean by nearly a whole row, so the mean must fit with that much room left.
    needed = math.ceil(sum(lengths) / (most - max(lengths, default=0))) if lengths else 0
    assert len(list(split_evenly(lengths, most))) <= needed


def test_even_chunks_of_rows_that_are_nearly_as_long_as_a_chunk() -> None:
    assert list(split_evenly([5, 5, 5], 6)) == [[0], [1], [2]]
    assert list(split_evenly([], 6)) == []
    assert max(sum([30, *[1] * 32][number] for number in chunk) for chunk in split_evenly([30, *[1] * 32], 31)) <= 31
