"""Descriptions of library errors in one line."""

_MAX_LENGTH = 300


def get_first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or the name of its class if the message is empty."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def describe_error(error: BaseException) -> str:
    """Return the name of an error's class, with the first line of its message in parentheses.

    >>> describe_error(KeyError("vocab_size")), describe_error(ValueError())
    ("KeyError ('vocab_size')", 'ValueError')
    """
    first = next(iter(str(error).strip().splitlines()), "")
    return f"{type(error).__name__}{f' ({first[:_MAX_LENGTH]})' if first else ''}"
