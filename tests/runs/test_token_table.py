"""Stored token log-probabilities add up to the scores and are shown in the report."""

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
import transformers as t

from tests.models.tiny import made, saved
from tests.models.tiny_tokenizers import byte_level, word_piece
from tiltmeter.runs.evaluate import evaluate
from tiltmeter.runs.result import Result

ITEMS = [
    {"id": "1", "language": "en", "bias_type": "gender", "direction": "stereo", "more": "the nurse was gentle",
     "less": "the gruff was gentle"},
    {"id": "2", "language": "en", "bias_type": "gender", "direction": "stereo", "more": "she is gentle",
     "less": "a loud nurse is gentle"},
]  # fmt: skip


def pairs_file(folder: Path) -> str:
    path = folder / "pairs.en.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in ITEMS), encoding="utf-8")
    return str(path)


def causal(folder: Path) -> str:
    config = t.GPT2Config(vocab_size=len(byte_level()), n_embd=16, n_layer=2, n_head=2, n_positions=128)
    return saved(folder, made(lambda: t.GPT2LMHeadModel(config)), byte_level())


def masked(folder: Path) -> str:
    config = t.BertConfig(
        vocab_size=len(word_piece()), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24
    )
    return saved(folder, made(lambda: t.BertForMaskedLM(config)), word_piece())


@pytest.mark.parametrize(
    ("make", "protocol"), [(causal, "published"), (masked, "published"), (masked, "within-word-l2r"), (masked, "aul")]
)
def test_tokens_add_up_to_the_scores(make: Any, protocol: str, tmp_path: Path) -> None:
    result = evaluate(make(tmp_path / "model"), pairs_file(tmp_path), protocol=protocol, keep_tokens=True)
    assert result.tokens is not None
    for (item, side), tokens in result.tokens.groupby(["item", "side"]):
        rows = result.scores[(result.scores["item"] == item) & (result.scores["role"] == side)]
        total = tokens["log_prob"].mean() if protocol == "aul" else tokens["log_prob"].sum()
        assert total == pytest.approx(rows["score"].item(), abs=1e-4)
        sentence = next(entry[side] for entry in ITEMS if entry["id"] == item)
        assert "".join(tokens["token"]).replace("␣", "") == sentence.replace(" ", "")
        words = sentence.split()
        assert int(tokens["begins"].sum()) == len(words)


def test_words_that_differ_have_no_log_probability(tmp_path: Path) -> None:
    result = evaluate(masked(tmp_path / "model"), pairs_file(tmp_path), keep_tokens=True)
    assert result.tokens is not None
    unasked = result.tokens[result.tokens["log_prob"].isna()]
    assert set(unasked["token"]) == {"nurse", "gruff", "she", "a", "loud"}
    assert evaluate(masked(tmp_path / "model"), pairs_file(tmp_path)).tokens is None


def test_the_report_shows_them(tmp_path: Path) -> None:
    from tiltmeter.api import report

    folder = tmp_path / "run"
    evaluate(causal(tmp_path / "model"), pairs_file(tmp_path), keep_tokens=True, out=folder)
    loaded = Result.load(folder)
    assert loaded.tokens is not None
    page = Path(report([folder], tmp_path / "report.html")).read_text(encoding="utf-8")
    packed = re.search(r'id="packed"[^>]*>([^<]+)<', page)
    assert packed is not None
    (only,) = json.loads(gzip.decompress(base64.b64decode(packed[1])))["sets"]
    assert len(only["tokens"]) == len(only["items"]) == 2
    more, less = only["tokens"][0][0]
    assert "".join(token for token, _, _ in more).replace("␣", "") == ITEMS[0]["more"].replace(" ", "")
    assert all(value is not None for _, value, _ in less)
