"""The recommended and the published design of a next-sentence head for a model."""

from collections.abc import Sequence
from typing import Any

from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models.head_config import Design, HeadConfig
from tiltmeter.models.next_sentence_model import find_decoder_start

DESIGNS: tuple[Design, ...] = ("recommended", "published")
# The text before the first sentence for an encoder-decoder. The released code of Öztürk et al. (2023) uses one text per
# language in training, always the English text in evaluation, and no text for mT5.
PREFIX = "binary classification: "
PUBLISHED_PREFIXES = {
    "en": PREFIX,
    "de": "binäre Klassifikation: ",
    "es": "clasificación binaria: ",
    "fr": "classification binaire: ",
}
# The two outputs of an encoder-decoder: "0" means "does not follow", and "1" means "follows".
LABELS = ("0", "1")


def design_head(
    base: Any, design: str, *, name: str, languages: Sequence[str], max_length: int, lora: bool = False
) -> HeadConfig:
    """Return the config of a new head for the base model `base` (a `CheckpointModel`).

    `design` is `recommended` or `published`. `name` is the base model's name in the config.
    """
    if design not in DESIGNS:
        raise UsageError(f"--head {design} is not known; choose {' or '.join(DESIGNS)}.")
    if base.adapter is not None:
        raise UsageError(f"{base.name} has an adapter; merge it into the model, save the result, and name its folder.")
    published = design == "published"
    common: dict[str, Any] = {
        "design": design,
        "kind": base.kind,
        "base": name,
        "base_revision": base.checkpoint.revision,
        "base_weights": base.weights,
        "adapter": lora,
        "max_length": min(max_length, base.max_length or max_length),
        "languages": tuple(languages),
    }
    if base.kind == "masked":
        if published:
            raise UsageError(
                "--head published is not for masked models, because the papers use BERT's own head; leave --head out."
            )
        return HeadConfig(**common, reading="mean", joined=False)
    if base.kind == "causal":
        if published:
            return HeadConfig(**common, reading="mean", joined=False, activations=False)
        # A separator token gives an accuracy 0.4 percentage points higher than a space
        # (docs/evidence/next-sentence.md).
        return HeadConfig(**common, reading="mean", separator=base.tokenizer.eos_token or " ")
    # Called only to raise an error for an unsuitable model before anything is written.
    find_decoder_start(base.tokenizer, base.config, base.name)
    has_prefix = not (published and base.config.model_type == "mt5")
    return HeadConfig(
        **common,
        reading="label",
        joined=not published,
        labels=_find_label_ids(base),
        prefix=PREFIX if has_prefix else "",
        prefixes={language: PUBLISHED_PREFIXES.get(language, "") if published else PREFIX for language in languages}
        if has_prefix
        else {},
        step=1 if published else 0,
        layers=(),
        activations=False,
    )


def _find_label_ids(base: Any) -> tuple[int, int]:
    """Return the last token id of each label; SentencePiece may put a token for the word start before it."""
    first, second = (base.tokenizer.encode(label, add_special_tokens=False)[-1:] for label in LABELS)
    unknown = base.tokenizer.unk_token_id
    if not first or not second or first == second or unknown in (*first, *second):
        raise ModelError(
            f"The tokenizer of {base.name} has no different tokens for the labels {' and '.join(LABELS)}, which the "
            "next-sentence head of an encoder-decoder needs; use another model."
        )
    return first[0], second[0]
