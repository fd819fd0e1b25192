"""Placement of a model's weights: on one device, or split over all GPUs, main memory and disk."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models.error_text import get_first_line
from tiltmeter.options import DTYPES

# Maximum share of a device's free memory that weights may use; the rest is for activations.
_SHARE_FOR_WEIGHTS = {"cuda": 0.85, "cpu": 0.9}


@dataclass(frozen=True, slots=True)
class DeviceSplit:
    """The settings for splitting a model over devices.

    With `always`, the model is split even if it fits on one device. `max_memory` maps each device (the number of a GPU,
    or "cpu") to a maximum number of bytes; the default is the free memory. Weights that do not fit into memory stay on
    disk.
    """

    always: bool = False
    max_memory: Mapping[int | str, int] | None = None


def find_device(device: str) -> torch.device:
    """Return the device with this name; `auto` is a CUDA GPU if there is one, else Apple's GPU (MPS), else the CPU."""
    if device == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        found = torch.device(device)
        torch.empty(0, device=found)
    except (RuntimeError, AssertionError) as error:
        raise ModelError(f"The device {device!r} is not available: {get_first_line(error)}") from error
    return found


def find_dtype(dtype: str, device: torch.device, config: Any) -> torch.dtype:
    """Return the dtype with this name; `auto` is float32, or on a CUDA GPU the half precision of the checkpoint."""
    if dtype == "auto":
        stored = getattr(config, "dtype", None)
        half = stored in (torch.float16, torch.bfloat16)
        return stored if half and device.type == "cuda" else torch.float32  # type: ignore[return-value]
    if dtype not in DTYPES:
        raise ModelError(f"Unknown dtype {dtype!r}; choose {', '.join(DTYPES[:-1])} or {DTYPES[-1]}.")
    return getattr(torch, dtype)  # type: ignore[no-any-return]


def parse_device_split(always: bool, max_memory: Mapping[str, str] | None) -> DeviceSplit:
    """Return a `DeviceSplit` from options; `max_memory` maps GPU numbers or `cpu` to sizes. A size forces a split."""
    if not max_memory:
        return DeviceSplit(always)
    from accelerate.utils import convert_file_size_to_int

    sizes: dict[int | str, int] = {}
    for name, size in max_memory.items():
        device = str(name).removeprefix("cuda:")
        try:
            if device != "cpu" and not device.isdigit():
                raise ValueError
            in_bytes = int(size) if str(size).isdigit() else convert_file_size_to_int(size)
            sizes[int(device) if device.isdigit() else device] = in_bytes
        except ValueError:
            raise UsageError(
                f"--max-memory {name}={size} is not DEVICE=SIZE; write GPU numbers or cpu, such as 0=10GiB,cpu=4GiB."
            ) from None
    return DeviceSplit(True, sizes)


def measure_free_memory(device: torch.device) -> int | None:
    """Return the free memory of a CUDA GPU or the CPU in bytes; None if it is unknown."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    if device.type != "cpu":
        return None
    try:
        import psutil  # this package is installed with accelerate
    except ImportError:
        return None
    return int(psutil.virtual_memory().available)


def fits_on_device(weights: float, device: torch.device) -> bool:
    """Return whether `weights` (a number of bytes) fit on a device; True if the device's free memory is unknown."""
    free = measure_free_memory(device)
    return free is None or weights <= free * _SHARE_FOR_WEIGHTS[device.type]


def compute_memory_limits(split: DeviceSplit, device: torch.device) -> dict[int | str, int]:
    """Return for accelerate the maximum bytes of weights on the CPU and, if `device` is a CUDA GPU, on each GPU."""
    if split.max_memory is not None:
        return dict(split.max_memory)
    memory: dict[int | str, int] = {}
    if device.type == "cuda":
        for index in range(torch.cuda.device_count()):
            free = measure_free_memory(torch.device("cuda", index)) or 0
            memory[index] = int(free * _SHARE_FOR_WEIGHTS["cuda"])
    memory["cpu"] = int((measure_free_memory(torch.device("cpu")) or 0) * _SHARE_FOR_WEIGHTS["cpu"])
    return memory


def describe_split(device_map: Mapping[str, Any]) -> dict[str, int]:
    """Return a dictionary from devices to numbers of modules; `device_map` maps modules to devices.

    >>> describe_split({"model.embed_tokens": 0, "model.layers.0": 0, "lm_head": "disk"})
    {'cuda:0': 2, 'disk': 1}
    """
    counts: dict[str, int] = {}
    for place in device_map.values():
        name = f"cuda:{place}" if isinstance(place, int) else str(place)
        counts[name] = counts.get(name, 0) + 1
    return counts
