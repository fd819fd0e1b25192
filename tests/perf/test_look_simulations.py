"""A short form of the simulations of looks at growing samples."""

import numpy as np

from perf.simulations.looks import looks, until_conclusive


def test_corrected_looks_keep_their_level_with_shared_targets() -> None:
    counts = looks((100, 200, 400, 800), 0.04)(np.random.default_rng(1), 60)
    rates = {name: total / number for name, (total, number) in counts.items()}
    assert rates["corrected"] <= 0.1
    assert rates["corrected"] < rates["not corrected"]


def test_runs_until_a_verdict_keep_their_level_and_save_items() -> None:
    even, edge, large = (until_conclusive(truth, 0.04)(np.random.default_rng(2), 40) for truth in (50.0, 55.0, 70.0))
    rates = [{name: total / number for name, (total, number) in counts.items()} for counts in (even, edge, large)]
    # With 40 data sets, a rate of 5% leads to at most six false claims in 99.9% of simulations.
    assert rates[0]["significant"] <= 0.15
    assert rates[1]["no bias"] <= 0.15
    assert rates[2]["significant"] >= 0.9
    assert rates[2]["items"] < 800 < rates[0]["items"]
