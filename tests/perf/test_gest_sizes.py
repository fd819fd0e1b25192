"""Slopes of the published rates of GEST by size, compared with a plain regression and the table in the docs."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from perf.gest_sizes import FAMILIES, instruct_gaps, log_rates, markdown, slopes

DOCS = Path(__file__).resolve().parents[2] / "docs" / "evidence" / "comparisons.md"


def test_slopes_are_those_of_a_plain_regression() -> None:
    rates = log_rates()
    found = {slope.family: slope for slope in slopes()}
    for family, models in FAMILIES.items():
        line = stats.linregress(np.log10([*models.values()]), [rates[model] for model in models])
        assert found[family].value == pytest.approx(line.slope)
        if len(models) > 2:
            assert found[family].p_value == pytest.approx(line.pvalue)


def test_the_findings_of_the_paper_on_size_and_instructions_are_confirmed() -> None:
    """Larger models and all instruction-tuned models are more stereotypical."""
    within = slopes()[-1]
    assert within.interval is not None
    assert within.interval[0] > 0
    assert min(instruct_gaps().values()) > 0


def test_the_docs_have_these_numbers() -> None:
    text = DOCS.read_text(encoding="utf-8")
    assert markdown() in text
    gaps = sorted(np.exp(list(instruct_gaps().values())))
    assert f"{gaps[0]:.2f} to {gaps[-1]:.2f} times" in text
