"""The text architectures of the auto mappings of transformers."""

from dataclasses import dataclass
from typing import Any, Literal

import transformers
from transformers.models.auto import modeling_auto

Kind = Literal["masked", "causal", "seq2seq", "next-sentence"]

_MAPPINGS: dict[Kind, str] = {
    "masked": "MODEL_FOR_MASKED_LM_MAPPING_NAMES",
    "causal": "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
    "seq2seq": "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",
    "next-sentence": "MODEL_FOR_NEXT_SENTENCE_PREDICTION_MAPPING_NAMES",
}
AUTO_CLASSES: dict[Kind, Any] = {
    "masked": transformers.AutoModelForMaskedLM,
    "causal": transformers.AutoModelForCausalLM,
    "seq2seq": transformers.AutoModelForSeq2SeqLM,
    "next-sentence": transformers.AutoModelForNextSentencePrediction,
}


@dataclass(frozen=True)
class Architecture:
    """A model type with the head of one kind; `class_name` is its class in transformers."""

    kind: Kind
    model_type: str
    class_name: str

    @property
    def name(self) -> str:
        """The name in results and for `--only`: `causal/gpt2`."""
        return f"{self.kind}/{self.model_type}"


def list_architectures() -> list[Architecture]:
    """Return every architecture of the four mappings.

    Encoder-decoders that transformers also lists as masked models have one class for both, and are listed once.
    """
    of_encoder_decoders = set(_classes("seq2seq").values())
    return [
        Architecture(kind, model_type, name)
        for kind in _MAPPINGS
        for model_type, name in _classes(kind).items()
        if kind != "masked" or name not in of_encoder_decoders
    ]


def find_architectures(names: list[str]) -> list[Architecture]:
    """Return the architectures of these names, each with or without its kind: `causal/gpt2` or `gpt2`."""
    every = list_architectures()
    unknown = set(names) - {a.name for a in every} - {a.model_type for a in every}
    if unknown:
        raise ValueError(
            f"transformers has no text architecture {', '.join(sorted(unknown))}; name one as causal/gpt2."
        )
    return [a for a in every if not names or a.name in names or a.model_type in names]


def _classes(kind: Kind) -> dict[str, str]:
    """Return the class of each model type; the first one if there are several."""
    mapping: dict[str, Any] = getattr(modeling_auto, _MAPPINGS[kind])
    return {model_type: name if isinstance(name, str) else name[0] for model_type, name in mapping.items()}
