"""Hardware, time and energy that were used for the answers of a model."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import torch

from tiltmeter.models.processor import get_processor_name


@dataclass(slots=True)
class HardwareUsage:
    """The time for answers, and the energy of the GPUs in this time; `joules` is None if it is not known."""

    seconds: float = 0.0
    joules: float | None = 0.0

    @contextmanager
    def measure_usage(self, devices: Sequence[torch.device]) -> Iterator[None]:
        """Add the time within the context, and the energy of these devices if their driver reports the energy."""
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
        """Return the result of `describe_usage`, and set time and energy to zero."""
        description = self.describe_usage(devices)
        self.seconds, self.joules = 0.0, 0.0
        return description

    def describe_usage(self, devices: Sequence[torch.device]) -> dict[str, Any]:
        """Return an entry for the manifest of a run: hardware, hours, and energy in watt-hours with its source."""
        names = [get_device_name(device) for device in devices]
        entry: dict[str, Any] = {"hardware": names, "hours": round(self.seconds / 3600, 6)}
        if any(device.type == "cuda" for device in devices) and self.joules is not None:
            return {
                **entry,
                "energy_wh": round(self.joules / 3600, 3),
                "energy": "measured by the driver, for the whole GPU",
            }
        return {**entry, "energy": "not measured"}


def get_device_name(device: torch.device) -> str:
    """Return the name of a GPU, or the name of the processor for other devices."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    if device.type != "cpu":
        return device.type
    return get_processor_name()


def read_energy_counters(devices: Sequence[torch.device]) -> float | None:
    """Return the energy in joules that these GPUs used since their driver was loaded; None if it is not known."""
    gpus = [device for device in devices if device.type == "cuda"]
    if not gpus:
        return None
    with _open_driver(gpus) as handles:
        if handles is None:
            return None
        import pynvml

        try:
            return float(sum(pynvml.nvmlDeviceGetTotalEnergyConsumption(handle) for handle in handles)) / 1000
        except pynvml.NVMLError:  # a GPU has no energy counter
            return None


def read_gpu_state(device: torch.device) -> dict[str, float]:
    """Return use, memory and power of a GPU in percent; power is a share of its limit. Empty if they are not known."""
    if device.type != "cuda":
        return {}
    with _open_driver([device]) as handles:
        if handles is None:
            return {}
        import pynvml

        try:
            memory = pynvml.nvmlDeviceGetMemoryInfo(handles[0])
            power, limit = (
                pynvml.nvmlDeviceGetPowerUsage(handles[0]),
                pynvml.nvmlDeviceGetEnforcedPowerLimit(handles[0]),
            )
            return {
                "gpu_use": float(pynvml.nvmlDeviceGetUtilizationRates(handles[0]).gpu),
                "gpu_memory": 100 * memory.used / memory.total,
                "gpu_power": 100 * power / limit,
            }
        except (pynvml.NVMLError, ZeroDivisionError):
            return {}


@contextmanager
def _open_driver(gpus: Sequence[torch.device]) -> Iterator[list[Any] | None]:
    """Yield the driver's handles of these GPUs, or None if there is no package or no driver."""
    handles = None
    with suppress(Exception):
        import pynvml

        pynvml.nvmlInit()
        # GPUs are identified by UUID, because the GPU numbers of the driver ignore CUDA_VISIBLE_DEVICES.
        identifiers = [f"GPU-{torch.cuda.get_device_properties(gpu).uuid}" for gpu in gpus]
        handles = [pynvml.nvmlDeviceGetHandleByUUID(identifier) for identifier in identifiers]
    try:
        yield handles
    finally:
        with suppress(Exception):
            import pynvml

            pynvml.nvmlShutdown()
