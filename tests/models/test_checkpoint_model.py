"""Models by name: their kind and abilities, and the errors for models that cannot be used."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as t
from safetensors.torch import load_file, save_file

import tiltmeter
from tests.models.tiny import CAUSAL, MASKED, SEQ2SEQ, made
from tests.models.tiny_tokenizers import word_level, word_piece
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.engine.answerer import Answerer
from tiltmeter.engine.batch_rows import Batch
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models.checkpoint_model import open_model
from tiltmeter.runs.evaluate import evaluate
from tiltmeter.runs.manifest import ModelEntry
from tiltmeter.runs.model_notes import describe_models

BERT = t.BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24)


def saved(model: Any, folder: Path, tokenizer: Any = None) -> str:
    model.save_pretrained(folder)
    (tokenizer or word_level(mask_token="[MASK]", pad_token="[PAD]", eos_token="</s>")).save_pretrained(folder)
    return str(folder)


def change_config(folder: Path, **changes: Any) -> None:
    config = json.loads((folder / "config.json").read_text())
    config.update(changes)
    (folder / "config.json").write_text(json.dumps({k: v for k, v in config.items() if v is not None}))


@pytest.mark.parametrize(
    ("name", "kind"),
    [*((n, "masked") for n in MASKED), *((n, "causal") for n in CAUSAL), *((n, "seq2seq") for n in SEQ2SEQ)],
)
def test_the_kind_follows_from_the_config(name: str, kind: str, tmp_path: Path) -> None:
    # The name of the folder, which says the opposite, must not matter.
    folder = tmp_path / ("gpt2-llama" if kind == "masked" else "bert-t5")
    model = open_model(saved(made({**MASKED, **CAUSAL, **SEQ2SEQ}[name]), folder))
    assert model.kind == kind
    assert not model.has_next_sentence_head


def test_a_next_sentence_head_follows_from_the_tensors(tmp_path: Path) -> None:
    both = open_model(saved(made(lambda: t.BertForPreTraining(BERT)), tmp_path / "both"))
    assert (both.kind, both.has_next_sentence_head) == ("masked", True)
    # A checkpoint's config may name only the masked model although it has the head, as with Google's BERT.
    change_config(tmp_path / "both", architectures=["BertForMaskedLM"])
    assert open_model(str(tmp_path / "both")).has_next_sentence_head
    masked = open_model(saved(made(lambda: t.BertForMaskedLM(BERT)), tmp_path / "masked"))
    assert (masked.kind, masked.has_next_sentence_head) == ("masked", False)


def test_both_heads_of_a_checkpoint_answer(tmp_path: Path) -> None:
    model = open_model(saved(made(lambda: t.BertForPreTraining(BERT)), tmp_path / "m", word_piece()))
    assert type(model.get_answerer("masked").model).__name__ == "BertForMaskedLM"
    assert type(model.get_answerer("next-sentence").model).__name__ == "BertForNextSentencePrediction"


def test_the_error_for_a_model_without_a_language_model_head_lists_possible_kinds(tmp_path: Path) -> None:
    folder = saved(made(lambda: t.BertForSequenceClassification(BERT)), tmp_path / "m")
    with raises_mentioning(ModelError, folder, "masked or causal", "--kind"):
        open_model(folder)
    with raises_mentioning(ModelError, folder, "tensors (cls.", "--kind"):
        open_model(folder, kind="masked").get_answerer("masked")


def test_a_model_type_without_a_kind_is_an_error(tmp_path: Path) -> None:
    vit = t.ViTModel(t.ViTConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24))
    with raises_mentioning(ModelError, "ViTModel", "causal or seq2seq"):
        open_model(saved(vit, tmp_path / "m"))


def test_a_kind_can_be_chosen_among_those_possible(tmp_path: Path) -> None:
    folder = saved(made(MASKED["bert"]), tmp_path / "m")
    assert open_model(folder, kind="causal").kind == "causal"
    with raises_mentioning(ModelError, folder, "as seq2seq", "masked or causal"):
        open_model(folder, kind="seq2seq")


def test_a_config_without_architectures_suffices_if_one_kind_is_possible(tmp_path: Path) -> None:
    saved(made(CAUSAL["llama"]), tmp_path / "m")
    change_config(tmp_path / "m", architectures=None)
    assert open_model(str(tmp_path / "m")).kind == "causal"


@pytest.mark.parametrize(
    ("name", "limit"), [("bert", 64), ("roberta", 62), ("xlm-roberta", 63), ("gpt2", 64), ("t5", None)]
)
def test_the_longest_input(name: str, limit: int | None, tmp_path: Path) -> None:
    model = open_model(saved(made({**MASKED, **CAUSAL, **SEQ2SEQ}[name]), tmp_path / "m"))
    assert model.max_length == limit
    if limit:
        ids = torch.full((1, limit), 5)
        model.get_answerer(model.kind).model(ids)  # inputs of this length fit
        with pytest.raises((IndexError, RuntimeError)):
            model.get_answerer(model.kind).model(torch.full((1, limit + 1), 5))


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("missing.gguf", "missing.gguf"),
        ("no such model!", "'no such model!'"),
        ("EMPTY", "config.json"),
    ],
)
def test_names_that_are_not_models(name: str, part: str, tmp_path: Path) -> None:
    with raises_mentioning(ModelError, part):
        open_model(str(tmp_path) if name == "EMPTY" else name)


def test_an_unreachable_hub_is_an_error_without_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_network(*args: object, **kwargs: object) -> str:
        raise ConnectionError("Name or service not known\nand a long trace")

    monkeypatch.setattr("huggingface_hub.snapshot_download", no_network)
    with raises_mentioning(ModelError, "'some/model'", "Name or service", "hub") as caught:
        open_model("some/model")
    assert "long trace" not in str(caught.value)


def test_a_model_comes_from_the_hub_with_its_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(made(MASKED["bert"]), tmp_path / "0123abc")
    asked: list[dict[str, Any]] = []

    def hub(model_id: str, **options: Any) -> str:
        asked.append({"id": model_id, **options})
        return str(tmp_path / "0123abc")

    monkeypatch.setattr("huggingface_hub.snapshot_download", hub)
    model = open_model("some/model@v2")
    assert (model.name, model.checkpoint.revision) == ("some/model@v2", "0123abc")
    assert (asked[0]["id"], asked[0]["revision"]) == ("some/model", "v2")
    assert "*.py" not in asked[0]["allow_patterns"]


def test_code_that_comes_with_a_model_is_not_run(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    saved(made(MASKED["bert"]), folder)
    change_config(folder, model_type="mine", auto_map={"AutoConfig": "mine.Config"}, architectures=["Mine"])
    trace = tmp_path / "ran"
    (folder / "mine.py").write_text(f"import pathlib\npathlib.Path({str(trace)!r}).touch()\nclass Config: pass\n")
    with raises_mentioning(ModelError, str(folder), "--trust-remote-code"):
        open_model(str(folder))
    assert not trace.exists()


@pytest.mark.parametrize("option", [{"device": "tpu:9"}, {"device": "cuda:77"}, {"dtype": "int8"}, {"dtype": "x"}])
def test_unavailable_devices_and_dtypes(option: dict[str, str], tmp_path: Path) -> None:
    folder = saved(made(MASKED["bert"]), tmp_path / "m")
    with raises_mentioning(ModelError, *(f"{name} {value!r}" for name, value in option.items())):
        open_model(folder, **option)


def test_half_precision_weights_are_loaded_as_float32_on_a_cpu_by_default(tmp_path: Path) -> None:
    folder = saved(made(MASKED["bert"]).half(), tmp_path / "m")
    assert open_model(folder, device="cpu").dtype == torch.float32
    assert open_model(folder, device="cpu", dtype="bfloat16").dtype == torch.bfloat16


def test_damaged_weights_are_named_in_the_error(tmp_path: Path) -> None:
    folder = saved(made(MASKED["bert"]), tmp_path / "m")
    (tmp_path / "m/model.safetensors").write_bytes(b"\x00" * 40)
    with raises_mentioning(ModelError, "model.safetensors", "download it again"):
        open_model(folder)


def test_weights_without_read_permission_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """safetensors would report a missing file. Root may read all files, so `os.access` is replaced."""
    folder = saved(made(MASKED["bert"]), tmp_path / "m")
    monkeypatch.setattr("tiltmeter.models.checkpoint.os.access", lambda file, _mode: file.suffix != ".safetensors")
    with raises_mentioning(ModelError, "model.safetensors", "check its permissions"):
        open_model(folder)


def test_a_folder_without_weights_is_named_in_the_error(tmp_path: Path) -> None:
    folder = saved(made(MASKED["bert"]), tmp_path / "m")
    (tmp_path / "m/model.safetensors").unlink()
    with raises_mentioning(ModelError, folder, "no weights"):
        open_model(folder)


@pytest.mark.parametrize(
    ("make", "change", "first"),
    [
        (CAUSAL["gpt2"], {"n_layer": 1}, "transformer.h.1"),
        (MASKED["bert"], {"num_hidden_layers": 1}, "bert.encoder.layer.1"),
        (SEQ2SEQ["t5"], {"num_decoder_layers": 1}, "decoder.block.1"),
    ],
)
def test_tensors_of_layers_that_the_config_leaves_out_are_an_error(
    make: Any, change: dict[str, Any], first: str, tmp_path: Path
) -> None:
    model = open_model(saved(made(make), tmp_path / "m"))
    assert model.get_answerer(model.kind)
    change_config(tmp_path / "m", **change)
    truncated = open_model(str(tmp_path / "m"))
    with raises_mentioning(ModelError, f"({first}.", "config.json"):
        truncated.get_answerer(truncated.kind)


def test_modules_that_are_not_loaded_are_named(tmp_path: Path) -> None:
    folder = saved(made(lambda: t.BertForPreTraining(BERT)), tmp_path / "m")
    tensors = load_file(tmp_path / "m/model.safetensors")
    tensors["bert.encoder.layer.0.adapter.weight"] = torch.ones(2)
    save_file(tensors, tmp_path / "m/model.safetensors", metadata={"format": "pt"})
    model = open_model(folder)
    model.get_answerer("masked")
    unused = ["bert.encoder.layer.0.adapter", "bert.pooler.dense", "cls.seq_relationship"]
    assert model.unused == {"masked": unused}
    (note,) = describe_models([ModelEntry(name="m", unused_modules=model.unused)])
    assert_mentions(note, "checkpoint of m", unused[0])
    assert not describe_models([ModelEntry(name="m", unused_modules={"masked": unused[1:]})])


def test_unused_modules_are_in_the_manifest_of_a_run_that_loads_nothing(tmp_path: Path, fixtures_dir: Path) -> None:
    for _ in range(2):
        result = tiltmeter.evaluate(str(fixtures_dir / "bert-tiny"), "starter/intrasentence:en", limit=3)
        (entry,) = [model.details for model in result.manifest.models]
        assert entry["unused_modules"] == {"masked": ["bert.pooler.dense", "cls.seq_relationship"]}


def test_disabled_padding_is_in_the_manifest_of_a_run_that_loads_nothing(tmp_path: Path, fixtures_dir: Path) -> None:
    tokenizer = t.AutoTokenizer.from_pretrained(fixtures_dir / "bert-tiny")
    small = {"hidden_size": 16, "num_hidden_layers": 1, "intermediate_size": 24, "max_position_embeddings": 128}
    model = made(lambda: t.FNetForMaskedLM(t.FNetConfig(vocab_size=len(tokenizer), **small)))
    folder = saved(model, tmp_path / "m", tokenizer)
    for _ in range(2):
        result = tiltmeter.evaluate(folder, "starter/intrasentence:en", limit=3)
        (entry,) = [model.details for model in result.manifest.models]
        assert "padding" in entry["disabled"]["masked"]
        assert sum("padding" in note for note in result.manifest.notes) == 1


def test_plain_runs_use_no_stored_answers(fixtures_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    true_answer = Answerer.start_batch

    def counted(self: Answerer, batch: Batch) -> Any:
        asked.append(sum(len(row.reads) for row in batch))
        return true_answer(self, batch)

    monkeypatch.setattr(Answerer, "start_batch", counted)
    counts = []
    for plain in (False, True, True, False):
        asked.clear()
        tiltmeter.evaluate(str(fixtures_dir / "bert-tiny"), "starter/intrasentence:en", limit=3, plain=plain)
        counts.append(sum(asked))
    assert counts[1] == counts[2] > 0
    assert counts[3] == 0  # the answers of the first run


@pytest.mark.parametrize("name", ["bert", "roberta", "electra"])
def test_a_bidirectional_encoder_is_not_causal(name: str, tmp_path: Path) -> None:
    folder = saved(made(MASKED[name]), tmp_path / "m")
    with raises_mentioning(ModelError, folder, "as causal", "is_decoder"):
        open_model(folder, kind="causal").get_answerer("causal")
    change_config(tmp_path / "m", is_decoder=True)
    assert open_model(folder, kind="causal").get_answerer("causal")
    with raises_mentioning(ModelError, folder, "not a masked model"):
        open_model(folder, kind="masked").get_answerer("masked")


@pytest.mark.parametrize("name", ["bert-tiny", "gpt2-tiny", "t5-tiny", "xlmr-tiny"])
@pytest.mark.parametrize("kept", [(), ("tokenizer_config.json",)])
def test_a_folder_without_a_vocabulary_is_an_error(
    name: str, kept: tuple[str, ...], fixtures_dir: Path, tmp_path: Path
) -> None:
    for file in ("config.json", "model.safetensors", *kept):
        (tmp_path / file).symlink_to(fixtures_dir / name / file)
    with raises_mentioning(ModelError, "tokenizer", str(tmp_path)):
        open_model(str(tmp_path))


def test_models_of_bytes_need_no_vocabulary(tmp_path: Path) -> None:
    config = t.T5Config(vocab_size=384, d_model=16, d_kv=8, d_ff=24, num_layers=1, num_heads=2)
    made(lambda: t.T5ForConditionalGeneration(config)).save_pretrained(tmp_path)
    t.ByT5Tokenizer().save_pretrained(tmp_path)
    assert {file.suffix for file in tmp_path.iterdir()} == {".json", ".safetensors"}
    assert not (tmp_path / "tokenizer.json").exists()
    (encoded,) = open_model(str(tmp_path)).text.encode(["née"])
    assert len(encoded.ids) == 4


@pytest.mark.parametrize("size", [-4, 0])
def test_a_batch_that_holds_nothing_is_an_error_before_a_model_is_opened(size: int) -> None:
    with raises_mentioning(UsageError, f"{size} tokens", "--batch-tokens"):
        evaluate("no-such-model", "starter:en", batch_tokens=size)


def test_an_absurd_number_of_layers_is_an_error(tmp_path: Path) -> None:
    name = saved(made(lambda: t.BertForMaskedLM(BERT)), tmp_path)
    change_config(tmp_path, num_hidden_layers=10**12)
    with raises_mentioning(ModelError, name, "1,000,000,000,000 layers"):
        open_model(name)
