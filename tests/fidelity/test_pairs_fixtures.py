"""Scores of two tiny models equal those of the released code of Steinborn et al., in ten languages and on CrowS-Pairs.

That code computes in float32. It is accurate on these models, because their probabilities are never close to 1. The
last tests show where it is inaccurate, on the same model with larger logits.
"""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.answered import answered
from tiltmeter.benchmarks.benchmark import PartTrials
from tiltmeter.benchmarks.gold_distance import compute_gold_distance
from tiltmeter.benchmarks.pairs import ask
from tiltmeter.datasets import load
from tiltmeter.engine.execution import BatchAnswerer
from tiltmeter.models.checkpoint_model import CheckpointModel, open_model
from tiltmeter.questions import Question

QUICK = ("en", "th", "crows-en")
SLOW = ("ar", "de", "fi", "fr", "id", "ko", "vi", "zh")
MODELS = ("bert-tiny", "xlmr-tiny")


@pytest.fixture(autouse=True)
def _use_the_mirror(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_MIRROR", str(mirror))


def put(model: CheckpointModel, name: str, language: str, wanted: set[str]) -> PartTrials:
    items: Any = [item for item in load(name, None, language) if item.id in wanted]
    return ask("all", items, model.text, protocol="published")


def scores(asked: PartTrials, answerer: BatchAnswerer) -> dict[str, dict[str, float]]:
    return {item: {score.role: score.score for score in rows} for item, rows in answered(asked, answerer)}


@pytest.mark.parametrize("language", [*QUICK, *(pytest.param(language, marks=pytest.mark.slow) for language in SLOW)])
@pytest.mark.parametrize("name", MODELS)
def test_scores_equal_those_of_the_released_code(name: str, language: str, fixtures_dir: Path) -> None:
    expected = json.loads((fixtures_dir / f"expected/pairs-{name}-{language}.json").read_text())
    assert len(expected) == (120 if language == "crows-en" else 212)
    if language in SLOW:
        expected = dict(list(expected.items())[::4])
    model = open_model(str(fixtures_dir / name))
    benchmark = ("crows-pairs", "en") if language == "crows-en" else ("gender-pairs", language)
    asked = put(model, *benchmark, set(expected))
    assert not asked.skipped
    found = scores(asked, model.get_answerer("masked"))
    assert len(found) == len(expected)
    for pair, numbers in expected.items():
        ours = found[pair]
        assert ours["shared_tokens"] == numbers["shared_tokens"], pair
        assert ours["more"] == pytest.approx(numbers["more"], abs=1e-3), pair
        assert ours["less"] == pytest.approx(numbers["less"], abs=1e-3), pair
        assert ours["s_jsd"] == pytest.approx(numbers["s_jsd"], abs=1e-6), pair
        if abs(numbers["s_jsd"]) > 1e-5:
            assert ours["b_s_jsd"] == numbers["b_s_jsd"], pair


def with_larger_logits(model: Any, scale: float) -> Any:
    """Return a copy of the model with larger logits."""
    model = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in model.cls.predictions.transform.LayerNorm.parameters():
            parameter.mul_(scale)
        model.cls.predictions.decoder.bias.mul_(scale)
    return model


def as_released(logits: torch.Tensor, token: int) -> float:
    """Return the distance of the paper's Eq. 3, in float32."""
    p = torch.softmax(logits, dim=-1)[token]
    return float(torch.sqrt((p * torch.log2(p) - (p + 1) * torch.log2(p + 1) + 2) / 2))


@torch.no_grad()
def distances(model: Any, questions: tuple[Question, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return the distance of each token in double precision, and as in the released code."""
    double = copy.deepcopy(model).double()
    exact, released = [], []
    for question in questions:
        ((place, token),) = question.wanted
        ids = torch.tensor([question.ids])
        exact.append(
            float(compute_gold_distance(float(torch.log_softmax(double(ids).logits[0, place], dim=-1)[token])))
        )
        released.append(as_released(model(ids).logits[0, place], token))
    return np.array(exact), np.array(released)


@pytest.mark.parametrize(("scale", "wrong"), [(1.0, False), (4.0, True), (16.0, True)])
def test_a_model_that_is_sure_of_itself_is_measured_right(scale: float, wrong: bool, fixtures_dir: Path) -> None:
    tiny = open_model(str(fixtures_dir / "bert-tiny"))
    answerer: Any = type(tiny.get_answerer("masked"))
    model = with_larger_logits(tiny.get_answerer("masked").model, scale)
    chosen = {item.id for item in load("gender-pairs", None, "en")[:15]}
    asked = put(tiny, "gender-pairs", "en", chosen)
    found = scores(asked, answerer(model, torch.device("cpu")))
    off = []
    for trial in asked.trials:
        exact, released = distances(model, trial.questions)
        more, less = exact.reshape(2, -1)
        assert found[trial.item.id]["s_jsd"] == pytest.approx(float(np.mean(more - less)), abs=1e-6)
        off.append(np.abs(released - exact).max())
    # The released formula is off by about 1e-4 if p is near 1, and NaN if p is 0 in float32.
    assert (np.isnan(off).any() or np.max(off) > 5e-5) == wrong
