"""Helpers on hidden states: which tensors count as equal."""

import pytest
import torch

from tiltmeter.engine.tensors import flatten_states, is_close


def test_all_positions_as_one_sequence() -> None:
    states = torch.arange(24).view(2, 3, 4)
    assert flatten_states(states).tolist() == [states[row, place].tolist() for row in range(2) for place in range(3)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_tensors_that_differ_by_rounding_are_the_same(dtype: torch.dtype) -> None:
    values = torch.tensor([0.5, -4.0, 2.0], dtype=dtype)
    rounding = torch.finfo(dtype).eps
    assert is_close(values, values * (1 + 4 * rounding))
    assert not is_close(values, values * (1 + 16 * max(rounding, 1e-6)))
    # The tolerance is relative to the largest absolute value, also for the other values.
    assert is_close(values, values + torch.tensor([4 * 4 * rounding, 0, 0], dtype=dtype))


def test_the_tolerance_of_float32() -> None:
    values = torch.tensor([1.0, -1.0])
    assert is_close(values, values + 0.9e-5)
    assert not is_close(values, values + 1.1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_the_tolerance_of_half_precision(dtype: torch.dtype) -> None:
    one, rounding = torch.ones(1, dtype=dtype), torch.finfo(dtype).eps
    assert is_close(one, one + 8 * rounding)
    assert not is_close(one, one + 9 * rounding)


def test_tensors_of_zeros() -> None:
    assert is_close(torch.zeros(3), torch.zeros(3))
    assert not is_close(torch.zeros(3), torch.full((3,), 1e-30))


def test_tensors_of_different_shapes_or_with_nan_are_not_the_same() -> None:
    ones = torch.ones(2, 2)
    assert not is_close(ones, torch.ones(2))
    assert not is_close(ones, torch.ones(1, 2))
    assert not is_close(ones, torch.full((2, 2), torch.nan))
