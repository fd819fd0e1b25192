"""Quantise a model's weights while they are loaded.

8bit: int8 with one scale for each row of a matrix, weights alone (torchao). Not bitsandbytes' LLM.int8(), which
quantises activations too and picks outlier columns by all texts of a batch: its answers depend on the batch.
4bit: NF4 in blocks of 64 weights (bitsandbytes), as in QLoRA.
Both leave embeddings and the vocabulary projection as they are.
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
# The attribute of bitsandbytes' layers that chooses its kernel for CPUs with bfloat16 instructions.
_BF16_SWITCH = "support_avx512bf16_for_cpu"
# Of one weight of a quantised matrix, with its share of the scales.
BYTES_PER_WEIGHT: dict[Quantization, float] = {"8bit": 1.01, "4bit": 0.57}


def validate_quantization(
    quantize: str | None, checkpoint: Checkpoint, config: Any, device: torch.device
) -> Quantization | None:
    """The quantisation if it can be had for this model on this device; an error that says why not otherwise."""
    if quantize is None:
        return None
    chosen = next((known for known in QUANTIZATIONS if known == quantize), None)
    if chosen is None:
        raise UsageError(f"--quantize {quantize} is not known; choose {' or '.join(QUANTIZATIONS)}.")
    if checkpoint.gguf:
        raise ModelError(f"{checkpoint.name} is a GGUF file, which is quantised already; leave out --quantize.")
    if saved := find_saved_quantization(config):
        raise ModelError(f"{checkpoint.name} is quantised already ({saved}); leave out --quantize.")
    if device.type not in _DEVICES:
        raise ModelError(
            f"--quantize works on {' and '.join(_DEVICES)} devices, not on {device.type}; choose another --device."
        )
    library = _LIBRARY[chosen]
    if find_spec(library) is None:
        raise ModelError(f"--quantize {chosen} needs {library}: pip install 'tiltmeter[quantize]'")
    return chosen


def build_quantization_config(quantize: Quantization, dtype: torch.dtype) -> Any:
    """The argument `quantization_config` of `from_pretrained`."""
    if quantize == "8bit":
        from torchao.quantization import Int8WeightOnlyConfig

        return transformers.TorchAoConfig(Int8WeightOnlyConfig())
    return transformers.BitsAndBytesConfig(  # type: ignore[no-untyped-call]
        load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=dtype
    )


def use_declared_precision(model: nn.Module) -> None:
    """Have bitsandbytes compute in the dtype of the model on every CPU.

    On one with bfloat16 instructions it would compute in bfloat16 whatever the dtype, so that numbers would depend on
    the CPU, and stop with an AssertionError at matrices whose sizes its kernel cannot take.
    """
    for module in model.modules():
        if hasattr(module, _BF16_SWITCH):
            setattr(module, _BF16_SWITCH, False)


def find_saved_quantization(config: Any) -> str | None:
    """The method by which a saved checkpoint is quantised, if it is."""
    saved = getattr(config, "quantization_config", None)
    if saved is None:
        return None
    method = saved.get("quant_method") if isinstance(saved, dict) else getattr(saved, "quant_method", None)
    return str(getattr(method, "value", method) or "quantised")


def describe_quantization(quantize: Quantization) -> dict[str, str]:
    """What the manifest says of it."""
    library = _LIBRARY[quantize]
    return {"bits": quantize.removesuffix("bit"), "method": _METHOD[quantize], "by": f"{library} {version(library)}"}
