"""The floor: the minimum number of floating-point operations that the questions need.

It includes the weights of the layers and attention for every distinct token in its context, and the vocabulary
projection for every distinct position that is read. It excludes tokenization, and embeddings, norms, activations and
softmaxes, which are not matrix products. Each weight and token takes two operations (multiply and add).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn
from transformers.pytorch_utils import Conv1D

from tiltmeter.questions import Kind, Question, WantedQuantity


@dataclass(slots=True)
class Weights:
    """The number of weights applied to each token, by their position in the model."""

    layers: int = 0  # of the only stack of a model, or of the encoder
    decoder: int = 0
    across: int = 0  # keys and values of the decoder's cross-attention, applied to the source
    before_vocabulary: int = 0  # between layers and vocabulary, or of a pooler; applied at positions that are read
    vocabulary: int = 0
    width: int = 0  # of attention, all heads together
    depth: int = 0  # layers in a stack
    hidden: int = 0


def floor_flops(questions: Iterable[Question], kind: Kind, module: nn.Module) -> float:
    """Return the minimum number of operations for the questions."""
    weights = count_weights(module)
    attention = 4 * weights.width * weights.depth  # two products, each two operations, for each pair of tokens
    flops = 0.0
    if kind in ("masked", "next-sentence"):
        for ids, _ in {(q.ids, q.segments) for q in questions}:
            flops += 2 * weights.layers * len(ids) + attention * len(ids) ** 2
    elif kind == "causal":
        tokens, seen = _as_trie(_read_part(q) for q in questions)
        flops += 2 * weights.layers * tokens + attention * seen
    else:
        targets: dict[tuple[int, ...], set[tuple[int, ...]]] = defaultdict(set)
        for question in questions:
            targets[question.source].add(_read_part(question))
        for source, ids in targets.items():
            flops += 2 * (weights.layers + weights.across) * len(source) + attention * len(source) ** 2
            tokens, seen = _as_trie(ids)
            flops += 2 * weights.decoder * tokens + attention * (seen + tokens * len(source))
    return flops + _head_flops(questions, kind, weights)


def _head_flops(questions: Iterable[Question], kind: Kind, weights: Weights) -> float:
    """Return the operations of the vocabulary projection; without a normaliser, only for the requested tokens."""
    normalised: set[tuple] = set()
    tokens: dict[tuple, set[int]] = defaultdict(set)
    for question in questions:
        for position, token in question.wanted:
            # The state of a masked model depends on the whole input, that of a causal model on the preceding tokens.
            context = question.ids if kind in ("masked", "next-sentence") else question.ids[: position + 1]
            read = (context, question.source, question.segments, position)
            tokens[read].add(token)
            if question.want is not WantedQuantity.LOGIT:
                normalised.add(read)
    flops = 2.0 * weights.before_vocabulary * len(tokens) + 2.0 * weights.vocabulary * len(normalised)
    return flops + sum(2.0 * weights.hidden * len(wanted) for read, wanted in tokens.items() if read not in normalised)


def _read_part(question: Question) -> tuple[int, ...]:
    """Return the input up to the last position that is read; later tokens do not matter."""
    return question.ids[: 1 + max(position for position, _ in question.wanted)]


def _as_trie(inputs: Iterable[Sequence[int]]) -> tuple[int, int]:
    """Return the number of distinct prefixes of the inputs, and the sum of their lengths (attended tokens)."""
    tokens = seen = 0
    last: Sequence[int] = ()
    for ids in sorted(set(inputs)):  # inputs with a common prefix are neighbours
        shared = 0
        while shared < min(len(last), len(ids)) and last[shared] == ids[shared]:
            shared += 1
        tokens += len(ids) - shared
        seen += (len(ids) * (len(ids) + 1) - shared * (shared + 1)) // 2
        last = ids
    return tokens, seen


def count_weights(module: nn.Module) -> Weights:
    """Count the weights of all matrices by their place in the model."""
    config: Any = module.config
    heads = config.num_attention_heads
    head_width = getattr(config, "head_dim", None) or getattr(config, "d_kv", None) or config.hidden_size // heads
    weights = Weights(width=heads * head_width, depth=config.num_hidden_layers, hidden=config.hidden_size)
    vocabulary = module.get_output_embeddings() if hasattr(module, "get_output_embeddings") else None
    decoder = set(module.get_decoder().modules()) if config.is_encoder_decoder else set()
    in_layers = {part for stack in module.modules() if isinstance(stack, nn.ModuleList) for part in stack.modules()}
    for name, part in module.named_modules():
        if not isinstance(part, nn.Linear | Conv1D):
            continue
        if part is vocabulary:
            weights.vocabulary += part.weight.numel()
        elif part not in in_layers:
            weights.before_vocabulary += part.weight.numel()
        elif part not in decoder:
            weights.layers += part.weight.numel()
        elif _is_across(name):
            weights.across += part.weight.numel()
        else:
            weights.decoder += part.weight.numel()
    return weights


def _is_across(name: str) -> bool:
    *parents, own = name.split(".")
    return parents[-1] in ("EncDecAttention", "encoder_attn") and own in ("k", "v", "k_proj", "v_proj")
