"""Waiting for another process ends."""

import pytest

from tests.studio.queued import until
from tests.support.messages import raises_mentioning


def test_waiting_fails_after_a_while() -> None:
    with raises_mentioning(pytest.fail.Exception, "The end of the", "0 seconds"):
        until(lambda: False, "The end of the job", patience=0.0)
    until(lambda: True)
