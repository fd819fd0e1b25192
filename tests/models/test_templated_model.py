"""Texts inside a model's chat template: their tokens, their protocol, and notes about instruct models."""

from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from tests.models.tiny import CAUSAL, made, saved
from tests.models.tiny_tokenizers import word_level
from tests.support.command import command
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.api import compare
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models.checkpoint_model import open_model
from tiltmeter.models.in_memory_model import wrap_loaded_model
from tiltmeter.models.model_opener import open_given_model
from tiltmeter.models.model_protocol import Model
from tiltmeter.models.templated_model import USER_TURN, TemplatedModel
from tiltmeter.options import ModelOptions
from tiltmeter.questions import Question
from tiltmeter.runs.evaluate import evaluate

TEMPLATE = "<s>{% for turn in messages %}{{ turn.role }}: {{ turn.content }} . {% endfor %}"


def instruct_tokenizer(template: str = TEMPLATE) -> Any:
    tokenizer = word_level(bos_token="<s>")
    tokenizer.chat_template = template
    return tokenizer


@pytest.fixture
def instruct(tmp_path: Path) -> str:
    return saved(tmp_path / "instruct", made(CAUSAL["gpt2"]), instruct_tokenizer())


def log_prob(model: Any, ids: list[int], first: int) -> list[float]:
    """The log-probabilities of the tokens from `first` on, by a plain forward pass."""
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0].log_softmax(-1)
    return [logits[index - 1, ids[index]].item() for index in range(first, len(ids))]


def test_texts_are_read_after_the_template(instruct: str) -> None:
    """The scores of sentence pairs are the likelihoods of the sentences as the assistant's turn."""
    result = evaluate(instruct, "starter-pairs:en", limit=3, chat_template=True)
    model = made(CAUSAL["gpt2"])
    tokenizer = instruct_tokenizer()
    front = tokenizer(f"<s>user: {USER_TURN} . assistant: ", add_special_tokens=False)["input_ids"]
    assert result.texts is not None
    sentences = {
        row["item"]: next(text["text"] for text in row["texts"] if text["role"] == "more")
        for row in result.texts.to_dict("records")
    }
    assert result.scores["protocol"].unique().tolist() == ["likelihood/chat-template"]
    for row in result.scores[result.scores["role"] == "more"].to_dict("records"):
        own = tokenizer(sentences[row["item"]], add_special_tokens=False)["input_ids"]
        assert row["score"] == pytest.approx(sum(log_prob(model, front + own, len(front))), abs=1e-4)


@pytest.mark.parametrize("on", ["starter:en", "starter-gest"])
def test_every_benchmark_of_causal_models(on: str, instruct: str) -> None:
    plain = evaluate(instruct, on, limit=3)
    templated = evaluate(instruct, on, limit=3, chat_template=True)
    assert set(templated.scores["protocol"]) == {f"{name}/chat-template" for name in set(plain.scores["protocol"])}
    keys = ["part", "item", "candidate", "role"]
    assert plain.scores[keys].equals(templated.scores[keys])
    assert not plain.scores["score"].equals(templated.scores["score"])
    assert templated.manifest.request["chat_template"] is True
    # Three sentences of GEST may all be about men, so that g_s is not defined.
    notes, plain_notes = (
        [note for note in result.manifest.notes if "is not defined" not in note] for result in (templated, plain)
    )
    assert notes == []
    assert templated.manifest.models[0].details["chat_template"] == {
        "text in front of each item": f"<s>user: {USER_TURN} . assistant: "
    }
    (note,) = plain_notes
    assert_mentions(note, instruct, "instruct model", "--chat-template")


def test_a_run_says_that_it_is_an_instruct_model(
    instruct: str, causal: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ("--on", "starter-pairs:en", "--limit", "4", "--out", str(tmp_path / "run"), "--report")
    assert command(monkeypatch, "run", instruct, *words) == 0
    assert capsys.readouterr().err.count("instruct model") == 1
    assert "instruct model" in (tmp_path / "run/report.html").read_text(encoding="utf-8")
    assert command(monkeypatch, "run", causal, "--on", "starter-pairs:en", "--limit", "4") == 0
    assert "instruct" not in capsys.readouterr().err


def test_a_comparison_of_both_ways_warns(
    instruct: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name, options in (("plain", {}), ("inside", {"chat_template": True})):
        evaluate(instruct, "starter-pairs:en", out=tmp_path / name, **options)  # type: ignore[arg-type]
    folders = (str(tmp_path / "plain"), str(tmp_path / "inside"))
    assert command(monkeypatch, "compare", *folders) == 2
    assert_mentions(capsys.readouterr().err, "protocols", "likelihood/chat-template")
    assert command(monkeypatch, "compare", *folders, "--across", "protocols") == 0
    assert "Compared across protocols" in "".join(capsys.readouterr())


def test_the_space_in_front_of_a_word() -> None:
    """SentencePiece gives the space at the end of a template to the text after it, so it is not asked about twice."""
    words = ["<s>", "▁user:", "▁assistant:", "▁Write", "▁a", "▁sentence.", "▁The", "▁nurse"]
    backend = Tokenizer(models.WordLevel({word: i for i, word in enumerate(["<unk>", *words])}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>", bos_token="<s>")
    tokenizer.chat_template = "{% for turn in messages %}{{ turn.role }}: {{ turn.content }} {% endfor %}"
    inside = TemplatedModel(wrap_loaded_model(made(CAUSAL["gpt2"]), tokenizer))
    (text,) = inside.text.encode_with_special_tokens(["The nurse"])
    asked = inside.prepend_template(Question(text.ids, ((0, text.ids[1]), (1, text.ids[2]))))
    whole = tokenizer(f"user: {USER_TURN} assistant: The nurse", add_special_tokens=False)["input_ids"]
    assert asked.ids == tuple(whole)
    assert asked.wanted == ((len(whole) - 3, whole[-2]), (len(whole) - 2, whole[-1]))


def test_the_longest_text_is_shorter_by_the_template(instruct: str) -> None:
    plain = open_model(instruct)
    inside = open_given_model(instruct, ModelOptions(chat_template=True))
    assert isinstance(inside, TemplatedModel)
    assert isinstance(inside, Model)
    assert plain.max_length is not None
    front = plain.tokenizer(f"<s>user: {USER_TURN} . assistant: ", add_special_tokens=False)["input_ids"]
    assert inside.max_length == plain.max_length - len(front) + 1


@pytest.mark.parametrize(
    ("template", "part"),
    [
        ("{{ raise_exception('no such turn') }}", "no such turn"),
        ("<s>{{ messages[0].content }}", "the assistant's turn"),
        ("{% for turn in messages %}x{{ turn.content }}{% endfor %}", "splits a text"),
        (None, "no chat template"),
    ],
)
def test_templates_that_cannot_be_used(template: str | None, part: str, tmp_path: Path) -> None:
    folder = saved(tmp_path / "m", made(CAUSAL["gpt2"]), instruct_tokenizer(template))  # type: ignore[arg-type]
    with raises_mentioning(ModelError, folder, part):
        open_given_model(folder, ModelOptions(chat_template=True))


def test_a_masked_model_is_an_error(
    masked: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, "run", masked, "--on", "starter-pairs:en", "--chat-template") == 2
    assert_mentions(capsys.readouterr().err, masked, "masked model", "--chat-template")


def test_a_templated_model_and_one_of_another_kind(instruct: str, masked: str, tmp_path: Path) -> None:
    """A comparison across kinds allows other protocols, but not another use of the template."""
    one = evaluate(masked, "starter/intrasentence:en", limit=20)
    inside = evaluate(instruct, "starter/intrasentence:en", limit=20, chat_template=True)
    with raises_mentioning(UsageError, "protocols", "chat-template"):
        compare([one, inside], across=["kinds"])
    assert "Compared across protocols" in " ".join(compare([one, inside], across=["kinds", "protocols"]).notes)
