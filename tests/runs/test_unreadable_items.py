"""Items that a model cannot read are counted, and flagged or skipped; many of them make a result not interpretable."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
import transformers as t
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

import tiltmeter
from tests.models.tiny import made, saved
from tests.models.tiny_tokenizers import byte_level
from tests.support.messages import raises_mentioning
from tiltmeter.benchmarks.benchmark import PartTrials, Trial
from tiltmeter.datasets import load
from tiltmeter.errors import ModelError
from tiltmeter.questions import Question
from tiltmeter.runs.manifest import FlaggedItem
from tiltmeter.runs.unreadable_items import ALL_ZERO, NO_TOKEN, UNKNOWN_TOKENS, find_unreadable_items, find_zero_scores

WORDS = [
    "the",
    "cook",
    "a",
    "nurse",
    "pilot",
    "farmer",
    "is",
    "was",
    "very",
    "kind",
    "calm",
    "loud",
    "brave",
    "shy",
    "green",
    ".",
    "said",
    "she",
    "he",
]
# SentencePiece tokenizers encode an invisible character as a space.
INVISIBLE = "\u2060"
UNREAD = "zeppelin"


def words(**special: str) -> PreTrainedTokenizerFast:
    """Return a tokenizer that knows the words above and the invisible character."""
    vocabulary = {word: i for i, word in enumerate(["<unk>", "<s>", "<mask>", *special.values(), *WORDS, INVISIBLE])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", mask_token="<mask>", **special
    )


@pytest.fixture
def masked(tmp_path: Path) -> str:
    config = t.BertConfig(
        vocab_size=40, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24
    )
    return saved(tmp_path / "masked", made(lambda: t.BertForMaskedLM(config)), words())


def written(path: Path, candidates: list[tuple[str, str, str]], language: str = "en") -> str:
    """Write a file of items that fill a blank with one of these words."""
    rows = [
        {
            "id": f"i{number}",
            "part": "intrasentence",
            "language": language,
            "bias_type": "profession",
            "target": "cook",
            "context": "the cook was BLANK .",
            "candidates": {"stereotype": one, "anti-stereotype": other, "unrelated": third},
        }
        for number, (one, other, third) in enumerate(candidates)
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return str(path)


GOOD = ("kind", "loud", "green")


def verdict(result: tiltmeter.Result, view: str = "all") -> Any:
    (record,) = [r for r in result.records if r.measure == "SS" and r.view == view]
    return record.verdict


def test_the_published_protocol_flags_and_others_leave_out(masked: str, tmp_path: Path) -> None:
    data = written(tmp_path / "d.jsonl", [GOOD] * 19 + [("kind", UNREAD, "green")])
    published = tiltmeter.evaluate(masked, data, out=tmp_path / "run")
    assert published.scores["item"].nunique() == 20
    assert not published.manifest.skipped
    (flag,) = published.manifest.flagged
    assert flag == FlaggedItem(masked, data, "intrasentence", "en", "i19", UNKNOWN_TOKENS, unknown=1, scored=3)
    page = tiltmeter.report(tmp_path / "run").read_text(encoding="utf-8")
    assert "i19 (1 of 3)" in page
    other = tiltmeter.evaluate(masked, data, protocol="in-context")
    assert other.scores["item"].nunique() == 19
    assert [(skip.item, skip.reason) for skip in other.manifest.skipped] == [("i19", UNKNOWN_TOKENS)]
    assert not other.manifest.flagged
    for result in (published, other):
        (asked,) = result.manifest.asked
        assert (asked.unknown, asked.items) == (1, 20)
        assert "of 20 items" not in verdict(result).words


@pytest.mark.parametrize("protocol", ["published", "in-context"])
def test_over_a_tenth_of_a_portion_is_not_interpretable_nor_are_its_groups(
    protocol: str, masked: str, tmp_path: Path
) -> None:
    data = written(tmp_path / "d.jsonl", [GOOD] * 17 + [("kind", UNREAD, "green")] * 3)
    result = tiltmeter.evaluate(masked, data, protocol=protocol)
    for view in ("all", "bias_type"):
        assert verdict(result, view).kind == "not interpretable"
        assert "3 of 20 items" in verdict(result, view).reason


def test_texts_with_only_white_space_tokens_are_unreadable(masked: str, tmp_path: Path) -> None:
    class Spaced:
        """A tokenizer that decodes the invisible character as an empty text, like XLM-R and T5."""

        def __init__(self, text: Any) -> None:
            self.text = text

        def __getattr__(self, name: str) -> Any:
            return getattr(self.text, name)

        def decode(self, ids: Any) -> str:
            return str(self.text.decode(ids)).replace(INVISIBLE, "")

    from tiltmeter.benchmarks import get_benchmark
    from tiltmeter.models.checkpoint_model import open_model
    from tiltmeter.runs.portions import load_portions

    data = written(tmp_path / "d.jsonl", [GOOD, ("kind", INVISIBLE, "green")])
    (portion,) = load_portions(data)
    text: Any = Spaced(open_model(masked).text)
    asked = get_benchmark("association").ask("intrasentence", portion.items, text, protocol="published")
    (unreadable,) = find_unreadable_items(asked, portion.items, "association", text).values()
    assert (unreadable.item, unreadable.reason) == ("i1", NO_TOKEN)


def test_a_portion_in_another_script_is_not_asked(masked: str, tmp_path: Path) -> None:
    english = written(tmp_path / "en.jsonl", [GOOD] * 5)
    rows = Path(english).read_text(encoding="utf-8").replace('"en"', '"uk"')
    for word, other in (("the cook was", "кухар був"), ("kind", "добрий"), ("loud", "гучний"), ("green", "зелений")):
        rows = rows.replace(f'"{word}', f'"{other}')
    ukrainian = tmp_path / "uk.jsonl"
    ukrainian.write_text(rows, encoding="utf-8")
    with raises_mentioning(ModelError, "tokens are unknown", "--tokenizer"):
        tiltmeter.evaluate(masked, str(ukrainian))
    both = tiltmeter.evaluate(masked, [english, str(ukrainian)])
    assert set(both.scores["language"]) == {"en"}
    (refused,) = both.manifest.refused
    assert refused.language == "uk"
    assert "tokens are unknown" in refused.reason


def test_items_with_only_zero_scores_are_unreadable(masked: str, tmp_path: Path) -> None:
    """Probabilities that are too small for a float are 0 for all candidates, which is not a meaningful tie."""
    model = t.BertForMaskedLM.from_pretrained(masked)
    with torch.no_grad():  # one token takes all the probability
        model.cls.predictions.decoder.bias[:] = -5000.0
        model.cls.predictions.decoder.bias[1] = 5000.0
        model.cls.predictions.bias.copy_(model.cls.predictions.decoder.bias)
    model.save_pretrained(masked)
    data = written(tmp_path / "d.jsonl", [GOOD] * 12)
    result = tiltmeter.evaluate(masked, data)
    assert (result.scores["score"] == 0.0).all()
    assert {entry.reason for entry in result.manifest.flagged} == {ALL_ZERO}
    assert "12 of 12 items" in verdict(result).reason
    with raises_mentioning(ModelError, "No item", ALL_ZERO):
        tiltmeter.evaluate(masked, data, protocol="in-context")


def test_a_signed_number_may_be_zero() -> None:
    scores = [0.0, 0.0, 0.0, 1.0]
    table = pd.DataFrame({"item": ["a", "a", "b", "b"], "role": ["more", "less"] * 2, "score": scores})
    assert list(find_zero_scores(table)) == ["a"]
    signed = pd.DataFrame({"item": ["a", "b"], "role": "log_ratio", "score": [0.0, 1.0], "stereotype": 8})
    assert not find_zero_scores(signed)


def test_byte_level_tokenizers_have_no_unknown_tokens(tmp_path: Path) -> None:
    config = t.GPT2Config(vocab_size=300, n_embd=16, n_layer=2, n_head=2, n_positions=128)
    folder = saved(tmp_path / "bytes", made(lambda: t.GPT2LMHeadModel(config)), byte_level())
    result = tiltmeter.evaluate(folder, "starter:en", limit=12)
    assert {(asked.unknown, asked.zero) for asked in result.manifest.asked} == {(0, 0)}
    assert not [r for r in result.records if r.measure == "items with unknown tokens"]
    assert len({asked.tokenizer for asked in result.manifest.asked}) == 1


def test_decisions_of_a_next_sentence_head_are_no_tokens() -> None:
    item = load("starter", "intersentence", "en")[0]

    class NoText:
        unknown = 0

        def encode(self, texts: list[str]) -> list[Any]:
            return [Question((5,), ()) for _ in texts]

        def decode(self, ids: Any) -> str:
            return "word"

    def find(kind: Any, ids: tuple[int, ...]) -> set[str]:
        asked = PartTrials(kind, "published", [Trial(item, (Question(ids, ((0, 0),)),), lambda _answers: [])])
        return set(find_unreadable_items(asked, [item], "association", NoText()))  # type: ignore[arg-type]

    assert find("next-sentence", (5, 6)) == set()
    assert find("next-sentence", (5, 0)) == {item.id}
    assert find("causal", (5, 6)) == {item.id}
