"""Loaded transformers models give the numbers of the same model in a folder, and are left unchanged."""

from pathlib import Path

import pytest
import torch
import transformers as t

from tests.models.asking import answers
from tests.models.tiny import CAUSAL, MASKED, SEQ2SEQ, made
from tests.models.tiny_tokenizers import word_level, word_piece
from tests.support.messages import raises_mentioning
from tiltmeter.errors import ModelError
from tiltmeter.models.checkpoint_model import open_model
from tiltmeter.models.in_memory_model import wrap_loaded_model


# Speed-ups replace an activation of gpt2, norms of llama, and positions of t5.
@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "t5"])
def test_a_loaded_model_answers_as_the_same_model_in_a_folder_and_is_left_as_it_was(name: str, tmp_path: Path) -> None:
    module = made({**MASKED, **CAUSAL, **SEQ2SEQ}[name])
    module.save_pretrained(tmp_path)
    tokenizer = word_piece()
    tokenizer.save_pretrained(tmp_path)
    module.train()
    before = [(key, type(part), "forward" in vars(part)) for key, part in module.named_modules()]
    loaded = wrap_loaded_model(module, tokenizer)
    assert answers(loaded) == answers(open_model(str(tmp_path)))
    assert [(key, type(part), "forward" in vars(part)) for key, part in module.named_modules()] == before
    assert module.training
    inside = loaded.get_answerer(loaded.kind).model
    assert not inside.training
    ours, theirs = (next(model.parameters()).data_ptr() for model in (inside, module))
    assert ours == theirs  # no second copy of the weights


def test_the_fingerprint_depends_on_weights_config_and_tokenizer() -> None:
    module, tokenizer = made(MASKED["bert"]), word_piece()
    first = wrap_loaded_model(module, tokenizer).fingerprint("masked")
    assert wrap_loaded_model(made(MASKED["bert"]), word_piece(), name="other").fingerprint("masked") == first
    tokenizer.backend_tokenizer.enable_truncation(4)
    assert wrap_loaded_model(module, tokenizer).fingerprint("masked") == first
    assert tokenizer.backend_tokenizer.truncation["max_length"] == 4  # the caller's tokenizer is unchanged
    assert wrap_loaded_model(module, word_level(mask_token="[M]")).fingerprint("masked") != first
    module.config.hidden_act = "relu"
    assert wrap_loaded_model(module, word_piece()).fingerprint("masked") != first
    module.config.hidden_act = "gelu"
    with torch.no_grad():
        module.get_input_embeddings().weight[3, 3] += 1e-3
    assert wrap_loaded_model(module, word_piece()).fingerprint("masked") != first
    half = wrap_loaded_model(made(MASKED["bert"]).to(torch.bfloat16), word_piece())
    assert half.fingerprint("masked") != first
    assert half.dtype == torch.bfloat16


def test_a_model_trained_between_two_runs_has_another_fingerprint() -> None:
    module = made(CAUSAL["gpt2"])
    model = wrap_loaded_model(module, word_level(bos_token="<s>"))
    first = model.fingerprint("causal")
    with torch.no_grad():
        module.get_input_embeddings().weight[3, 3] += 1
    model.close()
    assert model.fingerprint("causal") != first


def test_names() -> None:
    module, tokenizer = made(CAUSAL["gpt2"]), word_level(bos_token="<s>")
    assert wrap_loaded_model(module, tokenizer).name == "GPT2LMHeadModel"
    module.config._name_or_path = "my/gpt2"
    assert wrap_loaded_model(module, tokenizer).name == "my/gpt2"
    assert wrap_loaded_model(module, tokenizer, name="mine").name == "mine"


def test_models_that_cannot_be_used() -> None:
    tokenizer = word_piece()
    bert = t.BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24)
    for module in (t.BertModel(bert), t.BertForNextSentencePrediction(bert), torch.nn.Linear(2, 2)):
        with raises_mentioning(ModelError, type(module).__name__, "AutoModelForMaskedLM"):
            wrap_loaded_model(module, tokenizer)
    with raises_mentioning(ModelError, "BertForMaskedLM", "as masked", "as causal"):
        wrap_loaded_model(made(MASKED["bert"]), tokenizer, kind="causal")
    spread = made(MASKED["bert"])
    spread.get_input_embeddings().to("meta")
    with raises_mentioning(ModelError, "cpu, meta", "one device"):
        wrap_loaded_model(spread, tokenizer)


def test_the_fingerprint_depends_on_the_settings_of_an_adapter() -> None:
    """The scale of an adapter that is not merged, and whether it is used, are not among the weights."""
    peft = pytest.importorskip("peft", reason="PEFT is not installed: pip install 'tiltmeter[peft]'")
    model = made(CAUSAL["gpt2"])
    model.add_adapter(peft.LoraConfig(r=2, lora_alpha=4, target_modules=["c_attn"], fan_in_fan_out=True))
    prints = [wrap_loaded_model(model, word_level()).fingerprint("causal")]
    model.transformer.h[0].attn.c_attn.scaling["default"] = 9.0
    prints.append(wrap_loaded_model(model, word_level()).fingerprint("causal"))
    model.disable_adapters()
    prints.append(wrap_loaded_model(model, word_level()).fingerprint("causal"))
    assert len(set(prints)) == 3
    assert wrap_loaded_model(model, word_level()).fingerprint("causal") == prints[-1]


def test_the_fingerprint_depends_on_buffers_that_are_not_saved() -> None:
    model = made(CAUSAL["llama"])
    before = wrap_loaded_model(model, word_level()).fingerprint("causal")
    model.model.rotary_emb.inv_freq *= 2
    assert wrap_loaded_model(model, word_level()).fingerprint("causal") != before
