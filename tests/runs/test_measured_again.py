"""Records that are recomputed from the scores of a run equal the saved ones."""

from pathlib import Path

import pytest

import tiltmeter


@pytest.mark.parametrize(
    ("model", "benchmarks"),
    [("bert-tiny", ["starter:en", "starter-pairs:de"]), ("gpt2-tiny", ["starter-pairs:en", "starter-gest:en"])],
)
def test_the_scores_of_a_run_give_its_records(
    model: str, benchmarks: list[str], fixtures_dir: Path, tmp_path: Path
) -> None:
    tiltmeter.evaluate(str(fixtures_dir / model), benchmarks, margins={"SS": 3}, out=tmp_path / "run")
    result = tiltmeter.load_run(tmp_path / "run")
    assert len(result.records) > 20
    assert result.remeasure().records == result.records
