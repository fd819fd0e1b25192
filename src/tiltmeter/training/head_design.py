"""Which head a model gets: the recommended one, or the published one."""

from collections.abc import Sequence
from typing import Any

from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models.head_config import Design, HeadConfig
from tiltmeter.models.next_sentence_model import find_decoder_start

DESIGNS: tuple[Design, ...] = ("recommended", "published")
# What stands before the first sentence for an encoder-decoder. The released code has one for each of its languages in
# training, answers with the English one in all of them, and has none for mT5.
PREFIX = "binary classification: "
PUBLISHED_PREFIXES = {
    "en": PREFIX,
    "de": "binäre Klassifikation: ",
    "es": "clasificación binaria: ",
    "fr": "classification binaire: ",
}
# The labels that an encoder-decoder writes: does not follow, follows.
LABELS = ("0", "1")


def design_head(
    base: Any, design: str, *, name: str, languages: Sequence[str], max_length: int, lora: bool = False
) -> HeadConfig:
    """The head for a base model (a `CheckpointModel`); `name` is what the head's config calls the model."""
    if design not in DESIGNS:
        raise UsageError(f"{design!r} is no design of a head; choose {' or '.join(DESIGNS)}.")
    if base.adapter is not None:
        raise UsageError(
            f"{base.name} is a model with an adapter; merge the adapter into the model, save that, and name its folder."
        )
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
                "There is no published next-sentence head for masked models: the papers use BERT's own. Leave --head "
                "out."
            )
        return HeadConfig(**common, reading="mean", joined=False)
    if base.kind == "causal":
        if published:
            return HeadConfig(**common, reading="mean", joined=False, activations=False)
        # A token between the sentences gains 0.4 points of accuracy over a space (docs/evidence/next-sentence.md).
        return HeadConfig(**common, reading="mean", separator=base.tokenizer.eos_token or " ")
    find_decoder_start(base.tokenizer, base.config, base.name)  # an error before anything is written
    prefixed = not (published and base.config.model_type == "mt5")
    return HeadConfig(
        **common,
        reading="label",
        joined=not published,
        labels=_find_label_ids(base),
        prefix=PREFIX if prefixed else "",
        prefixes={language: PUBLISHED_PREFIXES.get(language, "") if published else PREFIX for language in languages}
        if prefixed
        else {},
        step=1 if published else 0,
        layers=(),
        activations=False,
    )


def _find_label_ids(base: Any) -> tuple[int, int]:
    """The last token of each label: SentencePiece may put a token for the start of a word before it."""
    first, second = (base.tokenizer.encode(label, add_special_tokens=False)[-1:] for label in LABELS)
    unknown = base.tokenizer.unk_token_id
    if not first or not second or first == second or unknown in (*first, *second):
        raise ModelError(
            f"The tokenizer of {base.name} has no two different tokens for the labels {' and '.join(LABELS)}, which "
            "the next-sentence head of an encoder-decoder writes."
        )
    return first[0], second[0]
