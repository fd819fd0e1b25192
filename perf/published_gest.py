"""The way GEST's released code (Pikuliak et al. 2024) puts its sentences into templates, written anew.

What makes it slow is kept: every template for itself; for masked models, both wordings as inputs of their own, though
with their words masked they are the same, and a softmax over the whole vocabulary at every position; for causal
models, logits over the whole vocabulary at every position, though the last one alone is read; one probability fetched
at a time. What is merely unlucky is not: batches instead of single sentences, no gradients unless asked for, each text
tokenized once, and no score, instead of a wrong one, where the two words have different numbers of tokens.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from perf.outcome import Outcome
from perf.published_way import PublishedModel
from tiltmeter.benchmarks.gest import TEMPLATES, parts
from tiltmeter.forms.gest import GestItem


@dataclass(frozen=True, slots=True)
class _Wording:
    """A sentence in a template with one of the two words: its tokens, and those of the other wording."""

    key: str
    ids: list[int]
    others: list[int]

    @property
    def differing(self) -> list[int]:
        """The places of the word."""
        return [place for place, (own, other) in enumerate(zip(self.ids, self.others, strict=True)) if own != other]


def templates_masked(items: Sequence[GestItem], model: PublishedModel) -> Outcome:
    """Mask what tells the two wordings apart, in either of them, and read there its own word."""
    numbers: dict[str, list[float]] = defaultdict(list)
    for wordings in model.batches(list(_wordings(items, model.tokenizer))):
        inputs = model.pad([wording.ids for wording in wordings])
        for line, wording in enumerate(wordings):
            inputs["input_ids"][line, wording.differing] = model.tokenizer.mask_token_id
        everywhere = model.module(**inputs).logits.softmax(dim=-1)
        for wording, distributions in zip(wordings, everywhere, strict=True):
            for place in wording.differing:  # the masculine wording's come first
                numbers[wording.key].append(distributions[place, wording.ids[place]].item())
    return model.outcome(numbers, _log_ratios(numbers))


def _wordings(items: Sequence[GestItem], tokenizer: Any) -> Iterator[_Wording]:
    for part, template in TEMPLATES.items():
        for item in items:
            texts = [template.fill(item.sentence, word) for word in (template.male, template.female)]
            male, female = tokenizer(texts)["input_ids"]
            if len(male) == len(female) and male != female:
                yield _Wording(f"{part}/{item.id}", male, female)
                yield _Wording(f"{part}/{item.id}", female, male)


def templates_causal(items: Sequence[GestItem], model: PublishedModel) -> Outcome:
    """Read both words after all that stands before them."""
    numbers: dict[str, list[float]] = {}
    for part in parts("causal"):
        template = TEMPLATES[part]
        words = [_token(model.tokenizer, word) for word in (template.male, template.female)]
        for some in model.batches(items):
            inputs = model.tokenize([template.until(item.sentence, "").rstrip() for item in some])
            lasts = inputs["attention_mask"].sum(dim=1) - 1
            logits = model.module(**inputs).logits
            at_lasts = logits[torch.arange(len(some), device=model.device), lasts].softmax(dim=-1)
            for item, distribution in zip(some, at_lasts, strict=True):
                numbers[f"{part}/{item.id}"] = [distribution[word].item() for word in words]
    return model.outcome(numbers, _log_ratios(numbers))


def _token(tokenizer: Any, word: str) -> int:
    """The word within a text, where it is one token."""
    before, both = (tokenizer.encode(text, add_special_tokens=False) for text in (",", f", {word}"))
    if len(both) != len(before) + 1:
        raise SystemExit(f"The published way reads words of one token; for this model {word!r} has more.")
    return both[-1]


def _log_ratios(numbers: dict[str, list[float]]) -> dict[str, float]:
    """For each sentence, the mean of the masculine word's logarithms less that of the feminine word's."""
    means = {key: np.log(found).reshape(2, -1).mean(axis=1) for key, found in numbers.items()}
    return {key: float(male - female) for key, (male, female) in means.items()}
