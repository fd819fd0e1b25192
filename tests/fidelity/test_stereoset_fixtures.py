"""Scores of four tiny models equal those of the released code of Öztürk et al., in five languages."""

import json
from functools import cache
from pathlib import Path

import pytest

from tests.support.answered import answered
from tiltmeter.benchmarks.association import ask
from tiltmeter.datasets import load
from tiltmeter.models.checkpoint_model import CheckpointModel, open_model

LANGUAGES = ("de", "en", "es", "fr", "tr")
CASES = ("orig", "b", "c", "d", "e", "f")
FILES = [
    *(("intra", model, "intrasentence", "published") for model in ("bert-tiny", "xlmr-tiny", "gpt2-tiny", "t5-tiny")),
    ("inter-nsp", "bert-tiny", "intersentence", "published"),
    ("inter-gen", "t5-tiny", "intersentence", "published"),
    *((f"inter-{case}", "gpt2-tiny", "intersentence", f"published/{case}") for case in CASES),
]

# If a next-sentence head is nearly certain, the probability 1e-4 is a small difference of large logits. The float32
# reference numbers are then up to 1.0e-5 from double precision, and float32 on another processor up to 1.2e-5 (ARM),
# so the two may differ by 2.2e-5.
TOLERANCE = {"inter-nsp": 2.5e-5}

items_of = cache(load)
model_at = cache(open_model)


def scores(model: CheckpointModel, part: str, language: str, protocol: str, wanted: set[str]) -> dict[str, float]:
    items = [item for item in items_of("stereoset", part, language) if item.candidates[0].id in wanted]  # type: ignore[union-attr]
    asked = ask(part, items, model.text, protocol=protocol)  # type: ignore[arg-type]
    rows = answered(asked, model.get_answerer(asked.kind))
    return {score.candidate: score.score for _, scores in rows for score in scores}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("name", "model", "part", "protocol"), FILES)
def test_scores_equal_those_of_the_released_code(
    name: str,
    model: str,
    part: str,
    protocol: str,
    language: str,
    fixtures_dir: Path,
    mirror: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TILTMETER_MIRROR", str(mirror))
    expected = json.loads((fixtures_dir / f"expected/stereoset-{name}-{model}-{language}.json").read_text())
    found = scores(model_at(str(fixtures_dir / model)), part, language, protocol, set(expected))
    assert len(found) == len(expected) == 360
    for candidate, number in expected.items():
        assert found[candidate] == pytest.approx(number, rel=TOLERANCE.get(name, 1e-5)), candidate
