"""Quantisation of a model's weights during loading.

8bit: int8 weights with one scale for each row of a matrix (torchao). LLM.int8() of bitsandbytes is not used: it also
quantises activations and selects outlier columns from all texts of a batch, so that answers would depend on the batch.
4bit: NF4 in blocks of 64 weights (bitsandbytes), as in QLoRA.
Embeddings and the vocabulary projection are not quantised.
"""

from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, Literal, get_args

import torch
import transformers
from torch import nn

from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models.checkpoint import Checkpoint

Quantization = Literal["8bit", "4bit"]
QUANTIZATIONS: tuple[Quantization, ...] = get_args(Quantization)

_LIBRARY: dict[Quantization, str] = {"8bit": "torchao", "4bit": "bitsandbytes"}
_METHOD: dict[Quantization, str] = {"8bit": "int8, weights only", "4bit": "nf4"}
_DEVICES = ("cpu", "cuda")
# The attribute of bitsandbytes' layers that turns on a kernel for CPUs with bfloat16 instructions.
_BF16_SWITCH = "support_avx512bf16_for_cpu"
# Bytes of memory per weight, including the scales of the quantisation.
BYTES_PER_WEIGHT: dict[Quantization, float] = {"8bit": 1.01, "4bit": 0.57}


def validate_quantization(
    quantize: str | None, checkpoint: Checkpoint, config: Any, device: torch.device
) -> Quantization | None:
    """Return the quantisation that --quantize names; raise an error if this model or device does not support it."""
    if quantize is None:
        return None
    chosen = next((known for known in QUANTIZATIONS if known == quantize), None)
    if chosen is None:
        raise UsageError(f"--quantize {quantize} is unknown; choose {' or '.join(QUANTIZATIONS)}.")
    if checkpoint.gguf:
        raise ModelError(f"{checkpoint.name} is a GGUF file, which is already quantised; omit --quantize.")
    if saved := find_saved_quantization(config):
        raise ModelError(f"{checkpoint.name} is already quantised ({saved}); omit --quantize.")
    if device.type not in _DEVICES:
        raise ModelError(
            f"--quantize supports the devices {' and '.join(_DEVICES)}, not {device.type}; choose another --device."
        )
    library = _LIBRARY[chosen]
    if find_spec(library) is None:
        raise ModelError(f"--quantize {chosen} needs {library}: pip install 'tiltmeter[quantize]'")
    return chosen


def build_quantization_config(quantize: Quantization, dtype: torch.dtype) -> Any:
    """Return the value of the argument `quantization_config` of `from_pretrained`."""
    if quantize == "8bit":
        from torchao.quantization import Int8WeightOnlyConfig

        return transformers.TorchAoConfig(Int8WeightOnlyConfig())
    return transformers.BitsAndBytesConfig(  # type: ignore[no-untyped-call]
        load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=dtype
    )


def use_declared_precision(model: nn.Module) -> None:
    """Make the bitsandbytes layers of a model compute in the dtype of the model on every CPU.

    Otherwise bitsandbytes would always compute in bfloat16 on a CPU with bfloat16 instructions. Then numbers would
    depend on the CPU, and some sizes of matrices would raise an AssertionError.
    """
    for module in model.modules():
        if hasattr(module, _BF16_SWITCH):
            setattr(module, _BF16_SWITCH, False)


def find_saved_quantization(config: Any) -> str | None:
    """Return the method with which a checkpoint was quantised; None if the checkpoint is not quantised."""
    saved = getattr(config, "quantization_config", None)
    if saved is None:
        return None
    method = saved.get("quant_method") if isinstance(saved, dict) else getattr(saved, "quant_method", None)
    return str(getattr(method, "value", method) or "quantised")


def describe_quantization(quantize: Quantization) -> dict[str, str]:
    """Return the entry `quantized` of the run's manifest: bits, method and library."""
    library = _LIBRARY[quantize]
    return {"bits": quantize.removesuffix("bit"), "method": _METHOD[quantize], "by": f"{library} {version(library)}"}
