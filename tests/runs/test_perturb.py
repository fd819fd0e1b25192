"""Runs on perturbed pairs are marked in protocol and request."""

import json
from pathlib import Path

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.runs.evaluate import evaluate

DROP = "drop-final-character"


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    sentences = [("she is loud .", "the nurse is loud ."), ("she was gentle .", "the nurse was gentle .")]
    lines = [
        {"id": str(n), "language": "en", "bias_type": "gender", "direction": "stereo", "more": more, "less": less}
        for n, (more, less) in enumerate(sentences)
    ]
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def tokens(scores: object) -> list[float]:
    return scores.query("role == 'shared_tokens'")["score"].tolist()  # type: ignore[attr-defined, no-any-return]


def test_the_final_character_is_dropped_and_the_protocol_names_it(masked: str, pairs: Path, tmp_path: Path) -> None:
    plain = evaluate(masked, str(pairs))
    changed = evaluate(masked, str(pairs), perturb=DROP, out=tmp_path / "run")
    assert tokens(plain.scores) == [3, 4]
    assert tokens(changed.scores) == [2, 3]
    assert set(changed.scores["protocol"]) == {record.protocol for record in changed.records} == {f"published/{DROP}"}
    assert json.loads((tmp_path / "run/manifest.json").read_text())["request"]["perturb"] == DROP
    assert "perturb" not in plain.manifest.request


def test_a_perturbed_run_does_not_overwrite_a_plain_one(masked: str, pairs: Path, tmp_path: Path) -> None:
    evaluate(masked, str(pairs), out=tmp_path / "run")
    with raises_mentioning(UsageError, str(tmp_path / "run"), "--force"):
        evaluate(masked, str(pairs), perturb=DROP, out=tmp_path / "run")


def test_unknown_perturbations_are_errors(masked: str, pairs: Path) -> None:
    with raises_mentioning(UsageError, "'shuffle'", DROP):
        evaluate(masked, str(pairs), perturb="shuffle")
    with raises_mentioning(UsageError, "starter", f"{DROP!r}"):
        evaluate(masked, "starter/intrasentence:en", perturb=DROP)
