"""The fingerprint of answers changes with everything that can change an answer, and with nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.models.test_checkpoint_model import change_config, saved
from tests.models.tiny import CAUSAL, MASKED, SEQ2SEQ, made
from tests.models.tiny_tokenizers import word_level, word_piece
from tiltmeter import engine
from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.speedups import ALL
from tiltmeter.models import local_model
from tiltmeter.models.checkpoint import find_checkpoint
from tiltmeter.models.checkpoint_files import list_loaded_files
from tiltmeter.models.checkpoint_model import open_model
from tiltmeter.models.in_memory_model import wrap_loaded_model
from tiltmeter.questions import Question
from tiltmeter.translators.nllb import NllbTranslator

INDEX = "model.safetensors.index.json"


@pytest.fixture
def sharded(tmp_path: Path) -> Path:
    """A checkpoint in shards, with other files beside it."""
    folder = tmp_path / "m"
    saved(made(MASKED["bert"]), folder, word_piece())
    made(MASKED["bert"]).save_pretrained(folder, max_shard_size="8KB")
    if (folder / "model.safetensors").exists():
        (folder / "model.safetensors").unlink()
    assert len(list(folder.glob("model-*.safetensors"))) > 1
    (folder / "special_tokens_map.json").write_text(json.dumps({"mask_token": "[MASK]"}))
    (folder / "added_tokens.json").write_text("{}")
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n")
    for name in NOT_LOADED:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"something")
    return folder


LOADED = [
    "config.json",
    INDEX,
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
]
NOT_LOADED = [
    "README.md",
    "generation_config.json",
    "chat_template.jinja",
    "optimizer.pt",
    "training_args.bin",
    "trainer_state.json",
    "pytorch_model.bin",
    "model-of-somebody-else.safetensors",
    "adapter.safetensors",
    "flax_model.msgpack",
    "modeling_mine.py",
    "onnx/model.onnx",
]


def files_of(folder: Path) -> set[str]:
    model = open_model(str(folder))
    return {file.name for file in list_loaded_files(model.checkpoint, model.tokenizer, trust_remote_code=False)}


def fingerprint(folder: Path, **options: Any) -> str:
    return open_model(str(folder), **options).fingerprint("masked")


def change_a_byte(file: Path) -> None:
    """Change a file but keep it readable: another space in JSON, or the last bit of the last weight."""
    content = file.read_bytes()
    file.write_bytes(content + b" " if file.suffix == ".json" else content[:-1] + bytes([content[-1] ^ 1]))


def test_it_covers_exactly_the_loaded_files(sharded: Path) -> None:
    shards = {file.name for file in sharded.glob("model-0*.safetensors")}
    # Whether a tokenizer has a vocabulary file beside tokenizer.json depends on its class.
    assert files_of(sharded) - {"vocab.txt"} == {*LOADED, *shards}


@pytest.mark.parametrize("name", [*LOADED, "shard"])
def test_one_byte_of_a_loaded_file_changes_it(name: str, sharded: Path) -> None:
    before = fingerprint(sharded)
    for file in sorted(sharded.glob("model-0*.safetensors")) if name == "shard" else [sharded / name]:
        change_a_byte(file)
        after = fingerprint(sharded)
        assert after != before
        before = after


@pytest.mark.parametrize("name", NOT_LOADED)
def test_one_byte_of_any_other_file_does_not(name: str, sharded: Path) -> None:
    before = fingerprint(sharded)
    (sharded / name).write_bytes(b"something else")
    assert fingerprint(sharded) == before
    (sharded / name).unlink()
    assert fingerprint(sharded) == before


def test_swapped_contents_of_two_files_change_it(tmp_path: Path) -> None:
    saved(made(MASKED["bert"]), tmp_path / "m", word_piece())
    one, other = tmp_path / "m/added_tokens.json", tmp_path / "m/special_tokens_map.json"
    one.write_text("{}")
    other.write_text("{} ")
    before = fingerprint(tmp_path / "m")
    one.write_text("{} ")
    other.write_text("{}")
    assert fingerprint(tmp_path / "m") != before


def test_it_covers_the_weights_that_transformers_loads(sharded: Path) -> None:
    """Change every weight of each file in turn: the loaded model changes exactly for the files of the list."""

    def loaded() -> torch.Tensor:
        model = open_model(str(sharded))
        return torch.cat([p.detach().ravel() for p in model.get_answerer("masked").model.parameters()])

    counted = {file.name for file in find_checkpoint(str(sharded)).weight_files}
    before = loaded()
    for file in sorted(sharded.glob("*.safetensors")):
        if file.name not in counted:
            continue
        change_a_byte(file)
        after = loaded()
        assert not torch.equal(before, after)
        before = after
    assert len(counted) > 1
    # A single file has precedence over an index, and safetensors over pickles.
    made(MASKED["bert"], seed=2).save_pretrained(sharded)
    assert [file.name for file in find_checkpoint(str(sharded)).weight_files] == ["model.safetensors"]
    assert find_checkpoint(str(sharded)).weight_index == []
    assert loaded_weights_are(sharded)


def loaded_weights_are(folder: Path) -> bool:
    (file,) = find_checkpoint(str(folder)).weight_files
    stored = load_file(file)
    model = open_model(str(folder)).get_answerer("masked").model
    found = dict(model.named_parameters())
    return all(torch.equal(found[name].detach(), tensor) for name, tensor in stored.items() if name in found)


def test_weights_named_in_the_config(tmp_path: Path) -> None:
    saved(made(MASKED["bert"]), tmp_path / "m", word_piece())
    (tmp_path / "m/model.safetensors").rename(tmp_path / "m/mine.safetensors")
    change_config(tmp_path / "m", transformers_weights="mine.safetensors")
    model = open_model(str(tmp_path / "m"))
    assert [file.name for file in model.checkpoint.weight_files] == ["mine.safetensors"]
    assert model.get_answerer("masked").speedups


def test_pickled_shards(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    saved(made(MASKED["bert"]), folder, word_piece())
    (folder / "model.safetensors").unlink()
    for name in ("pytorch_model-1.bin", "pytorch_model-2.bin", "pytorch_model-old.bin"):
        (folder / name).write_bytes(b"x")
    weight_map = {"a": "pytorch_model-1.bin", "b": "pytorch_model-2.bin"}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": weight_map}))
    checkpoint = find_checkpoint(str(folder))
    assert [file.name for file in checkpoint.weight_files] == sorted(weight_map.values())
    assert [file.name for file in checkpoint.weight_index] == ["pytorch_model.bin.index.json"]


def test_pickled_weights_beside_other_safetensors(tmp_path: Path) -> None:
    """What decides is which file transformers loads, not whether there is any safetensors file."""
    folder = tmp_path / "m"
    saved(made(MASKED["bert"]), folder, word_piece())
    (folder / "model.safetensors").rename(folder / "somebody-elses.safetensors")
    torch.save(made(MASKED["bert"]).state_dict(), folder / "pytorch_model.bin")
    before = fingerprint(folder)
    torch.save(made(MASKED["bert"], seed=2).state_dict(), folder / "pytorch_model.bin")
    assert fingerprint(folder) != before
    loaded = dict(open_model(str(folder)).get_answerer("masked").model.named_parameters())
    expected = dict(made(MASKED["bert"], seed=2).named_parameters())
    assert all(torch.equal(loaded[name], expected[name]) for name in expected)


def test_files_that_an_index_names_and_a_remapped_index(tmp_path: Path) -> None:
    """Two files hold the same tensors with other values; the index says which of them are loaded."""
    folder = tmp_path / "m"
    saved(made(MASKED["bert"]), folder, word_piece())
    (folder / "model.safetensors").rename(folder / "one.safetensors")
    save_file(
        {name: tensor + 1.0 for name, tensor in load_file(folder / "one.safetensors").items()},
        folder / "other.safetensors",
        metadata={"format": "pt"},
    )
    names = list(load_file(folder / "one.safetensors"))

    def mapped(file: str) -> tuple[str, float]:
        (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": dict.fromkeys(names, file)}))
        weights = dict(open_model(str(folder)).get_answerer("masked").model.named_parameters())
        return fingerprint(folder), weights["bert.embeddings.LayerNorm.weight"].sum().item()

    first, last = mapped("one.safetensors"), mapped("other.safetensors")
    assert first[0] != last[0]
    assert first[1] != last[1]
    before = fingerprint(folder)
    change_a_byte(folder / "other.safetensors")
    assert fingerprint(folder) != before


CODE = """
from transformers import BertForMaskedLM

from .scale import SCALE


class Scaled(BertForMaskedLM):
    def forward(self, *args, **kwargs):
        found = super().forward(*args, **kwargs)
        found.logits = found.logits * SCALE
        return found
"""


def test_changed_code_is_not_answered_by_the_answers_of_the_old_one(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    saved(made(MASKED["bert"]), folder, word_piece())
    change_config(folder, architectures=["Scaled"], auto_map={"AutoModelForMaskedLM": "mine.Scaled"})
    (folder / "mine.py").write_text(CODE)
    question = Question((2, 4, 6, 3), ((1, 7),))
    store = AnswerStore(tmp_path / "a.sqlite")

    def asked(scale: float) -> float:
        (folder / "scale.py").write_text(f"SCALE = {scale}\n")
        model = open_model(str(folder), kind="masked", trust_remote_code=True)
        found = model.answer([question], kind="masked", store=store, names={}, report=lambda _progress: None)
        return float(found[question.digest][0])

    answers = [asked(1.0), asked(20.0), asked(1.0)]
    assert answers[0] == answers[2] != answers[1]


def test_it_covers_trusted_code_and_its_imports(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    saved(made(MASKED["bert"]), folder, word_piece())
    change_config(folder, auto_map={"AutoModelForMaskedLM": "mine.Model"})
    (folder / "mine.py").write_text("from .helper import x\n")
    (folder / "helper.py").write_text("from .deeper import x\n")
    (folder / "deeper.py").write_text("x = 1\n")
    (folder / "other.py").write_text("x = 1\n")
    config = json.loads((folder / "tokenizer_config.json").read_text())
    config["auto_map"] = {"AutoTokenizer": [None, "tokens.Fast"]}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "tokens.py").write_text("")
    checkpoint, tokenizer = find_checkpoint(str(folder)), word_piece()
    trusted = {file.name for file in list_loaded_files(checkpoint, tokenizer, trust_remote_code=True)}
    assert {name for name in trusted if name.endswith(".py")} == {"mine.py", "helper.py", "deeper.py", "tokens.py"}
    distrusted = {file.name for file in list_loaded_files(checkpoint, tokenizer, trust_remote_code=False)}
    assert not any(name.endswith(".py") for name in distrusted)


def test_it_covers_code_of_another_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(made(MASKED["bert"]), tmp_path / "m", word_piece())
    change_config(tmp_path / "m", auto_map={"AutoModelForMaskedLM": "some/code--theirs.Model"})
    (tmp_path / "theirs.py").write_text("")
    asked = []

    def hub(repository: str, module: str, **_options: Any) -> str:
        asked.append((repository, module))
        return str(tmp_path / "theirs.py")

    monkeypatch.setattr("transformers.utils.hub.cached_file", hub)
    found = list_loaded_files(find_checkpoint(str(tmp_path / "m")), word_piece(), trust_remote_code=True)
    assert tmp_path / "theirs.py" in found
    assert asked == [("some/code", "theirs.py")]


def test_a_gguf_file_is_the_only_file_covered(tmp_path: Path) -> None:
    for name in ("model.gguf", "config.json", "tokenizer.json"):
        (tmp_path / name).write_text("{}")
    checkpoint = find_checkpoint(str(tmp_path / "model.gguf"))
    assert list_loaded_files(checkpoint, None, trust_remote_code=False) == [tmp_path / "model.gguf"]


@pytest.mark.parametrize("where", ["folder", "memory"])
def test_precision_kind_versions_engine_and_speed_ups(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = saved(made(MASKED["bert"]), tmp_path / "m", word_piece())

    def opened(**options: Any) -> Any:
        return open_model(folder, **options) if where == "folder" else wrap_loaded_model(*loaded, **options)

    loaded = made(MASKED["bert"]), word_piece()
    first = opened().fingerprint("masked")
    prints = {first, opened().fingerprint("next-sentence")}
    prints |= {opened(without=some).fingerprint("masked") for some in (ALL, {"norms"}, {"norms", "packing"})}
    assert len(prints) == 5
    assert opened(batch_tokens=8).fingerprint("masked") == first
    # Importing PEFT puts another module of the same name in the place of transformers.
    assert [library.__name__ for library in local_model._LIBRARIES] == ["torch", "transformers"]
    for library in local_model._LIBRARIES:
        major, minor, *rest = library.__version__.split(".")
        with monkeypatch.context() as patch:
            patch.setattr(library, "__version__", ".".join([major, minor, "99+other"]))
            assert opened().fingerprint("masked") == first
            patch.setattr(library, "__version__", ".".join([major, str(int(minor) + 1), *rest]))
            prints.add(opened().fingerprint("masked"))
    with monkeypatch.context() as patch:
        patch.setattr(local_model, "ENGINE_VERSION", engine.ENGINE_VERSION + 1)
        prints.add(opened().fingerprint("masked"))
    assert len(prints) == 8
    if where == "folder":
        assert opened(dtype="float16").fingerprint("masked") not in prints


def test_the_generation_config_is_covered_for_translators_only(tmp_path: Path) -> None:
    folder = tmp_path / "gpt2"
    saved(made(CAUSAL["gpt2"]), folder, word_level(bos_token="<s>"))
    before = open_model(str(folder)).fingerprint("causal")
    assert (folder / "generation_config.json").is_file()
    (folder / "generation_config.json").write_text("{}")
    assert open_model(str(folder)).fingerprint("causal") == before

    folder = tmp_path / "nllb"
    saved(made(SEQ2SEQ["bart"]), folder, _with_languages())
    (folder / "generation_config.json").write_text(json.dumps({"num_beams": 1}))

    def key() -> str:
        return NllbTranslator(open_model(str(folder), kind="seq2seq")).key

    first = key()
    assert key() == first
    (folder / "generation_config.json").write_text(json.dumps({"num_beams": 5}))
    second = key()
    assert second != first
    change_a_byte(folder / "config.json")
    assert key() != second


def _with_languages() -> Any:
    tokenizer = word_level(pad_token="<pad>", eos_token="</s>")
    tokenizer.add_tokens(["eng_Latn", "slk_Latn"])
    return tokenizer
