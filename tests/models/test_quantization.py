"""Weights quantised while they are loaded: near the numbers of the whole ones, whatever else is in the batch."""

import logging
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from tests.models.asking import QUESTIONS, answers
from tests.models.test_checkpoint_model import change_config
from tests.models.tiny import CAUSAL, MASKED, SEQ2SEQ, made, saved
from tests.models.tiny_tokenizers import word_piece
from tests.support.command import command
from tests.support.messages import assert_mentions
from tiltmeter.errors import ModelError
from tiltmeter.models import quantization
from tiltmeter.models.checkpoint import Checkpoint
from tiltmeter.models.checkpoint_model import open_model
from tiltmeter.models.quantization import validate_quantization
from tiltmeter.runs.evaluate import evaluate

for library in ("torchao", "bitsandbytes"):
    pytest.importorskip(library, reason=f"{library} is not installed: pip install 'tiltmeter[quantize]'")

# How far log-probabilities of these tiny models may be from those of the whole weights.
NEAR = {"8bit": 0.1, "4bit": 3.0}


@pytest.mark.parametrize("quantize", ["8bit", "4bit"])
@pytest.mark.parametrize("name", ["llama", "bert", "t5"])
def test_a_quantised_model(name: str, quantize: str, tmp_path: Path) -> None:
    folder = saved(tmp_path / "m", made({**MASKED, **CAUSAL, **SEQ2SEQ}[name]), word_piece())
    whole, quantised = open_model(folder), open_model(folder, quantize=quantize)
    found = answers(quantised)
    difference = np.abs(np.concatenate(found) - np.concatenate(answers(whole))).max()
    assert 1e-4 < difference < NEAR[quantize]
    # One question at a time gives the same: the other texts of a batch do not matter.
    alone = [answers(open_model(folder, quantize=quantize), [question])[0] for question in QUESTIONS[:2]]
    assert [pytest.approx(row, abs=1e-4) for row in alone] == found[:2]
    assert quantised.fingerprint(quantised.kind) != whole.fingerprint(whole.kind)
    about = quantised.describe()["quantized"]
    assert about["bits"] == quantize[0]
    assert about["by"].split()[0] in ("torchao", "bitsandbytes")
    assert "quantized" not in whole.describe()


@pytest.mark.parametrize("name", ["llama", "bert"])
def test_four_bits_do_not_depend_on_the_instructions_of_the_cpu(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a CPU with bfloat16 instructions, bitsandbytes takes another kernel, which cannot take all sizes."""
    folder = saved(tmp_path / "m", made({**MASKED, **CAUSAL}[name]), word_piece())
    expected = answers(open_model(folder, quantize="4bit"))
    monkeypatch.setattr("bitsandbytes.nn.modules.has_avx512bf16", lambda: True)
    found = answers(open_model(folder, quantize="4bit"))
    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))
    # So it is with weights that were saved in 4 bits.
    open_model(folder, quantize="4bit")._load_module({"llama": "causal", "bert": "masked"}[name]).save_pretrained(
        folder
    )  # type: ignore[index, operator, arg-type]
    assert len(answers(open_model(folder))) == len(expected)


def test_errors_of_libraries_are_messages(causal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("N must be divisible by block_n")

    model = open_model(causal)
    monkeypatch.setattr(type(model), "get_answerer", fail)
    with pytest.raises(ModelError, match="cannot answer: AssertionError"):
        answers(model)


@pytest.mark.parametrize("package", ["models", "training"])
def test_libraries_are_silent_when_a_package_imports_them(package: str) -> None:
    """The package sets their level before its modules import PEFT and transformers' trainer, which import them."""
    code = f"import logging, tiltmeter.{package}; "
    code += "print(logging.getLogger('bitsandbytes.backends.cpu.ops').getEffectiveLevel())"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert (ended.stdout, ended.stderr) == (f"{logging.ERROR}\n", "")


def test_fewer_bytes_in_memory(tmp_path: Path) -> None:
    folder = saved(tmp_path / "m", made(CAUSAL["llama"]), word_piece())
    kinds = {}
    for quantize in (None, "8bit", "4bit"):
        module = open_model(folder, quantize=quantize).get_answerer("causal").model
        matrix: Any = module.get_submodule("model.layers.0.mlp.up_proj")
        kinds[quantize] = type(matrix.weight).__name__
        assert module.get_input_embeddings().weight.dtype == torch.float32
    assert kinds == {None: "Parameter", "8bit": "Int8Tensor", "4bit": "Params4bit"}


def test_a_run_says_so(causal: str) -> None:
    result = evaluate(causal, "starter-pairs:en", limit=2, quantize="8bit")
    assert result.manifest.request["quantize"] == "8bit"
    (note,) = result.manifest.notes
    assert_mentions(note, causal, "quantised to 8 bits")


def test_an_adapter_is_merged_before_its_base_is_quantised(tmp_path: Path) -> None:
    pytest.importorskip("peft", reason="PEFT is not installed: pip install 'tiltmeter[peft]'")
    from tests.models.test_adapters import base_and_adapter

    _, adapter = base_and_adapter(tmp_path)
    whole, quantised = open_model(adapter), open_model(adapter, quantize="8bit")
    difference = np.abs(np.concatenate(answers(quantised)) - np.concatenate(answers(whole))).max()
    assert 1e-4 < difference < 0.3
    quantised.close()


def test_where_it_cannot_be_had(causal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, cpu = SimpleNamespace(), torch.device("cpu")
    checkpoint = Checkpoint("m", tmp_path)
    assert validate_quantization(None, checkpoint, plain, cpu) is None
    assert validate_quantization("4bit", checkpoint, plain, cpu) == "4bit"
    with pytest.raises(ModelError, match=r"m is a GGUF file, which is quantised already; leave out --quantize"):
        validate_quantization("8bit", Checkpoint("m", tmp_path, gguf="m.gguf"), plain, cpu)
    with pytest.raises(ModelError, match=r"on cpu and cuda devices, not on mps"):
        validate_quantization("8bit", checkpoint, plain, torch.device("mps"))
    folder = tmp_path / "saved"
    saved(folder, made(CAUSAL["llama"]), word_piece())
    change_config(folder, quantization_config={"quant_method": "gptq", "bits": 4})
    with pytest.raises(ModelError, match=r"is quantised already \(gptq\); leave out --quantize"):
        open_model(str(folder), quantize="8bit")
    monkeypatch.setattr(quantization, "find_spec", lambda _name: None)
    with pytest.raises(ModelError, match=r"--quantize 4bit needs bitsandbytes: pip install 'tiltmeter\[quantize\]'"):
        open_model(causal, quantize="4bit")


def test_an_unknown_one_on_the_command_line(
    causal: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, "run", causal, "--quantize", "2bit") == 2
    assert re.search(r"--quantize 2bit is not known; choose 8bit or 4bit\.", capsys.readouterr().err)
