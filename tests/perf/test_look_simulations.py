"""A short form of the simulations of looks at growing samples."""

import numpy as np

from perf.simulations.looks import looks


def test_corrected_looks_keep_their_level_with_shared_targets() -> None:
    counts = looks((100, 200, 400, 800), 0.04)(np.random.default_rng(1), 60)
    rates = {name: total / number for name, (total, number) in counts.items()}
    assert rates["corrected"] <= 0.1
    assert rates["corrected"] < rates["not corrected"]
