"""Waiting for what another process does ends."""

import pytest

from tests.studio.queued import until


def test_what_does_not_happen_fails_with_a_sentence() -> None:
    with pytest.raises(pytest.fail.Exception, match="The end of the job has not happened in 0 seconds"):
        until(lambda: False, "The end of the job", patience=0.0)
    until(lambda: True)
