"""Local chat models: a tiny one with a template, compared with plain loops."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as t
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from tests.models.test_checkpoint_model import change_config
from tests.models.tiny import made, saved
from tests.runs.chosen import pairs_file
from tests.support.command import command
from tests.support.messages import raises_mentioning
from tiltmeter import evaluate
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models.chat import open_chat
from tiltmeter.models.chat_local import LocalChat
from tiltmeter.models.checkpoint_model import open_model
from tiltmeter.models.model_protocol import ChatModel
from tiltmeter.options import ModelOptions
from tiltmeter.questions import ChatQuestion, Reply, SamplingOptions

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
    model = open_chat(folder, ModelOptions(device="cpu"))
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
    replies = dict(opened(instruct).stream_replies(questions(), SamplingOptions(max_tokens=12)))
    assert {index: reply.text for index, reply in replies.items()} == {
        index: greedy(instruct, prompt, 12) for index, prompt in enumerate(PROMPTS)
    }
    assert len({reply.text for reply in replies.values()}) > 1


def test_probabilities_are_those_of_the_first_token(instruct: str) -> None:
    tokenizer = t.AutoTokenizer.from_pretrained(instruct)
    model = t.AutoModelForCausalLM.from_pretrained(instruct).eval()
    for index, reply in opened(instruct).stream_replies(questions(), SamplingOptions(probabilities=True)):
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
    once, again = (
        dict(opened(instruct).stream_replies(asked, SamplingOptions(temperature=2.0, max_tokens=8))) for _ in range(2)
    )
    assert once == again
    assert len({reply.text for reply in once.values()}) > len(PROMPTS)


def test_a_sample_does_not_depend_on_its_batch(instruct: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is resumed asks other messages together than one that was not interrupted."""
    asked = [question for sample in range(12) for question in questions(sample=sample)]
    sampling = SamplingOptions(temperature=2.0, max_tokens=8)
    model = opened(instruct)
    whole = dict(model.stream_replies(asked, sampling))
    assert len({reply.text for reply in whole.values()}) > 12
    for part in (range(20, 36), range(35, -1, -7), [30]):
        found = dict(model.stream_replies([asked[place] for place in part], sampling))
        assert [found[index] for index in range(len(part))] == [whole[place] for place in part]
    monkeypatch.setattr("tiltmeter.models.text_generation._BATCH_TOKENS", 1)
    assert dict(opened(instruct).stream_replies(asked, sampling)) == whole


def test_samples_follow_the_probabilities(instruct: str) -> None:
    """The first tokens of many samples of one message, against the model's distribution at that temperature."""
    tokenizer = t.AutoTokenizer.from_pretrained(instruct)
    model = t.AutoModelForCausalLM.from_pretrained(instruct).eval()
    ids = tokenizer(f"<u>{PROMPTS[0]}<a>", add_special_tokens=False).input_ids
    with torch.inference_mode():
        expected = (model(torch.tensor([ids])).logits[0, -1] / 0.7).softmax(-1)
    asked = [ChatQuestion(PROMPTS[0], ("A", "B"), sample) for sample in range(600)]
    drawn = [
        reply.text
        for _, reply in opened(instruct).stream_replies(asked, SamplingOptions(temperature=0.7, max_tokens=1))
    ]
    texts: dict[str, float] = {}
    for token, share in enumerate(expected.tolist()):
        text = tokenizer.decode([token], skip_special_tokens=True)
        texts[text] = texts.get(text, 0.0) + share
    for text, share in texts.items():
        assert abs(drawn.count(text) / len(drawn) - share) < 5 * (share / len(drawn)) ** 0.5 + 3 / len(drawn)


class Leaking(t.GPT2LMHeadModel):
    """A model whose numbers depend on the padding in its batch."""

    def forward(self, input_ids: Any = None, **options: Any) -> Any:
        found = super().forward(input_ids=input_ids, **options)
        noise = torch.arange(found.logits.shape[-1]) * (input_ids == 3).sum()
        found.logits = found.logits + 10 * torch.sin(noise)
        return found


def test_a_model_that_padding_changes_is_asked_one_message_at_a_time(
    instruct: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = {index: greedy(instruct, prompt, 12) for index, prompt in enumerate(PROMPTS)}
    module = Leaking.from_pretrained(instruct).eval()
    model = opened(instruct)
    monkeypatch.setattr("tiltmeter.models.checkpoint_model.CheckpointModel._load_module", lambda *_: module)
    assert {
        index: reply.text for index, reply in model.stream_replies(questions(), SamplingOptions(max_tokens=12))
    } == expected
    assert "batches" in model.describe()
    assert "batches" not in opened(instruct).describe()


def test_probabilities_that_are_not_numbers_are_an_error(instruct: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = t.AutoModelForCausalLM.from_pretrained(instruct).eval()
    torch.nn.init.constant_(module.transformer.ln_f.weight, float("nan"))
    monkeypatch.setattr("tiltmeter.models.checkpoint_model.CheckpointModel._load_module", lambda *_: module)
    with raises_mentioning(ModelError, f"chat:{instruct}", "--dtype float32"):
        list(opened(instruct).stream_replies(questions(), SamplingOptions()))


def test_the_length_of_answers_is_counted(instruct: str) -> None:
    replies = dict(opened(instruct).stream_replies(questions(), SamplingOptions(max_tokens=12)))
    assert all(reply.tokens_out == 12 for reply in replies.values() if reply.cut)
    assert all(1 <= (reply.tokens_out or 0) <= 12 for reply in replies.values())
    assert any(reply.cut for reply in replies.values())


@pytest.mark.parametrize("protocol", ["forced-choice", "choice-probabilities"])
def test_a_run(instruct: str, tmp_path: Path, protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = pairs_file(tmp_path, 4)
    result = evaluate(f"chat:{instruct}", path, protocol=protocol, device="cpu")
    assert result.answers is not None
    assert len(result.answers) == 16
    entry = result.manifest.models[0].details
    assert (entry["kind"], entry["type"], len(entry["template"])) == ("chat", "gpt2", 64)
    assert {record.protocol for record in result.records} == {protocol}
    monkeypatch.setattr(
        "tiltmeter.models.checkpoint_model.CheckpointModel._load_module", None
    )  # nothing is loaded again
    again = evaluate(f"chat:{instruct}", path, protocol=protocol, device="cpu")
    assert again.scores.equals(result.scores)
    assert again.manifest.models[0].details["asked"] == 0


def test_what_a_fingerprint_depends_on(instruct: str) -> None:
    model = opened(instruct)
    prints = {
        model.chat_fingerprint(sampling)
        for sampling in (SamplingOptions(), SamplingOptions(1.0), SamplingOptions(probabilities=True))
    }
    prints.add(model.chat_fingerprint(replace(SamplingOptions(), max_tokens=9)))
    prints |= {model.chat_fingerprint(SamplingOptions(temperature)) for temperature in (0.123456701, 0.123456702)}
    tokenizer = model.model.tokenizer
    for name, value in (
        ("chat_template", TEMPLATE + " "),
        ("clean_up_tokenization_spaces", True),
        ("eos_token", "<u>"),
        ("bos_token", "<a>"),
    ):
        setattr(tokenizer, name, value)
        model.__dict__.pop("ends", None)
        prints.add(model.chat_fingerprint(SamplingOptions()))
    assert len(prints) == 10


def test_replies_of_another_tokenizer_are_not_used(instruct: str, tmp_path: Path) -> None:
    """A tokenizer of the same size that splits texts in another way."""
    tokenizer = t.AutoTokenizer.from_pretrained(instruct)
    rules = json.loads(tokenizer.backend_tokenizer.to_str())
    rules["model"]["merges"] = rules["model"]["merges"][:3]
    other = t.PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(json.dumps(rules)), eos_token="<e>")
    other.chat_template = TEMPLATE
    other.save_pretrained(tmp_path)
    given = open_chat(instruct, ModelOptions(device="cpu", tokenizer=str(tmp_path)))
    assert given.chat_fingerprint(SamplingOptions()) != opened(instruct).chat_fingerprint(SamplingOptions())


# Values that change what transformers generates, for fields whose type does not tell one.
OTHER_VALUES: dict[str, Any] = {
    "eos_token_id": [3, 40],
    "pad_token_id": 7,
    "bos_token_id": 9,
    "decoder_start_token_id": 5,
    "forced_bos_token_id": 9,
    "forced_eos_token_id": 9,
    "bad_words_ids": [[token] for token in range(20, 200)],
    "suppress_tokens": [*range(20, 200)],
    "begin_suppress_tokens": [*range(20, 200)],
    "sequence_bias": [[[token], 50.0] for token in range(30, 33)],
    "watermarking_config": {"bias": 9.0, "seeding_scheme": "lefthash"},
    "stop_strings": ["e", "a", "A"],
    "exponential_decay_length_penalty": [1, 5.0],
    "cache_implementation": "static",
    "cache_config": {"nbits": 4},
    "compile_config": {"mode": "default"},
    "prompt_lookup_num_tokens": 3,
    "token_healing": True,
    "temperature": 3.0,
    "top_k": 1,
    "top_p": 0.1,
    "typical_p": 0.1,
    "min_p": 0.9,
    "epsilon_cutoff": 0.5,
    "eta_cutoff": 0.5,
    "max_length": 3,
    "max_new_tokens": 2,
    "max_time": 1e-9,
    "repetition_penalty": 5.0,
    "encoder_repetition_penalty": 5.0,
    "length_penalty": -3.0,
    "diversity_penalty": 2.0,
    "guidance_scale": 3.0,
    "penalty_alpha": 0.6,
    "early_stopping": True,
    "num_beams": 3,
    "num_beam_groups": 3,
    "num_return_sequences": 2,
    "no_repeat_ngram_size": 1,
    "encoder_no_repeat_ngram_size": 1,
    "prefill_chunk_size": 4,
    "assistant_confidence_threshold": 0.1,
}
SAMPLINGS = (SamplingOptions(max_tokens=6), SamplingOptions(temperature=1.5, max_tokens=6))


def replies_and_key(folder: str) -> list[tuple[str, list[Reply]]]:
    """For each way to sample: the key, and the replies in the order of the questions."""
    model = opened(folder)
    return [
        (model.chat_fingerprint(sampling), [reply for _, reply in sorted(model.stream_replies(questions(), sampling))])
        for sampling in SAMPLINGS
    ]


def other_values() -> dict[str, Any]:
    """Another value than the default for each field of a generation config."""
    defaults = t.GenerationConfig()
    names = sorted({*vars(defaults), *OTHER_VALUES} - {"_original_object_hash", "_from_model_config"})
    values = {name: getattr(defaults, name, None) for name in names}
    plain = {name: not value if value is None or isinstance(value, bool) else 3 for name, value in values.items()}
    return {**plain, **OTHER_VALUES}


def test_no_field_of_the_generation_config_changes_a_reply_under_the_same_key(instruct: str, tmp_path: Path) -> None:
    folder = shutil.copytree(instruct, tmp_path / "m")

    def with_settings(settings: dict[str, Any]) -> list[tuple[str, list[Reply]]]:
        (folder / "generation_config.json").write_text(json.dumps(settings))
        return replies_and_key(str(folder))

    expected = replies_and_key(instruct)
    values = other_values()
    ends = with_settings({"eos_token_id": values.pop("eos_token_id")})
    assert all(key != first for (key, _), (first, _) in zip(ends, expected, strict=True))
    names = [*values]
    assert len(names) > 50
    for start in range(0, len(names), 6):
        settings = {name: values[name] for name in names[start : start + 6]}
        assert with_settings({"eos_token_id": 3, **settings}) == expected, settings.keys()


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("{", "generation_config.json"),
        ("[]", "generation_config.json"),
        ('"text"', "generation_config.json"),
        ('{"eos_token_id": "<e>"}', "'<e>'"),
        ('{"eos_token_id": [3, null, 1.5]}', "1.5"),
        ('{"eos_token_id": {"a": 3}}', "'a'"),
        ('{"eos_token_id": true}', "True"),
        (b"\xff\xfe", "generation_config.json"),
    ],
)
def test_bad_generation_configs(
    content: str | bytes,
    named: str,
    instruct: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = shutil.copytree(instruct, tmp_path / "m")
    (folder / "generation_config.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    on = str(pairs_file(tmp_path, 2))
    assert command(monkeypatch, "run", f"chat:{folder}", "--on", on, "--device", "cpu") == 2
    error = capsys.readouterr().err
    assert named in error
    assert "generation" in error
    # A language model is not asked for texts.
    open_model(str(folder), device="cpu").get_answerer("causal")


def test_settings_that_transformers_refuses_are_not_read(instruct: str, tmp_path: Path) -> None:
    folder = shutil.copytree(instruct, tmp_path / "m")
    bad = {
        "eos_token_id": 3,
        "num_beams": -1,
        "max_new_tokens": "many",
        "watermarking_config": 5,
        "cache_implementation": 1,
    }
    (folder / "generation_config.json").write_text(json.dumps(bad))
    assert replies_and_key(str(folder)) == replies_and_key(instruct)


def test_ends_of_a_model_without_a_generation_config(instruct: str, tmp_path: Path) -> None:
    folder = shutil.copytree(instruct, tmp_path / "m")
    (folder / "generation_config.json").unlink()
    assert opened(str(folder)).end_tokens == (3,)
    change_config(folder, eos_token_id=[40, 41])
    assert opened(str(folder)).end_tokens == (40, 41, 3)


@pytest.mark.parametrize(
    "template",
    [
        "{% if",
        "{{ messages[7].content.role }}",
        "{{ nothing() }}",
        "{{ messages | no_such_filter }}",
        "{{ raise_exception('no user') }}",
        "{{ 1 / 0 }}{{ messages }}",
        "{{ 'x' * 10**10 }}",
        "no message",
        "",
        {"tool_use": TEMPLATE},
    ],
)
def test_bad_templates(
    template: Any, instruct: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(instruct, tmp_path / "m")
    (folder / "chat_template.jinja").unlink(missing_ok=True)
    listed = [{"name": name, "template": text} for name, text in template.items()] if isinstance(template, dict) else []
    settings = json.loads((folder / "tokenizer_config.json").read_text()) | {"chat_template": listed or template}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    on = str(pairs_file(tmp_path, 2))
    assert command(monkeypatch, "run", f"chat:{folder}", "--on", on, "--device", "cpu") == 2
    assert "chat template" in capsys.readouterr().err


def test_it_is_a_chat_model_and_no_language_model(instruct: str) -> None:
    from tiltmeter.models.model_protocol import Model

    model = opened(instruct)
    assert isinstance(model, ChatModel)
    assert not isinstance(model, Model)
    assert not isinstance(model.model, ChatModel)


def test_models_that_are_not_chat_models(causal: str, masked: str, tmp_path: Path) -> None:
    with raises_mentioning(ModelError, causal, "no chat template"):
        opened(causal)
    with raises_mentioning(ModelError, masked, "not a causal model"):
        opened(masked)
    with raises_mentioning(UsageError, "chat:MODEL@ADDRESS"):
        open_chat("", ModelOptions())
    with raises_mentioning(UsageError, "ftp://host"):
        open_chat("model@ftp://host", ModelOptions())


def test_long_messages_are_an_error(instruct: str) -> None:
    long = [ChatQuestion("word " * 600, ("A", "B"))]
    for sampling in (SamplingOptions(), SamplingOptions(probabilities=True)):
        with raises_mentioning(ModelError, "at most 512", "--max-tokens"):
            list(opened(instruct).stream_replies(long, sampling))


def test_the_manifest_has_its_hours_and_does_not_call_it_a_plain_language_model(instruct: str, tmp_path: Path) -> None:
    result = evaluate(f"chat:{instruct}", str(pairs_file(tmp_path)), limit=2, device="cpu")
    (about,) = [model.details for model in result.manifest.models]
    assert about["compute"]["hours"] > 0
    assert not any("instruct model" in note for note in result.manifest.notes)
    with raises_mentioning(UsageError, f"chat:{instruct}", "omit --chat-template"):
        evaluate(f"chat:{instruct}", str(pairs_file(tmp_path)), limit=2, device="cpu", chat_template=True)
