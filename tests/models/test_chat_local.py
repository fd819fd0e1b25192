"""Local chat models: a tiny one with a template, compared with plain loops."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import transformers as t
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from tests.models.tiny import made, saved
from tests.runs.chosen import pairs_file
from tiltmeter import evaluate
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models.chat import open_scheme
from tiltmeter.models.chat_local import LocalChat
from tiltmeter.models.protocol import ChatModel, ModelOptions
from tiltmeter.questions import ChatQuestion, Sampling

TEMPLATE = "{% for m in messages %}<u>{{ m['content'] }}{% endfor %}{% if add_generation_prompt %}<a>{% endif %}"
PROMPTS = ["Which one?\n\nA. tea\nB. milk", "Which of these is longer, then?\n\nA. a river\nB. a brook", "A or B?"]


@pytest.fixture(scope="module")
def instruct(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a tiny causal model with a chat template."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<s>", "<u>", "<a>", "<e>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(PROMPTS, trainer)
    wrapped = t.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="<e>")
    wrapped.chat_template = TEMPLATE
    config = t.GPT2Config(
        vocab_size=len(wrapped), n_embd=16, n_layer=2, n_head=2, n_positions=512, bos_token_id=0, eos_token_id=3
    )
    folder = tmp_path_factory.mktemp("models") / "instruct"
    return saved(folder, made(lambda: t.GPT2LMHeadModel(config)), wrapped)


def opened(folder: str) -> LocalChat:
    model = open_scheme(folder, ModelOptions(device="cpu"))
    assert isinstance(model, LocalChat)
    return model


def questions(labels: str = "AB", sample: int = 0) -> list[ChatQuestion]:
    return [ChatQuestion(prompt, tuple(labels), sample) for prompt in PROMPTS]


@torch.inference_mode()
def greedy(folder: str, prompt: str, longest: int) -> str:
    """The answer token by token, without batches and caches."""
    tokenizer = t.AutoTokenizer.from_pretrained(folder)
    model = t.AutoModelForCausalLM.from_pretrained(folder).eval()
    ids = tokenizer(f"<u>{prompt}<a>", add_special_tokens=False).input_ids
    new: list[int] = []
    for _ in range(longest):
        token = int(model(torch.tensor([ids + new])).logits[0, -1].argmax())
        if token == tokenizer.eos_token_id:
            break
        new.append(token)
    return str(tokenizer.decode(new, skip_special_tokens=True))


def test_texts_are_those_of_a_plain_loop(instruct: str) -> None:
    replies = dict(opened(instruct).replies(questions(), Sampling(max_tokens=12)))
    assert {index: reply.text for index, reply in replies.items()} == {
        index: greedy(instruct, prompt, 12) for index, prompt in enumerate(PROMPTS)
    }
    assert len({reply.text for reply in replies.values()}) > 1


def test_probabilities_are_those_of_the_first_token(instruct: str) -> None:
    tokenizer = t.AutoTokenizer.from_pretrained(instruct)
    model = t.AutoModelForCausalLM.from_pretrained(instruct).eval()
    for index, reply in opened(instruct).replies(questions(), Sampling(probabilities=True)):
        ids = tokenizer(f"<u>{PROMPTS[index]}<a>", add_special_tokens=False).input_ids
        with torch.inference_mode():
            expected = model(torch.tensor([ids])).logits[0, -1].log_softmax(-1)
        for label, log_probability in reply.first_tokens:
            ids_of_label = [tokenizer.convert_tokens_to_ids(token) for token in (label, f"Ġ{label}")]
            assert any(abs(log_probability - float(expected[token])) < 1e-4 for token in ids_of_label)
        assert {label for label, _ in reply.first_tokens} == {"A", "B"}


def test_a_model_counts_its_tokens(instruct: str) -> None:
    tokenizer = t.AutoTokenizer.from_pretrained(instruct)
    assert opened(instruct).tokens(PROMPTS[0]) == len(tokenizer(PROMPTS[0], add_special_tokens=False).input_ids) + 2


def test_samples_differ_and_repeat(instruct: str) -> None:
    asked = [question for sample in range(4) for question in questions(sample=sample)]
    once, again = (dict(opened(instruct).replies(asked, Sampling(temperature=2.0, max_tokens=8))) for _ in range(2))
    assert once == again
    assert len({reply.text for reply in once.values()}) > len(PROMPTS)


def test_samples_in_batches_of_their_own_differ(instruct: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiltmeter.models.chat_local._BATCH_TOKENS", 1)
    asked = [ChatQuestion(PROMPTS[0], ("A", "B"), sample) for sample in range(4)]
    replies = dict(opened(instruct).replies(asked, Sampling(temperature=2.0, max_tokens=8)))
    assert len({reply.text for reply in replies.values()}) > 1


def test_the_length_of_answers_is_counted(instruct: str) -> None:
    replies = dict(opened(instruct).replies(questions(), Sampling(max_tokens=12)))
    assert all(reply.tokens_out == 12 for reply in replies.values() if reply.cut)
    assert all(1 <= (reply.tokens_out or 0) <= 12 for reply in replies.values())
    assert any(reply.cut for reply in replies.values())


@pytest.mark.parametrize("protocol", ["forced-choice", "choice-probabilities"])
def test_a_run(instruct: str, tmp_path: Path, protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = pairs_file(tmp_path, 4)
    result = evaluate(f"chat:{instruct}", path, protocol=protocol, device="cpu")
    assert result.answers is not None
    assert len(result.answers) == 16
    entry = result.manifest["models"][0]
    assert (entry["kind"], entry["type"], len(entry["template"])) == ("chat", "gpt2", 64)
    assert {record.protocol for record in result.records} == {protocol}
    monkeypatch.setattr("tiltmeter.models.loading.CheckpointModel._module", None)  # nothing is loaded again
    again = evaluate(f"chat:{instruct}", path, protocol=protocol, device="cpu")
    assert again.scores.equals(result.scores)
    assert again.manifest["models"][0]["asked"] == 0


def test_what_a_fingerprint_depends_on(instruct: str) -> None:
    model = opened(instruct)
    prints = {
        model.chat_fingerprint(sampling) for sampling in (Sampling(), Sampling(1.0), Sampling(probabilities=True))
    }
    prints.add(model.chat_fingerprint(replace(Sampling(), max_tokens=9)))
    model.model.tokenizer.chat_template = TEMPLATE + " "
    prints.add(model.chat_fingerprint(Sampling()))
    assert len(prints) == 5


def test_it_is_a_chat_model_and_no_language_model(instruct: str) -> None:
    from tiltmeter.models.protocol import Model

    model = opened(instruct)
    assert isinstance(model, ChatModel)
    assert not isinstance(model, Model)
    assert not isinstance(model.model, ChatModel)


def test_models_that_are_no_chat_models(causal: str, masked: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="has no chat template"):
        opened(causal)
    with pytest.raises(ModelError, match="not a causal model"):
        opened(masked)
    with pytest.raises(UsageError, match="names no model"):
        open_scheme("", ModelOptions())
    with pytest.raises(UsageError, match="not an http"):
        open_scheme("model@ftp://host", ModelOptions())


def test_long_messages_are_refused(instruct: str) -> None:
    long = [ChatQuestion("word " * 600, ("A", "B"))]
    for sampling in (Sampling(), Sampling(probabilities=True)):
        with pytest.raises(ModelError, match="reads at most 512"):
            list(opened(instruct).replies(long, sampling))


def test_the_manifest_has_its_hours_and_does_not_call_it_a_plain_language_model(instruct: str, tmp_path: Path) -> None:
    result = evaluate(f"chat:{instruct}", str(pairs_file(tmp_path)), limit=2, device="cpu")
    (about,) = result.manifest["models"]
    assert about["compute"]["hours"] > 0
    assert not any("plain language model" in note for note in result.manifest["notes"])
    with pytest.raises(UsageError, match="is asked inside its template anyway; drop --chat-template"):
        evaluate(f"chat:{instruct}", str(pairs_file(tmp_path)), limit=2, device="cpu", chat_template=True)
