"""Comparison of the tensor names in a checkpoint with the tensor names in the loaded model."""

import re
from collections.abc import Iterable

_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")


def select_extra_layers(unexpected: Iterable[str], loaded: Iterable[str]) -> list[str]:
    """Return the names of unexpected tensors that differ from names of loaded tensors only in the number of the layer.

    >>> select_extra_layers(["h.1.ln.bias", "head.bias"], ["h.0.ln.bias", "wte.weight"])
    ['h.1.ln.bias']
    """
    known = {_NUMBER.sub("N", name) for name in loaded}
    return sorted(name for name in unexpected if _NUMBER.search(name) and _NUMBER.sub("N", name) in known)


def list_unused_modules(unexpected: Iterable[str]) -> list[str]:
    """Return the names of modules whose tensors are in a checkpoint but not in the loaded model, such as other heads.

    >>> list_unused_modules({"cls.seq_relationship.bias", "cls.seq_relationship.weight", "scale"})
    ['cls.seq_relationship', 'scale']
    """
    return sorted({key.rpartition(".")[0] or key for key in unexpected})


def select_layer_modules(modules: Iterable[str]) -> list[str]:
    """Return the unused modules that are inside numbered layers, and are therefore parts of the model and not heads.

    >>> select_layer_modules(["cls.seq_relationship", "bert.encoder.layer.0.adapter"])
    ['bert.encoder.layer.0.adapter']
    """
    return [module for module in modules if _NUMBER.search(f"{module}.")]
