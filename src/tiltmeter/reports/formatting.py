"""Functions that format intervals, p-values, counts and lists, and that escape text for LaTeX and Markdown.

Values of measures are formatted by `Measure.number`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from tiltmeter.measures import get_measure
from tiltmeter.measures.records import Record, get_row_key

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}
_MARKDOWN = {"<": "&lt;", ">": "&gt;", **{character: f"\\{character}" for character in "\\`*_[]|"}}


def format_p(value: float | None) -> str:
    """Return a p-value with three decimals; return an empty text for None.

    >>> format_p(0.0321), format_p(0.00002), format_p(None)
    ('0.032', '<0.001', '')
    """
    if value is None:
        return ""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def format_reported_p(record: Record) -> str:
    """Return the p-value of a record as text: corrected by Holm's method if there is a corrected value.

    The text is empty if the value is not interpretable, because its p-value says nothing about a bias.
    """
    if record.verdict is not None and record.verdict.kind == "not interpretable":
        return ""
    return format_p(record.p_value if record.p_adjusted is None else record.p_adjusted)


def clear_uninterpretable_p(records: Sequence[Record]) -> list[Record]:
    """Return the records, without the p-values of rows that are not interpretable."""
    rows = {get_row_key(r) for r in records if r.verdict is not None and r.verdict.kind == "not interpretable"}
    return [replace(r, p_value=None, p_adjusted=None) if get_row_key(r) in rows else r for r in records]


def format_four_digits(value: float) -> str:
    """Return a number with four significant digits, for tables that mix several measures.

    >>> format_four_digits(57.0321), format_four_digits(0.00012345)
    ('57.03', '0.0001234')
    """
    return f"{value:.4g}"


def format_interval(record: Record, pattern: str = "[{}, {}]", number: Callable[[float], str] | None = None) -> str:
    """Return the interval of a record as text; empty if the record has no interval.

    `number` formats the two ends; without `number`, the measure formats them.
    """
    if record.low is None or record.high is None:
        return ""
    number = number or get_measure(record.measure).number
    return pattern.format(number(record.low), number(record.high))


def format_with_interval(record: Record, number: Callable[[float], str] | None = None) -> str:
    """Return the value of a record followed by its interval, such as `57.0 [55.5, 58.5]`."""
    value = (number or get_measure(record.measure).number)(record.value)
    return " ".join(filter(None, (value, format_interval(record, number=number))))


def format_count(count: int, noun: str) -> str:
    """Return a count followed by its noun in the singular or plural.

    >>> format_count(1, "number"), format_count(2720, "number")
    ('1 number', '2,720 numbers')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def join_words(words: Sequence[str]) -> str:
    """Join words with commas, and the last two words with "and".

    >>> join_words(["English", "French", "German"])
    'English, French and German'
    """
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def escape_latex(text: str) -> str:
    r"""Return the text with LaTeX's special characters escaped.

    >>> print(escape_latex("gpt2_medium & 50%"))
    gpt2\_medium \& 50\%
    """
    return "".join(_LATEX.get(character, character) for character in text)


def escape_markdown(text: str) -> str:
    r"""Return the text for a cell of a Markdown table: on one line, with special characters escaped.

    >>> print(escape_markdown("a|b <i>"))
    a\|b &lt;i&gt;
    """
    return " ".join("".join(_MARKDOWN.get(character, character) for character in text).split())
