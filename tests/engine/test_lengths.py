"""Which rows go together: against plain re-derivations."""

from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.engine.lengths import evenly, packs

LENGTHS = st.lists(st.integers(1, 30), max_size=60)


@given(LENGTHS, st.integers(1, 40))
def test_packs_are_those_of_putting_in_one_by_one(lengths: list[int], width: int) -> None:
    rooms: list[int] = []
    for length in sorted(lengths, reverse=True):
        enough = [room for room in rooms if room >= length]
        if enough:
            rooms.remove(min(enough))
        rooms.append((min(enough) if enough else max(width, length)) - length)
    found = packs(lengths, width)
    assert sorted(number for pack in found for number in pack) == list(range(len(lengths)))
    packed = [[lengths[number] for number in pack] for pack in found]
    room_left = [max(width, *pack) - sum(pack) for pack in packed]
    assert sorted(room_left) == sorted(rooms)


@given(LENGTHS, st.integers(31, 400))
def test_even_parts_are_in_order_and_small_enough(lengths: list[int], most: int) -> None:
    parts = list(evenly(lengths, most))
    assert [number for part in parts for number in part] == list(range(len(lengths)))
    sizes = [sum(lengths[number] for number in part) for part in parts]
    assert all(size <= most for size in sizes)
    # No part but the last is smaller than the mean by a whole line.
    assert all(size > sum(lengths) // len(parts) - max(lengths) for size in sizes[:-1])
