"""What the manifest says of a model: architecture, size, and the hardware, hours and energy of its answers."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.models.asking import answers
from tests.models.tiny import CAUSAL, MASKED, SEQ2SEQ, made, saved
from tests.models.tiny_tokenizers import word_piece
from tiltmeter.models import hardware_usage, processor
from tiltmeter.models.checkpoint_model import open_model
from tiltmeter.models.hardware_usage import HardwareUsage
from tiltmeter.models.in_memory_model import wrap_loaded_model

GPU = torch.device("cuda", 0)


@pytest.mark.parametrize(("name", "layers"), [("bert", 2), ("llama", 2), ("gpt2", 2), ("t5", 4), ("bart", 4)])
def test_architecture_and_size(name: str, layers: int, tmp_path: Path) -> None:
    module = made({**MASKED, **CAUSAL, **SEQ2SEQ}[name])
    model = open_model(saved(tmp_path, module, word_piece()))
    parameters = sum(parameter.numel() for parameter in module.parameters())
    facts = {
        "type": module.config.model_type,
        "architecture": type(module).__name__,
        "parameters": parameters,
        "layers": layers,
        "vocabulary": 50,
    }
    about, in_memory_about = model.describe(), wrap_loaded_model(module, word_piece()).describe()
    assert {key: about[key] for key in facts} == facts
    assert {key: in_memory_about[key] for key in facts} == facts
    assert about["bytes"] == (tmp_path / "model.safetensors").stat().st_size
    assert in_memory_about["bytes"] == 4 * parameters


def test_hours_on_a_processor(causal: str) -> None:
    model = open_model(causal)
    before = model.describe()["compute"]
    assert before["hours"] == 0
    answers(model)
    after = model.describe()["compute"]
    assert after["hours"] > 0
    assert after["energy"] == "not measured"
    assert "energy_wh" not in after
    assert len(after["hardware"]) == 1


class FakeNvml:
    """A driver whose counter goes up by 7.2 kJ each time it is read."""

    def __init__(self) -> None:
        self.millijoules = 0
        self.open = 0

    def nvmlInit(self) -> None:  # noqa: N802
        self.open += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.open -= 1

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:  # noqa: N802
        assert uuid == "GPU-one"
        return uuid

    def nvmlDeviceGetTotalEnergyConsumption(self, _handle: str) -> int:  # noqa: N802
        self.millijoules += 7_200_000
        return self.millijoules


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _device: "NVIDIA H200")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _device: SimpleNamespace(uuid="one"))


@pytest.mark.usefixtures("gpu")
def test_energy_that_the_driver_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", driver)
    used = HardwareUsage()
    for _ in range(2):
        with used.measure_usage([GPU]):
            pass
    about = used.describe_usage([GPU])
    assert (about["hardware"], about["energy_wh"]) == (["NVIDIA H200"], 4.0)
    assert about["energy"] == "measured by the driver, for the whole GPU"
    assert driver.open == 0


@pytest.mark.usefixtures("gpu")
def test_energy_without_the_driver_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    used = HardwareUsage()
    with used.measure_usage([GPU]):
        pass
    used.seconds = 1800.0
    assert used.describe_usage([GPU]) == {"hardware": ["NVIDIA H200"], "hours": 0.5, "energy": "not measured"}


def test_names_of_hardware(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text("processor : 0\nmodel name\t: Some CPU @ 2GHz\n")
    monkeypatch.setattr(processor, "_CPU_INFO", tmp_path / "cpuinfo")
    assert hardware_usage.get_device_name(torch.device("cpu")) == "Some CPU @ 2GHz"
    monkeypatch.setattr(processor, "_CPU_INFO", tmp_path / "none")
    assert hardware_usage.get_device_name(torch.device("cpu"))
    assert hardware_usage.get_device_name(torch.device("mps")) == "mps"


def test_apples_gpu_is_found_and_used_in_float32(causal: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    half: Any = made(CAUSAL["gpt2"]).half()
    folder = saved(tmp_path, half, word_piece())
    assert str(open_model(causal).device) == "cpu"
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    model = open_model(folder)
    assert (str(model.device), model.dtype) == ("mps", torch.float32)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert str(open_model(folder).device) == "cuda"


def test_a_model_that_is_used_again_counts_its_time_anew() -> None:
    used = HardwareUsage(seconds=7200.0)
    assert used.describe_and_reset([torch.device("cpu")])["hours"] == 2
    assert used.describe_and_reset([torch.device("cpu")])["hours"] == 0
