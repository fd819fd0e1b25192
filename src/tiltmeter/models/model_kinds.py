"""The kind of a model (masked, causal or seq2seq), found from its config and tensors, never from its name."""

from typing import Any

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForNextSentencePrediction,
    AutoModelForPreTraining,
    AutoModelForSeq2SeqLM,
)

from tiltmeter.errors import ModelError
from tiltmeter.models.checkpoint import Checkpoint
from tiltmeter.questions import Kind

AUTO_CLASSES: dict[Kind, Any] = {
    "masked": AutoModelForMaskedLM,
    "causal": AutoModelForCausalLM,
    "seq2seq": AutoModelForSeq2SeqLM,
    "next-sentence": AutoModelForNextSentencePrediction,
}
_LANGUAGE_MODEL_KINDS: tuple[Kind, ...] = ("masked", "causal", "seq2seq")


def find_kind(checkpoint: Checkpoint, config: Any) -> Kind:
    """Return the kind of a checkpoint: masked, causal or seq2seq (encoder-decoder); raise a ModelError if unknown."""
    architectures: list[str] = list(getattr(config, "architectures", None) or [])
    possible = list_possible_kinds(config)
    for architecture in architectures:
        for kind in possible:
            # transformers also lists some encoder-decoders as causal or masked models; here, their kind is seq2seq.
            if config.is_encoder_decoder and kind != "seq2seq":
                continue
            if architecture in _list_class_names(kind, config):
                return kind
        if architecture == _find_pretraining_class(config) and "masked" in possible:
            return "masked"
    if not architectures and len(possible) == 1:
        return possible[0]
    named = ", ".join(architectures) or "no architecture"
    if not possible:
        raise ModelError(
            f"The config of {checkpoint.name} names {named}, which has no supported language-model head; use a masked, "
            "causal or seq2seq model."
        )
    raise ModelError(
        f"The config of {checkpoint.name} names {named}, which does not determine the kind of the model; models of the "
        f"type {config.model_type} can be used as {' or '.join(possible)}: choose with --kind."
    )


def find_class_kind(module: object, config: Any) -> Kind | None:
    """Return the kind of a loaded model according to its class; None if the class has no language-model head."""
    names = {base.__name__ for base in type(module).__mro__}
    for kind in list_possible_kinds(config):
        if (kind == "seq2seq" or not config.is_encoder_decoder) and names & set(_list_class_names(kind, config)):
            return kind
    return None


def list_possible_kinds(config: Any) -> list[Kind]:
    """Return the kinds for which transformers has a model class for this config."""
    return [kind for kind in _LANGUAGE_MODEL_KINDS if _list_class_names(kind, config)]


def has_next_sentence_head(checkpoint: Checkpoint, config: Any) -> bool:
    """Return whether the checkpoint contains a trained next-sentence head."""
    if not _list_class_names("next-sentence", config):
        return False
    if checkpoint.tensor_names is None:
        return "NextSentence" in str(config.architectures) or "PreTraining" in str(config.architectures)
    with torch.device("meta"):
        model = AutoModelForNextSentencePrediction.from_config(config)  # type: ignore[no-untyped-call]
    backbone = f"{model.base_model_prefix}."
    head = {name for name in model.state_dict() if not name.startswith(backbone)}
    return head <= checkpoint.tensor_names


def _list_class_names(kind: Kind, config: Any) -> list[str]:
    """Return the names of the model classes for this config and kind, in transformers and in the model's own code."""
    auto = AUTO_CLASSES[kind]
    names: list[str] = []
    if type(config) in auto._model_mapping:
        classes = auto._model_mapping[type(config)]
        names += [c.__name__ for c in (classes if isinstance(classes, tuple) else (classes,))]
    remote = (getattr(config, "auto_map", None) or {}).get(auto.__name__)
    if remote:
        names.append(remote.rpartition(".")[2])
    return names


def _find_pretraining_class(config: Any) -> str | None:
    mapping: Any = AutoModelForPreTraining._model_mapping
    return str(mapping[type(config)].__name__) if type(config) in mapping else None
