"""A reimplementation of the scoring of sentences in templates in the released code of GEST (Pikuliak et al. 2024).

It keeps the properties that make the algorithm slow: one template at a time; for masked models, both wordings as
separate inputs (although they are equal when masked) and a softmax over the vocabulary at every position; for causal
models, logits at every position (although only the last is read); one probability fetched at a time. It avoids
incidental costs: it uses batches, no gradients (unless requested) and one tokenization per text. It returns no score
instead of a wrong one if the two words have different numbers of tokens.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from perf.outcome import Outcome
from perf.published_way import PublishedModel
from tiltmeter.benchmarks.gest import TEMPLATES, list_parts
from tiltmeter.forms.gest import GestItem


@dataclass(frozen=True, slots=True)
class _Wording:
    """A sentence in a template with one of the two words: its token ids, and those of the other wording."""

    key: str
    ids: list[int]
    others: list[int]

    @property
    def differing(self) -> list[int]:
        """The positions of the word."""
        pairs = enumerate(zip(self.ids, self.others, strict=True))
        return [position for position, (own, other) in pairs if own != other]


def templates_masked(items: Sequence[GestItem], model: PublishedModel) -> Outcome:
    """Mask the tokens in which the two wordings differ, and read the probabilities of each word."""
    numbers: dict[str, list[float]] = defaultdict(list)
    for wordings in model.batches(list(_wordings(items, model.tokenizer))):
        inputs = model.pad([wording.ids for wording in wordings])
        for line, wording in enumerate(wordings):
            inputs["input_ids"][line, wording.differing] = model.tokenizer.mask_token_id
        everywhere = model.module(**inputs).logits.softmax(dim=-1)
        for wording, distributions in zip(wordings, everywhere, strict=True):
            for position in wording.differing:  # those of the masculine wording come first
                numbers[wording.key].append(distributions[position, wording.ids[position]].item())
    return model.outcome(numbers, _log_ratios(numbers))


def _wordings(items: Sequence[GestItem], tokenizer: Any) -> Iterator[_Wording]:
    for part, template in TEMPLATES.items():
        for item in items:
            texts = [template.fill_in_sentence(item.sentence, word) for word in (template.male, template.female)]
            male, female = tokenizer(texts)["input_ids"]
            if len(male) == len(female) and male != female:
                yield _Wording(f"{part}/{item.id}", male, female)
                yield _Wording(f"{part}/{item.id}", female, male)


def templates_causal(items: Sequence[GestItem], model: PublishedModel) -> Outcome:
    """Read the probabilities of both words after the text before them."""
    numbers: dict[str, list[float]] = {}
    for part in list_parts("causal"):
        template = TEMPLATES[part]
        words = [_token(model.tokenizer, word) for word in (template.male, template.female)]
        for batch in model.batches(items):
            inputs = model.tokenize([template.fill_up_to_word(item.sentence, "").rstrip() for item in batch])
            lasts = inputs["attention_mask"].sum(dim=1) - 1
            logits = model.module(**inputs).logits
            at_lasts = logits[torch.arange(len(batch), device=model.device), lasts].softmax(dim=-1)
            for item, distribution in zip(batch, at_lasts, strict=True):
                numbers[f"{part}/{item.id}"] = [distribution[word].item() for word in words]
    return model.outcome(numbers, _log_ratios(numbers))


def _token(tokenizer: Any, word: str) -> int:
    """Return the id of a word within a text; it must be one token."""
    before, both = (tokenizer.encode(text, add_special_tokens=False) for text in (",", f", {word}"))
    if len(both) != len(before) + 1:
        raise SystemExit(f"The published way needs words of one token; in this model {word!r} has more.")
    return both[-1]


def _log_ratios(numbers: dict[str, list[float]]) -> dict[str, float]:
    """Return, for each sentence, the mean log-probability of the masculine word minus that of the feminine word."""
    means = {key: np.log(values).reshape(2, -1).mean(axis=1) for key, values in numbers.items()}
    return {key: float(male - female) for key, (male, female) in means.items()}
