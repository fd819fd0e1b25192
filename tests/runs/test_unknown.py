"""Items with unknown scored tokens are counted and make a result not interpretable."""

from pathlib import Path
from typing import Any

from transformers import GPT2Config, GPT2LMHeadModel

import tiltmeter
from tests.models.tiny import CAUSAL, made, saved
from tests.models.tiny_tokenizers import byte_level, word_level
from tiltmeter.benchmarks.benchmark import Asked, Trial
from tiltmeter.datasets import load
from tiltmeter.questions import Question
from tiltmeter.runs.evaluate import _with_unknown


def measured(folder: Path, model: Any, tokenizer: Any) -> tiltmeter.Result:
    saved(folder, model, tokenizer)
    return tiltmeter.evaluate(str(folder), "starter:en", limit=12)


def test_unknown_tokens_are_counted_and_named_in_the_verdict(tmp_path: Path) -> None:
    result = measured(tmp_path / "words", made(CAUSAL["gpt2"]), word_level(bos_token="<s>"))
    assert [(asked["unknown"], asked["items"]) for asked in result.manifest["asked"]] == [(12, 12), (12, 12)]
    verdicts = {r.part: r.verdict for r in result.records if r.measure == "SS" and r.view == "all"}
    assert verdicts["overall"] is not None
    assert verdicts["overall"].kind == "not interpretable"
    assert "24 of 24 items have tokens that the model does not know" in verdicts["overall"].reason


def test_byte_level_tokenizers_have_no_unknown_tokens(tmp_path: Path) -> None:
    config = GPT2Config(vocab_size=300, n_embd=16, n_layer=2, n_head=2, n_positions=128)
    result = measured(tmp_path / "bytes", made(lambda: GPT2LMHeadModel(config)), byte_level())
    assert {asked["unknown"] for asked in result.manifest["asked"]} == {0}
    assert not [r for r in result.records if r.measure == "items with unknown tokens"]
    assert len({asked["tokenizer"] for asked in result.manifest["asked"]}) == 1


def test_decisions_of_a_next_sentence_head_are_no_tokens() -> None:
    item = load("starter", "intersentence", "en")[0]

    def asked(kind: Any, ids: tuple[int, ...]) -> Asked:
        return Asked(kind, "published", [Trial(item, (Question(ids, ((0, 0),)),), lambda _answers: [])])

    assert _with_unknown(asked("next-sentence", (5, 6)), unknown=0) == set()
    assert _with_unknown(asked("next-sentence", (5, 0)), unknown=0) == {item.id}
    assert _with_unknown(asked("causal", (5, 6)), unknown=0) == {item.id}
