"""Checks of messages by their identifying parts (file, row, name, remedy), independent of wording and line breaks."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import pytest

_Error = TypeVar("_Error", bound=BaseException)


def assert_mentions(text: str, *parts: str) -> None:
    """Assert that a text contains all parts; white space and line breaks of the two may differ."""
    flat = " ".join(text.split())
    missing = [part for part in parts if " ".join(part.split()) not in flat]
    assert not missing, f"{missing} not in: {text}"


@contextmanager
def raises_mentioning(error: type[_Error], *parts: str) -> Iterator[pytest.ExceptionInfo[_Error]]:
    """Expect an error whose message contains all parts."""
    with pytest.raises(error) as caught:
        yield caught
    assert_mentions(str(caught.value), *parts)
