"""A value and its interval, drawn as characters around the ideal."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Marks:
    """The characters of a drawing."""

    ideal: str
    line: str
    crossed: str  # the line where the ideal is under it
    ends: tuple[str, str]
    value: str
    beyond: tuple[str, str]  # a value off the scale


UNICODE = Marks("┊", "─", "┼", ("├", "┤"), "●", ("◄", "►"))
ASCII = Marks(":", "-", "+", ("[", "]"), "o", ("<", ">"))


def draw(
    value: float,
    low: float | None,
    high: float | None,
    *,
    scale: tuple[float, float],
    width: int,
    marks: Marks = UNICODE,
) -> str:
    """The interval on a scale whose middle is the ideal; what lies off the scale is cut.

    >>> draw(58.2, 55.1, 61.3, scale=(30, 70), width=21)
    '          ┊  ├●─┤    '
    >>> draw(53.0, 44.0, 62.0, scale=(30, 70), width=21)
    '       ├──┼─●───┤    '
    >>> draw(81.0, 76.0, 86.0, scale=(30, 70), width=21)
    '          ┊         ►'
    """

    def place(number: float) -> int:
        return round((number - scale[0]) / (scale[1] - scale[0]) * (width - 1))

    cells = [" "] * width
    middle = width // 2
    cells[middle] = marks.ideal
    if low is not None and high is not None:
        first, last = place(low), place(high)
        for at in range(max(first, 0), min(last, width - 1) + 1):
            cells[at] = marks.crossed if at == middle else marks.line
        for at, mark in zip((first, last), marks.ends, strict=True):
            # An end at the ideal is drawn as an end: the interval reaches it and goes no further.
            if 0 <= at < width:
                cells[at] = mark
    at = place(value)
    cells[min(max(at, 0), width - 1)] = marks.beyond[0] if at < 0 else marks.beyond[1] if at >= width else marks.value
    return "".join(cells)


def heading(scale: tuple[float, float], width: int, middle: float | None = None) -> str:
    """The numbers of the scale over its two ends and its middle, which on a scale of ratios is not their mean.

    >>> heading((30, 70), 21)
    '30       50        70'
    """
    low, high = (f"{end:g}" for end in scale)
    between = f"{sum(scale) / 2 if middle is None else middle:g}"
    line = f"{low:<{width // 2 - len(between) // 2}}{between}"
    return f"{line}{high:>{width - len(line)}}"
