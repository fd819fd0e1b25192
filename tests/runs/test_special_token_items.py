"""Items that contain a special token are skipped and listed, for all kinds of models."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.models.tiny_tokenizers import byte_level, word_level, word_piece
from tests.support.messages import raises_mentioning
from tiltmeter import evaluate
from tiltmeter.errors import ModelError
from tiltmeter.forms.gest import GestItem
from tiltmeter.forms.pairs import PairItem
from tiltmeter.models.tokenizer_text import TokenizerText
from tiltmeter.runs.special_token_items import find_special_tokens, split_special_items


def pair(id_: str, more: str) -> PairItem:
    return PairItem(id_, "en", "gender", "stereo", more, "the nurse was kind .")


def text_of(tokenizer: Any) -> TokenizerText:
    return TokenizerText(tokenizer, SimpleNamespace(), "masked")


@pytest.mark.parametrize(
    ("tokenizer", "spelling"),
    [
        (word_piece(), "[MASK]"),
        (word_piece(), "[SEP]"),
        (word_piece(), "[UNK]"),
        (byte_level(mask=True), "<mask>"),
        (byte_level(), "<s>"),
        (word_level(bos_token="<s>", eos_token="</s>"), "</s>"),
        (word_level(bos_token="<s>", pad_token="<pad>"), "<pad>"),
        (word_level(bos_token="<s>", eos_token="<|im_end|>"), "<|im_end|>"),
    ],
)
def test_spelled_tokens_are_found_on_the_tokenizer(tokenizer: Any, spelling: str) -> None:
    items = [pair("plain", "the nurse was gentle ."), pair("odd", f"the nurse was {spelling} gentle .")]
    assert find_special_tokens(items, "pairs", text_of(tokenizer)) == {"odd": spelling}
    kept, skipped = split_special_items(items, "pairs", text_of(tokenizer))
    assert [item.id for item in kept] == ["plain"]
    assert [(skip.item, spelling in skip.reason) for skip in skipped] == [("odd", True)]


def test_an_added_token_that_is_written_like_a_special_one_counts() -> None:
    tokenizer = byte_level()
    tokenizer.add_tokens(["<think>", "gentleness"])
    items = [pair("mark", "she is <think> loud"), pair("word", "her gentleness is loud")]
    assert find_special_tokens(items, "pairs", text_of(tokenizer)) == {"mark": "<think>"}


def test_texts_that_are_no_special_tokens_of_the_tokenizer_are_kept() -> None:
    items = [pair("other", "the nurse was <mask> gentle ."), pair("blank", "the nurse was BLANK .")]
    assert find_special_tokens(items, "pairs", text_of(word_piece())) == {}


def test_frames_are_texts_of_a_model() -> None:
    item = GestItem("g", "en", 9, "she is loud", male_frame="{sentence} [MASK] he", female_frame="{sentence} she")
    assert find_special_tokens([item], "gest", text_of(word_piece())) == {"g": "[MASK]"}


def written(path: Path, sentences: list[str]) -> str:
    lines = [
        {"id": str(n), "language": "en", "bias_type": "age", "more": f"{text} .", "less": f"{text} loud ."}
        for n, text in enumerate(sentences)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


def test_a_run_lists_them_and_scores_the_others(masked: str, tmp_path: Path) -> None:
    plain = ["the nurse was kind to me", "she is very gentle", "a nurse is kind"]
    clean = evaluate(masked, written(tmp_path / "pairs.jsonl", plain), out=tmp_path / "clean")
    mixed = evaluate(masked, written(tmp_path / "pairs.jsonl", [*plain, "she is [MASK] kind"]), out=tmp_path / "mixed")
    (skipped,) = mixed.manifest.skipped
    assert (skipped.item, "[MASK]" in skipped.reason) == ("3", True)
    columns = ["item", "role", "score"]
    assert mixed.scores[columns].equals(clean.scores[columns])


def test_the_error_of_a_run_without_other_items_names_the_token(causal: str, tmp_path: Path) -> None:
    with raises_mentioning(ModelError, "<s>"):
        evaluate(causal, written(tmp_path / "pairs.jsonl", ["she is <s> kind"]))
