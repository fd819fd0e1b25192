"""Comparison of a number with a printed, rounded one."""

# Tolerance for floating-point error in sums.
NOISE = 1e-9


def matches_printed(text: str, value: float, digits: int) -> bool:
    """Return whether `value`, rounded to `digits` decimals, equals the printed number.

    A value halfway between two numbers agrees with both: papers do not say whether they round halves up or to even.

    >>> matches_printed("83.1", 83.104, 2), matches_printed("83.1", 83.106, 2), matches_printed("83.1", 83.106, 1)
    (True, False, True)
    >>> matches_printed("0.12", 0.125, 2), matches_printed("0.13", 0.125, 2)
    (True, True)
    """
    return abs(value - float(text)) <= 0.5 * 10.0**-digits + NOISE * max(1.0, abs(value))
