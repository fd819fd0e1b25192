"""Rulers for the terminal: a value and its interval, drawn with characters on a scale around the ideal."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RulerMarks:
    """The characters that draw a ruler."""

    ideal: str
    line: str
    crossed: str  # the interval line where it crosses the ideal
    ends: tuple[str, str]
    value: str
    beyond: tuple[str, str]  # marks for a value below or above the scale


UNICODE = RulerMarks("┊", "─", "┼", ("├", "┤"), "●", ("◄", "►"))
ASCII = RulerMarks(":", "-", "+", ("[", "]"), "o", ("<", ">"))


def draw_ruler(
    value: float,
    low: float | None,
    high: float | None,
    *,
    scale: tuple[float, float],
    width: int,
    marks: RulerMarks = UNICODE,
) -> str:
    """Return a drawing of a value and its interval on a scale with the ideal in the middle.

    The interval is cut at the ends of the scale.

    >>> draw_ruler(58.2, 55.1, 61.3, scale=(30, 70), width=21)
    '          ┊  ├●─┤    '
    >>> draw_ruler(53.0, 44.0, 62.0, scale=(30, 70), width=21)
    '       ├──┼─●───┤    '
    >>> draw_ruler(81.0, 76.0, 86.0, scale=(30, 70), width=21)
    '          ┊         ►'
    """

    def compute_column(number: float) -> int:
        return round((number - scale[0]) / (scale[1] - scale[0]) * (width - 1))

    cells = [" "] * width
    middle = width // 2
    cells[middle] = marks.ideal
    if low is not None and high is not None:
        first, last = compute_column(low), compute_column(high)
        for at in range(max(first, 0), min(last, width - 1) + 1):
            cells[at] = marks.crossed if at == middle else marks.line
        for at, mark in zip((first, last), marks.ends, strict=True):
            # If an end of the interval is at the ideal, the mark of the end is drawn.
            if 0 <= at < width:
                cells[at] = mark
    at = compute_column(value)
    cells[min(max(at, 0), width - 1)] = marks.beyond[0] if at < 0 else marks.beyond[1] if at >= width else marks.value
    return "".join(cells)


def format_heading(scale: tuple[float, float], width: int, middle: float | None = None) -> str:
    """Return a heading with the numbers at the ends and in the middle of the scale.

    By default, `middle` is the mean of the two ends.

    >>> format_heading((30, 70), 21)
    '30       50        70'
    """
    low, high = (f"{end:g}" for end in scale)
    between = f"{sum(scale) / 2 if middle is None else middle:g}"
    line = f"{low:<{width // 2 - len(between) // 2}}{between}"
    return f"{line}{high:>{width - len(line)}}"
