"""Steering vectors: the same answers as a change of biases, fingerprints, the manifest, and vectors that do not fit."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from tests.models.asking import answers
from tests.models.tiny import CAUSAL, MASKED, SEQ2SEQ, made, saved
from tests.models.tiny_tokenizers import word_piece
from tests.support.messages import raises_mentioning
from tiltmeter.engine.speedups import ALL
from tiltmeter.errors import ModelError
from tiltmeter.models.checkpoint_model import open_model
from tiltmeter.models.local_opener import open_local_model
from tiltmeter.models.steering import SteeringVector, split_vector_name
from tiltmeter.runs.evaluate import evaluate

# In these models, the last step of a layer adds a bias to the residual stream, so a vector is a change of this bias.
BIASES = {
    "gpt2": "transformer.h.{}.mlp.c_proj.bias",
    "gpt-neox": "gpt_neox.layers.{}.mlp.dense_4h_to_h.bias",
    "bloom": "transformer.h.{}.mlp.dense_4h_to_h.bias",
    "opt": "model.decoder.layers.{}.fc2.bias",
}
EVERY = {**MASKED, **CAUSAL}


def vector(seed: int = 1, width: int = 16) -> torch.Tensor:
    return torch.randn(width, generator=torch.Generator().manual_seed(seed))


def write(path: Path, **tensors: torch.Tensor) -> str:
    save_file({name.replace("__", "."): tensor for name, tensor in tensors.items()}, path)
    return str(path)


def base_of(folder: Path, name: str) -> str:
    return saved(folder / "base", made(EVERY[name]), word_piece())


@pytest.mark.parametrize("name", BIASES)
def test_a_vector_is_added_to_the_residual_stream(name: str, tmp_path: Path) -> None:
    model = made(CAUSAL[name])
    base = saved(tmp_path / "base", model, word_piece())
    path = write(tmp_path / "v.safetensors", layer__0=vector(1), layer__1=vector(2))
    with torch.no_grad():
        for index in (0, 1):
            model.get_parameter(BIASES[name].format(index)).add_(vector(index + 1))
    expected = answers(open_model(saved(tmp_path / "changed", model, word_piece())))
    steered = answers(open_model(f"{base}+{path}"))
    assert steered == [pytest.approx(row, abs=1e-4) for row in expected]
    assert steered != [pytest.approx(row, abs=1e-2) for row in answers(open_model(base))]


# ALBERT shares one layer, and the questions contain the padding token of RoBERTa, which changes its positions.
@pytest.mark.parametrize("name", sorted(set(EVERY) - {"albert", "roberta"}))
def test_speedups_do_not_change_answers(name: str, tmp_path: Path) -> None:
    base = base_of(tmp_path, name)
    steered = f"{base}+{write(tmp_path / 'v.safetensors', layer__1=vector())}"
    fast, plain = answers(open_model(steered)), answers(open_model(steered, without=ALL))
    assert fast == [pytest.approx(row, abs=1e-4) for row in plain]
    assert fast != [pytest.approx(row, abs=1e-2) for row in answers(open_model(base))]


def test_the_vector_is_in_the_fingerprint_and_in_the_manifest(tmp_path: Path) -> None:
    base = base_of(tmp_path, "gpt2")
    paths = [write(tmp_path / f"{seed}.safetensors", layer__1=vector(seed)) for seed in (1, 2)]
    names = [base, *(f"{base}+{path}" for path in paths)]
    assert len({open_model(name).fingerprint("causal") for name in names}) == 3
    about = open_model(names[1]).describe()
    assert (about["base"], about["steering"]["name"]) == (base, paths[0])
    assert about["steering"]["norm_by_layer"] == {"1": pytest.approx(float(vector(1).norm()), abs=1e-5)}
    assert "steering" not in open_model(base).describe()


def test_a_run_with_the_base_and_the_variant(tmp_path: Path) -> None:
    base = base_of(tmp_path, "llama")
    steered = f"{base}+{write(tmp_path / 'v.safetensors', layer__1=vector())}"
    result = evaluate([base, steered], "starter-pairs:en", limit=3, device="cpu")
    plain, changed = (table["score"].tolist() for _, table in result.scores.groupby("model", sort=False))
    assert plain != changed
    assert [entry.name for entry in result.manifest.models] == [base, steered]


def test_names(tmp_path: Path) -> None:
    plus = tmp_path / "a+b.safetensors"
    plus.touch()
    assert split_vector_name(f"x+{plus}") == ("x", SteeringVector(plus))
    assert split_vector_name("x/y@1+u/v+w.safetensors") == ("x/y@1+u/v", SteeringVector(Path("w.safetensors")))
    assert split_vector_name(str(plus)) == (str(plus), None)
    assert split_vector_name("x+y") == ("x+y", None)
    with raises_mentioning(ModelError, "BASE+VECTOR"):
        split_vector_name("+w.safetensors")


@pytest.mark.parametrize(
    ("tensors", "parts"),
    [
        ({"layer__2": vector()}, ["layer 2", "0 to 1"]),
        ({"layer__1": vector(width=8)}, ["layer 1", "(8,)", "(16,)"]),
        ({"layer__1": torch.ones(2, 16)}, ["(2, 16)", "(16,)"]),
        ({"steer": vector()}, ["steer", "layer.12"]),
        ({"layer__1__head__0": vector()}, ["layer.1.head.0"]),
        ({"layer__1": vector(), "h__1": vector()}, ["two tensors", "layer 1"]),
        ({"layer__1": torch.full((16,), torch.nan)}, ["layer.1", "finite"]),
        ({"layer__1": torch.ones(16, dtype=torch.int64)}, ["layer.1", "floating-point"]),
        ({}, ["no tensors"]),
    ],
)
def test_vectors_that_do_not_fit(tensors: dict[str, torch.Tensor], parts: list[str], tmp_path: Path) -> None:
    base = base_of(tmp_path, "gpt2")
    path = write(tmp_path / "v.safetensors", **tensors)
    with raises_mentioning(ModelError, path, *parts):
        open_model(f"{base}+{path}")


def test_a_vector_of_one_row_fits(tmp_path: Path) -> None:
    base = base_of(tmp_path, "gpt2")
    flat = write(tmp_path / "a.safetensors", layer__1=vector())
    row = write(tmp_path / "b.safetensors", layer__1=vector()[None])
    assert answers(open_model(f"{base}+{flat}")) == answers(open_model(f"{base}+{row}"))


def test_files_and_models_without_steering(tmp_path: Path) -> None:
    base = base_of(tmp_path, "gpt2")
    bad = tmp_path / "bad.safetensors"
    bad.write_bytes(b"no tensors")
    with raises_mentioning(ModelError, str(bad), "cannot be read"):
        open_local_model(f"{base}+{bad}")
    with raises_mentioning(ModelError, "none.safetensors", "cannot be read"):
        open_local_model(f"{base}+{tmp_path}/none.safetensors")
    path = write(tmp_path / "v.safetensors", layer__1=vector())
    albert = saved(tmp_path / "albert", made(MASKED["albert"]), word_piece())
    with raises_mentioning(ModelError, albert, "list of 2 layers"):
        answers(open_model(f"{albert}+{path}"))
    t5 = saved(tmp_path / "t5", made(SEQ2SEQ["t5"]), word_piece())
    with raises_mentioning(ModelError, t5, "seq2seq"):
        open_model(f"{t5}+{path}")
