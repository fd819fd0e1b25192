"""The hardware, time and energy that a model's answers took."""

import platform
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

# The thermal design power of GPUs in watts, by a part of their names; the first match counts.
_TDP = {
    "B200": 1000,
    "H200 NVL": 600,
    "H200": 700,
    "H100 NVL": 400,
    "H100 PCIe": 350,
    "H100": 700,
    "A100-SXM": 400,
    "A100-PCIE-40": 250,
    "A100": 300,
    "L40S": 350,
    "L40": 300,
    "L4": 72,
    "A40": 300,
    "A30": 165,
    "A10G": 300,
    "A10": 150,
    "V100-PCIE": 250,
    "V100": 300,
    "P100": 250,
    "T4": 70,
    "RTX 6000 Ada": 300,
    "RTX A6000": 300,
    "RTX 5090": 575,
    "RTX 4090": 450,
    "RTX 3090": 350,
}
_CPU_INFO = Path("/proc/cpuinfo")


@dataclass(slots=True)
class HardwareUsage:
    """The time spent answering, and the energy that GPUs used meanwhile; `joules` is None where it was not measured."""

    seconds: float = 0.0
    joules: float | None = 0.0

    @contextmanager
    def measuring(self, devices: Sequence[torch.device]) -> Iterator[None]:
        """Add the time within the context, and the energy of these devices if their driver tells it."""
        began, before = time.monotonic(), read_energy_counters(devices)
        try:
            yield
        finally:
            self.seconds += time.monotonic() - began
            after = read_energy_counters(devices)
            if self.joules is not None:
                known = before is not None and after is not None
                self.joules = self.joules + after - before if known else None  # type: ignore[operator]

    def describe_and_reset(self, devices: Sequence[torch.device]) -> dict[str, Any]:
        """The description of what was used so far; from now on, it is counted anew."""
        described = self.describe(devices)
        self.seconds, self.joules = 0.0, 0.0
        return described

    def describe(self, devices: Sequence[torch.device]) -> dict[str, Any]:
        """Hardware, hours and energy in watt-hours, with how the energy is known, for the manifest."""
        names = [get_device_name(device) for device in devices]
        hours = self.seconds / 3600
        known: dict[str, Any] = {"hardware": names, "hours": round(hours, 6)}
        gpus = [device for device in devices if device.type == "cuda"]
        powers = [find_tdp(get_device_name(device)) for device in gpus]
        if gpus and self.joules is not None:
            return {
                **known,
                "energy_wh": round(self.joules / 3600, 3),
                "energy": "measured by the driver, for the whole GPU",
            }
        if gpus and all(powers):
            watts = sum(power for power in powers if power)
            return {
                **known,
                "energy_wh": round(hours * watts, 3),
                "energy": f"estimated: hours x {watts} W, the thermal design power",
            }
        return {**known, "energy": "not measured"}


def get_device_name(device: torch.device) -> str:
    """The name of a GPU, or of the processor."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    if device.type != "cpu":
        return device.type
    lines = _CPU_INFO.read_text(encoding="utf-8").splitlines() if _CPU_INFO.is_file() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or f"CPU ({platform.machine()})"


def find_tdp(name: str) -> int | None:
    """The thermal design power of a GPU in watts, if it is known.

    >>> find_tdp("NVIDIA H200"), find_tdp("NVIDIA A100-SXM4-80GB"), find_tdp("My own GPU")
    (700, 400, None)
    """
    return next((watts for part, watts in _TDP.items() if part in name), None)


def read_energy_counters(devices: Sequence[torch.device]) -> float | None:
    """The energy in joules that these GPUs used since their driver was loaded; None if that cannot be read."""
    gpus = [device for device in devices if device.type == "cuda"]
    if not gpus:
        return None
    try:
        import pynvml

        pynvml.nvmlInit()
        try:
            # By its UUID: the driver's numbers are not those of CUDA_VISIBLE_DEVICES.
            identifiers = [f"GPU-{torch.cuda.get_device_properties(device).uuid}" for device in gpus]
            handles = [pynvml.nvmlDeviceGetHandleByUUID(identifier) for identifier in identifiers]
            return float(sum(pynvml.nvmlDeviceGetTotalEnergyConsumption(handle) for handle in handles)) / 1000
        finally:
            pynvml.nvmlShutdown()
    except Exception:  # no package, no driver, or a GPU without a counter
        return None
