"""Chat models in vLLM: a made module with the part of vLLM's interface that is used."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import pytest
import torch
import transformers as t

from tests.models.test_chat_local import instruct, opened, questions
from tests.runs.chosen import pairs_file
from tests.support.command import command
from tests.support.messages import raises_mentioning
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models.model_opener import is_chat_model, open_given_model
from tiltmeter.models.vllm_chat import VllmChat
from tiltmeter.options import ModelOptions
from tiltmeter.questions import SamplingOptions

__all__ = ["instruct"]


@dataclass(kw_only=True)
class SamplingParams:
    temperature: float
    max_tokens: int
    seed: int | None
    stop_token_ids: list[int]
    detokenize: bool


class Engine:
    """`vllm.LLM`: it generates with a plain loop, and omits the tokens that end a text if `omits_ends`."""

    loaded: ClassVar[list["Engine"]] = []
    omits_ends = False

    def __init__(self, model: str, *, dtype: str, trust_remote_code: bool, seed: int) -> None:
        self.options = {"dtype": dtype, "trust_remote_code": trust_remote_code, "seed": seed}
        self.module = t.AutoModelForCausalLM.from_pretrained(model).eval()
        self.ended = False
        self.llm_engine = SimpleNamespace(engine_core=SimpleNamespace(shutdown=self.end))
        self.params: list[SamplingParams] = []
        Engine.loaded.append(self)

    def end(self) -> None:
        self.ended = True

    def generate(
        self, prompts: Sequence[dict[str, list[int]]], sampling_params: Sequence[SamplingParams], *, use_tqdm: bool
    ) -> list[Any]:
        assert not use_tqdm
        self.params += sampling_params
        return [
            SimpleNamespace(outputs=[self.complete(prompt["prompt_token_ids"], params)])
            for prompt, params in zip(prompts, sampling_params, strict=True)
        ]

    @torch.inference_mode()
    def complete(self, ids: list[int], params: SamplingParams) -> Any:
        new: list[int] = []
        while len(new) < params.max_tokens:
            token = int(self.module(torch.tensor([ids + new])).logits[0, -1].argmax())
            if token in params.stop_token_ids:
                new += [] if self.omits_ends else [token]
                return SimpleNamespace(token_ids=new, finish_reason="stop", stop_reason=token)
            new.append(token)
        return SimpleNamespace(token_ids=tuple(new), finish_reason="length", stop_reason=None)


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> type[Engine]:
    module = ModuleType("vllm")
    module.LLM, module.SamplingParams = Engine, SamplingParams  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vllm", module)
    monkeypatch.setattr(Engine, "loaded", [])
    return Engine


def vllm_chat(folder: str) -> VllmChat:
    model = open_given_model(f"vllm:{folder}", ModelOptions(device="cpu"))
    assert isinstance(model, VllmChat)
    return model


@pytest.mark.parametrize("omits_ends", [False, True])
def test_replies_are_those_of_transformers(
    instruct: str, vllm: type[Engine], omits_ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Engine, "omits_ends", omits_ends)
    sampling = SamplingOptions(max_tokens=12)
    model = vllm_chat(instruct)
    assert dict(model.stream_replies(questions(), sampling)) == dict(
        opened(instruct).stream_replies(questions(), sampling)
    )
    (engine,) = vllm.loaded
    assert engine.options["dtype"] == "float32"
    assert {params.seed for params in engine.params} == {None}
    list(model.stream_replies(questions(sample=1), SamplingOptions(temperature=1.0, max_tokens=2)))
    assert len({params.seed for params in engine.params[3:]}) == 3
    model.close()
    assert engine.ended


def test_a_run(instruct: str, vllm: type[Engine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = str(tmp_path / "run")
    arguments = ("run", f"vllm:{instruct}", "--on", str(pairs_file(tmp_path, 2)), "--device", "cpu", "--out", out)
    assert command(monkeypatch, *arguments) == 0
    assert len(vllm.loaded) == 1
    assert command(monkeypatch, *arguments, "--force") == 0
    assert len(vllm.loaded) == 1  # all replies were stored


def test_keys_and_names(instruct: str, vllm: type[Engine], monkeypatch: pytest.MonkeyPatch) -> None:
    model = vllm_chat(instruct)
    assert model.name == f"vllm:{instruct}"
    assert is_chat_model(model.name)
    prints = {model.chat_fingerprint(SamplingOptions()), opened(instruct).chat_fingerprint(SamplingOptions())}
    monkeypatch.setattr("tiltmeter.models.vllm_chat.find_version", lambda: "0.99")
    prints.add(model.chat_fingerprint(SamplingOptions()))
    assert len(prints) == 3
    assert model.describe()["vllm"] == "0.99"


def test_unsupported_uses(instruct: str, vllm: type[Engine], monkeypatch: pytest.MonkeyPatch) -> None:
    with raises_mentioning(ModelError, f"vllm:{instruct}", f"chat:{instruct}"):
        list(vllm_chat(instruct).stream_replies(questions(), SamplingOptions(probabilities=True)))
    with raises_mentioning(UsageError, "vllm:", "--plain"):
        open_given_model(f"vllm:{instruct}", ModelOptions(device="cpu", plain=True))
    with raises_mentioning(UsageError, "vllm:embedded", "chat:embedded"):
        open_given_model("vllm:embedded", ModelOptions(device="cpu"))
    with raises_mentioning(UsageError, "vllm:FOLDER"):
        open_given_model("vllm:", ModelOptions(device="cpu"))
    monkeypatch.setitem(sys.modules, "vllm", None)
    with raises_mentioning(UsageError, f"vllm:{instruct}", "tiltmeter[vllm]"):
        vllm_chat(instruct)
