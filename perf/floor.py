"""The floor: how many floating-point operations the questions cost at the very least.

Counted is what a transformer cannot do without: every distinct token in its context once through the weights of the
layers, attention to what it sees, and the vocabulary once at each distinct position that is read. Not counted are
embeddings, norms, activations and softmaxes, which are no matrix work, nor anything on the text side. Two operations
(multiply, add) for each weight and token.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn
from transformers.pytorch_utils import Conv1D

from tiltmeter.questions import Kind, Question, Want


@dataclass(slots=True)
class Weights:
    """How many weights meet each token, by where they stand in the model."""

    layers: int = 0  # the only stack of a model, or an encoder-decoder's encoder
    decoder: int = 0  # an encoder-decoder's decoder
    across: int = 0  # of the decoder, but applied to the source: keys and values of its cross-attention
    before_vocabulary: int = 0  # at positions that are read: what stands between layers and vocabulary, or a pooler
    vocabulary: int = 0
    width: int = 0  # of attention, all heads together
    depth: int = 0  # layers in a stack
    hidden: int = 0


def floor_flops(questions: Iterable[Question], kind: Kind, module: nn.Module) -> float:
    """The operations that must be done to answer the questions."""
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
    """The vocabulary once at each position; only the wanted rows of it where no normaliser is needed."""
    normalised: set[tuple] = set()
    tokens: dict[tuple, set[int]] = defaultdict(set)
    for question in questions:
        for position, token in question.wanted:
            # A masked model's state depends on the whole input, a causal one's on what stands before it.
            context = question.ids if kind in ("masked", "next-sentence") else question.ids[: position + 1]
            place = (context, question.source, question.segments, position)
            tokens[place].add(token)
            if question.want is not Want.LOGIT:
                normalised.add(place)
    flops = 2.0 * weights.before_vocabulary * len(tokens) + 2.0 * weights.vocabulary * len(normalised)
    return flops + sum(2.0 * weights.hidden * len(found) for place, found in tokens.items() if place not in normalised)


def _read_part(question: Question) -> tuple[int, ...]:
    """What stands after the last position that is read cannot change what is read there."""
    return question.ids[: 1 + max(position for position, _ in question.wanted)]


def _as_trie(inputs: Iterable[Sequence[int]]) -> tuple[int, int]:
    """Distinct prefixes of some inputs, and the sum of their lengths: how many tokens each last token sees."""
    tokens = seen = 0
    last: Sequence[int] = ()
    for ids in sorted(set(inputs)):  # inputs with a common prefix become neighbours
        shared = 0
        while shared < min(len(last), len(ids)) and last[shared] == ids[shared]:
            shared += 1
        tokens += len(ids) - shared
        seen += (len(ids) * (len(ids) + 1) - shared * (shared + 1)) // 2
        last = ids
    return tokens, seen


def count_weights(module: nn.Module) -> Weights:
    """Sort the weights of all matrices by where they stand."""
    config: Any = module.config
    heads = config.num_attention_heads
    head_width = getattr(config, "head_dim", None) or getattr(config, "d_kv", None) or config.hidden_size // heads
    weights = Weights(width=heads * head_width, depth=config.num_hidden_layers, hidden=config.hidden_size)
    vocabulary = module.get_output_embeddings() if hasattr(module, "get_output_embeddings") else None
    decoder = set(module.get_decoder().modules()) if config.is_encoder_decoder else set()
    in_layers = {part for found in module.modules() if isinstance(found, nn.ModuleList) for part in found.modules()}
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
