"""Steering vectors: vectors that are added to the residual stream after some layers of a model (`BASE+VECTOR`).

A vector is a `.safetensors` file with a tensor for each steered layer. The name of a tensor contains the index of its
layer, counted from 0, such as `layer.12`. The tensor is added to the output of this layer at every position, so an
answer does not depend on the other inputs of its batch, or on padding.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, isfinite, nn

from tiltmeter.errors import ModelError
from tiltmeter.models.checkpoint_files import compute_files_digest
from tiltmeter.text_files import expand_home

_SUFFIX = ".safetensors"
_INDEX = re.compile(r"(?:^|(?<=[._]))\d+(?=$|[._])")
# This version is part of the fingerprint. Increase it if vectors are applied in another way.
_VERSION = 1


@dataclass(frozen=True)
class SteeringVector:
    """The file of a steering vector."""

    path: Path

    @property
    def digest(self) -> str:
        """The SHA-256 of the file and of the way in which vectors are applied."""
        return f"steering {_VERSION} {compute_files_digest([self.path])}"

    @cached_property
    def vectors(self) -> dict[int, Tensor]:
        """A mapping from the index of a layer to the vector that is added to its output."""
        try:
            tensors = load_file(self.path)
        except (SafetensorError, OSError, ValueError) as error:
            raise ModelError(f"The steering vector {self.path} cannot be read: {str(error).rstrip('.')}.") from error
        found: dict[int, Tensor] = {}
        for name, tensor in tensors.items():
            index = self._read_index(name)
            if index in found:
                raise ModelError(f"The steering vector {self.path} has two tensors for layer {index}; remove one.")
            if not tensor.is_floating_point() or not isfinite(tensor).all():
                raise ModelError(f"The tensor {name} of {self.path} must have finite floating-point numbers.")
            found[index] = tensor.flatten() if tensor.numel() == tensor.shape[-1:].numel() else tensor
        if not found:
            raise ModelError(f"The steering vector {self.path} has no tensors; add one named like layer.12.")
        return dict(sorted(found.items()))

    def _read_index(self, name: str) -> int:
        numbers = _INDEX.findall(name)
        if len(numbers) != 1:
            raise ModelError(
                f"The tensor {name} of {self.path} must have the index of one layer in its name, such as layer.12."
            )
        return int(numbers[0])

    def validate(self, model: str, config: Any, kind: str) -> None:
        """Raise an error if the vectors do not fit the layers of a model."""
        if kind not in ("masked", "causal"):
            raise ModelError(f"{model} is a {kind} model; steering vectors are for masked and causal models.")
        text = config.get_text_config()
        count, width = text.num_hidden_layers, text.hidden_size
        for index, vector in self.vectors.items():
            if index >= count:
                raise ModelError(
                    f"The steering vector {self.path} has a tensor for layer {index}, but {model} has the layers 0 to "
                    f"{count - 1}; remove this tensor."
                )
            if tuple(vector.shape) != (width,):
                raise ModelError(
                    f"The tensor for layer {index} of {self.path} has the shape {tuple(vector.shape)}, but {model} "
                    f"needs {(width,)}; use a vector that was computed for this model."
                )

    def describe(self) -> dict[str, Any]:
        """Return the entry `steering` of the run's manifest."""
        norms = {str(index): round(float(vector.float().norm()), 6) for index, vector in self.vectors.items()}
        return {"name": str(self.path), "files": compute_files_digest([self.path]), "norm_by_layer": norms}

    def steer(self, module: nn.Module, model: str) -> nn.Module:
        """Register hooks that add the vectors to the outputs of the layers, and return the model."""
        count = module.config.get_text_config().num_hidden_layers  # type: ignore[union-attr, operator]
        layers = _find_layers(module, count)
        if layers is None:
            raise ModelError(
                f"{model} has no list of {count} layers, so a steering vector cannot be added to it; omit the vector."
            )
        for index, vector in self.vectors.items():
            layers[index].register_forward_hook(_build_hook(vector))
        return module


def split_vector_name(name: str) -> tuple[str, SteeringVector | None]:
    """Return the model and the steering vector of a name `BASE+VECTOR.safetensors`; for other names, None.

    >>> split_vector_name("gpt2+./lora")
    ('gpt2+./lora', None)
    >>> base, vector = split_vector_name("gpt2+./lora+fair.safetensors")
    >>> base, vector.path.name
    ('gpt2+./lora', 'fair.safetensors')
    """
    if not name.endswith(_SUFFIX) or "+" not in name or expand_home(name).exists():
        return name, None
    splits = [(name[:at], name[at + 1 :]) for at, character in enumerate(name) if character == "+"]
    # The name of a file may contain a plus sign, so a split whose second part is an existing file is preferred.
    existing = [pair for pair in splits if expand_home(pair[1]).is_file()]
    base, path = (existing or splits[-1:])[0]
    if not base:
        raise ModelError(f"{name!r} lacks the model to which the steering vector is added; write BASE+VECTOR.")
    return base, SteeringVector(expand_home(path))


def _find_layers(module: nn.Module, count: int) -> nn.ModuleList | None:
    """Return the only list of `count` layers that is not inside another such list; None if there is not exactly one."""
    stacks = [child for child in module.modules() if isinstance(child, nn.ModuleList) and len(child) == count]
    inner = {id(other) for stack in stacks for other in stack.modules() if other is not stack}
    outer = [stack for stack in stacks if id(stack) not in inner]
    return outer[0] if len(outer) == 1 else None


def _build_hook(vector: Tensor) -> Any:
    """Return a forward hook that adds the vector to the hidden states, which may be the first entry of a tuple."""
    moved: dict[Any, Tensor] = {}

    def add_vector(_module: nn.Module, _arguments: Any, output: Any) -> Any:
        states: Tensor = output[0] if isinstance(output, tuple) else output
        key = (states.device, states.dtype)
        if key not in moved:
            moved[key] = vector.to(*key)
        steered = states + moved[key]
        return (steered, *output[1:]) if isinstance(output, tuple) else steered

    return add_vector
