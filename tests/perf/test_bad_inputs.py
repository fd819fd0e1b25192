"""A short run of `perf.bad_inputs` in a separate process, because it forks."""

import re
import subprocess
import sys

import pytest


@pytest.mark.skipif(sys.platform != "linux", reason="it forks, and bounds the memory of processes")
def test_bad_input_of_every_class_ends_with_a_message() -> None:
    words = ["--share", "0.003", "--seed", "3", "--seconds", "60", "--show"]
    done = subprocess.run(
        [sys.executable, "-m", "perf.bad_inputs", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    calls = re.search(r"^(\d+) calls: (\d+) sentence", done.stdout, re.M)
    assert calls, done.stdout
    assert int(calls[1]) >= 5
    assert int(calls[2]) >= 4
