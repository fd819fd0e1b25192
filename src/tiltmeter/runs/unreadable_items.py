"""Items that a model cannot read: what its tokenizer does not know is no text to it, and a score of it means little.

- A portion most of whose text is unknown to the tokenizer, or has no tokens, is not asked at all.
- An item is in doubt if one of its scored tokens is the unknown one, if one of its texts has no token, or if all its
  scores are 0. The published protocols score such items, as the released code does, and the run flags them; all other
  protocols leave them out. Beyond 10% of a portion its numbers are not interpretable (`measures/verdict_rule.py`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tiltmeter.benchmarks.benchmark import DisplayedScores, PartTrials, SkippedItem, UnsupportedPart
from tiltmeter.forms import Item, get_form
from tiltmeter.forms.blank import BLANK
from tiltmeter.measures.records import get_base_protocol
from tiltmeter.questions import Tokenizer

UNKNOWN_TOKENS = "some of its scored tokens are unknown to the tokenizer"
NO_TOKEN = "one of its texts has no token"
ALL_ZERO = "all its scores are 0"
_PUBLISHED = "published"
# A portion with a larger share of unknown tokens, or of texts without tokens, is not asked.
_MOST = 0.5
# Items that are looked at to find that out.
_PROBED = 100


@dataclass(frozen=True, slots=True)
class UnreadableItem:
    """Why an item is in doubt; `unknown` of its `scored` tokens are unknown."""

    item: str
    reason: str
    unknown: int = 0
    scored: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The entry of the manifest, without the names of model and data."""
        counts = {"unknown": self.unknown, "scored": self.scored} if self.reason == UNKNOWN_TOKENS else {}
        return {"item": self.item, "reason": self.reason, **counts}


def reject_unreadable_texts(items: Sequence[Item], form: str, text: Tokenizer) -> None:
    """CannotAsk if most of the items' text, in a sample of them, is unknown to the tokenizer or has no tokens."""
    sample = items[:: max(1, len(items) // _PROBED)]
    texts = list(dict.fromkeys(found for item in sample for found in _list_texts(item, form)))
    encoded = [found.ids for found in text.encode(texts)]
    empty = sum(not ids for ids in encoded)
    tokens = sum(map(len, encoded))
    unknown = 0 if text.unknown is None else sum(ids.count(text.unknown) for ids in encoded)
    what = ""
    if empty > _MOST * len(texts):
        what = f"{empty:,} of {len(texts):,} texts have no token"
    elif unknown > _MOST * tokens:
        what = f"{unknown:,} of {tokens:,} tokens are unknown to it"
    if what:
        raise UnsupportedPart(
            f"The tokenizer cannot read these texts: {what}. Check that the model is for this language and script, and "
            "that the tokenizer is its own (--tokenizer names another)."
        )


def find_unreadable_items(
    asked: PartTrials, items: Sequence[Item], form: str, text: Tokenizer
) -> dict[str, UnreadableItem]:
    """The items with unknown scored tokens or texts without tokens, by id; also those that cannot be scored for it."""
    found = {item: UnreadableItem(item, NO_TOKEN) for item in _find_items_without_tokens(items, form, text)}
    if text.unknown is None:
        return found
    unknown: dict[str, list[int]] = {}
    for trial in asked.trials:
        # What is asked of a next-sentence head is a decision, whose number is no token: all it reads counts.
        tokens = [
            token
            for question in trial.questions
            for token in (question.ids if asked.kind == "next-sentence" else [token for _, token in question.wanted])
        ]
        counts = unknown.setdefault(trial.item.id, [0, 0])
        counts[0] += tokens.count(text.unknown)
        counts[1] += len(tokens)
    return found | {
        item: UnreadableItem(item, UNKNOWN_TOKENS, number, scored)
        for item, (number, scored) in unknown.items()
        if number
    }


def omits_unreadable(protocol: str) -> bool:
    """Whether a protocol leaves out items in doubt; the published ones do not, so that their numbers stay the same.

    >>> omits_unreadable("published/c"), omits_unreadable("in-context"), omits_unreadable("likelihood")
    (False, True, True)
    """
    return get_base_protocol(protocol) != _PUBLISHED


def skip_unreadable(asked: PartTrials, doubts: Mapping[str, UnreadableItem]) -> None:
    """Move the items in doubt from the trials to those skipped, if the protocol leaves them out."""
    if not omits_unreadable(asked.protocol):
        return
    asked_items = {trial.item.id for trial in asked.trials}
    asked.trials = [trial for trial in asked.trials if trial.item.id not in doubts]
    asked.skipped += [SkippedItem(item, doubt.reason) for item, doubt in doubts.items() if item in asked_items]


def find_zero_scores(scores: pd.DataFrame, shown: DisplayedScores | None) -> dict[str, UnreadableItem]:
    """The items all of whose candidates score exactly 0, by id.

    A single signed number may be 0: it compares two candidates.
    """
    if shown is None or shown.unit == "signed" or scores.empty:
        return {}
    candidates = scores[scores["role"].isin(shown.roles)]
    zero = (candidates["score"] == 0.0).groupby(candidates["item"], sort=False).all()
    return {str(item): UnreadableItem(str(item), ALL_ZERO) for item in zero.index[zero]}


def list_flagged_items(
    doubts: Iterable[UnreadableItem], scored: Iterable[str], names: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """The manifest's entries of items in doubt that were scored all the same."""
    present = set(scored)
    return ({**names, **doubt.to_dict()} for doubt in doubts if doubt.item in present)


def _find_items_without_tokens(items: Sequence[Item], form: str, text: Tokenizer) -> list[str]:
    """The ids of items with a text that has no token, or only tokens for the space before it."""
    if text.unknown is None:
        return []  # a byte-level tokenizer encodes every text
    blank: dict[int, bool] = {}

    def is_blank(token: int) -> bool:
        if token not in blank:
            blank[token] = not text.decode([token]).strip()
        return blank[token]

    pairs = [(item.id, found) for item in items for found in _list_texts(item, form)]
    encoded = text.encode([found for _, found in pairs])
    return list(
        dict.fromkeys(item for (item, _), found in zip(pairs, encoded, strict=True) if all(map(is_blank, found.ids)))
    )


def _list_texts(item: Item, form: str) -> Iterator[str]:
    """The texts of an item that a model may be asked about, without marks of blanks."""
    known = get_form(form)
    for field, text in known.texts(item):
        if known.text_kind(field) != "term" and (own := text.replace(BLANK, " ").strip()):
            yield own
