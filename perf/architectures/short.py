"""The short form of the suite: architectures on which speed-ups or padding have failed, and the most common ones."""

from perf.architectures.catalogue import Architecture, find_architectures
from perf.architectures.making import LONGROPE, MIDDLE, SMALL, Variant

_NAMES: tuple[tuple[str, Variant], ...] = (
    # Windows between the width of packed rows and that of the longest prefix trees
    ("causal/gpt_oss", Variant(128)),
    ("causal/mistral", MIDDLE),
    ("causal/gemma3_text", MIDDLE),
    ("causal/llama4_text", MIDDLE),
    ("masked/modernbert", MIDDLE),
    # Padding that changes the other tokens
    ("masked/fnet", SMALL),
    ("next-sentence/fnet", SMALL),
    ("masked/mobilebert", SMALL),
    ("masked/convbert", SMALL),
    ("masked/nystromformer", SMALL),
    ("masked/yoso", SMALL),
    # Neighbours in a batch that change a row
    ("seq2seq/switch_transformers", Variant(64)),
    ("causal/phi3", LONGROPE),
    # Limits on the length
    ("masked/funnel", SMALL),
    ("causal/mpt", SMALL),
    # Common kinds, and a recurrent one
    ("masked/bert", SMALL),
    ("next-sentence/bert", SMALL),
    ("causal/gpt2", SMALL),
    ("causal/mamba", SMALL),
    ("seq2seq/t5", SMALL),
    ("seq2seq/bart", SMALL),
)


def list_short() -> list[tuple[Architecture, Variant]]:
    """Return the architectures of the short form, each with one variant."""
    return [(find_architectures([name])[0], variant) for name, variant in _NAMES]
