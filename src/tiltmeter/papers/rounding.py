"""Comparison of a recomputed number with a printed number, which is rounded."""

# Tolerance for floating-point error in sums.
NOISE = 1e-9


def matches_printed(text: str, value: float, digits: int) -> bool:
    """Return whether `value`, rounded to `digits` decimals, equals the printed number.

    A value halfway between two rounded numbers agrees with both, because papers do not say in which direction they
    round such values.

    >>> matches_printed("83.1", 83.104, 2), matches_printed("83.1", 83.106, 2), matches_printed("83.1", 83.106, 1)
    (True, False, True)
    >>> matches_printed("0.12", 0.125, 2), matches_printed("0.13", 0.125, 2)
    (True, True)
    """
    return abs(value - float(text)) <= 0.5 * 10.0**-digits + NOISE * max(1.0, abs(value))
