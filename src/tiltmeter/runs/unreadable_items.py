"""Items that a model cannot read, because its tokenizer does not know some of their tokens.

- A model is not asked about a part in a language if its tokenizer does not know most of the text, or if most texts
  have no tokens.
- An item is unreadable if one of its scored tokens is the unknown token, if one of its texts has no token, or if all
  its scores are 0. The published protocols score such items, like the released code, and the run flags them; all other
  protocols skip them. If more than 10% of the items of a part are unreadable, its numbers are not
  interpretable (`measures/verdict_rule.py`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from tiltmeter.benchmarks.benchmark import PartTrials, SkippedItem, UnsupportedPart
from tiltmeter.forms import Item, get_form
from tiltmeter.forms.blank import BLANK
from tiltmeter.measures.measure import find_item_scale
from tiltmeter.measures.records import get_base_protocol
from tiltmeter.questions import Tokenizer
from tiltmeter.runs.manifest import FlaggedItem

UNKNOWN_TOKENS = "some of its scored tokens are unknown to the tokenizer"
NO_TOKEN = "one of its texts has no token"
ALL_ZERO = "all its scores are 0"
_PUBLISHED = "published"
# The maximum share of unknown tokens, or of texts without tokens, in the items that a model is asked about.
_MOST = 0.5
# The maximum number of items in the sample that is checked for unknown tokens.
_PROBED = 100


@dataclass(frozen=True, slots=True)
class UnreadableItem:
    """An unreadable item with the reason; `scored` counts its scored tokens, `unknown` the unknown ones among them."""

    item: str
    reason: str
    unknown: int = 0
    scored: int = 0


def reject_unreadable_texts(items: Sequence[Item], form: str, text: Tokenizer) -> None:
    """Raise UnsupportedPart if, in a sample of items, most tokens are unknown or most texts have no tokens."""
    sample = items[:: max(1, len(items) // _PROBED)]
    texts = list(dict.fromkeys(found for item in sample for found in _list_texts(item, form)))
    encoded = [found.ids for found in text.encode(texts)]
    empty = sum(not ids for ids in encoded)
    tokens = sum(map(len, encoded))
    unknown = 0 if text.unknown is None else sum(ids.count(text.unknown) for ids in encoded)
    problem = ""
    if empty > _MOST * len(texts):
        problem = f"{empty:,} of {len(texts):,} texts have no token"
    elif unknown > _MOST * tokens:
        problem = f"{unknown:,} of {tokens:,} tokens are unknown"
    if problem:
        raise UnsupportedPart(
            f"The tokenizer cannot read these texts: {problem}. Check that the model supports this language and "
            "script, and that the tokenizer belongs to the model (select another with --tokenizer)."
        )


def find_unreadable_items(
    part_trials: PartTrials, items: Sequence[Item], form: str, text: Tokenizer
) -> dict[str, UnreadableItem]:
    """Return the unreadable items by id: items with unknown scored tokens, and items with a text without tokens."""
    found = {item: UnreadableItem(item, NO_TOKEN) for item in _find_items_without_tokens(items, form, text)}
    if text.unknown is None:
        return found
    unknown: dict[str, list[int]] = {}
    for trial in part_trials.trials:
        # A next-sentence head does not predict tokens, so all its input tokens count as scored.
        tokens = [
            token
            for question in trial.questions
            for token in (
                question.ids if part_trials.kind == "next-sentence" else [token for _, token in question.wanted]
            )
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
    """Return whether a protocol skips unreadable items; published protocols keep them, like the released code.

    >>> omits_unreadable("published/c"), omits_unreadable("in-context"), omits_unreadable("likelihood")
    (False, True, True)
    """
    return get_base_protocol(protocol) != _PUBLISHED


def skip_unreadable_items(part_trials: PartTrials, unreadable: Mapping[str, UnreadableItem]) -> None:
    """Move the unreadable items from the trials to the skipped items, if the protocol skips them."""
    if not omits_unreadable(part_trials.protocol):
        return
    with_trials = {trial.item.id for trial in part_trials.trials}
    part_trials.trials = [trial for trial in part_trials.trials if trial.item.id not in unreadable]
    part_trials.skipped += [
        SkippedItem(item, found.reason) for item, found in unreadable.items() if item in with_trials
    ]


def find_zero_scores(scores: pd.DataFrame) -> dict[str, UnreadableItem]:
    """Return a mapping from item id to item, for the items whose candidates all have a score of exactly 0.

    Benchmarks with a single score per item are excluded, because their scores may be 0 for readable items.
    """
    scale = None if scores.empty else find_item_scale(scores["role"].unique(), scores.columns)
    if scale is None or scale.strength.unit not in ("ratio", "difference"):
        return {}
    candidates = scores[scores["role"].isin((*scale.strength.roles, *scale.strength.optional))]
    zero = (candidates["score"] == 0.0).groupby(candidates["item"], sort=False).all()
    return {str(item): UnreadableItem(str(item), ALL_ZERO) for item in zero.index[zero]}


def list_flagged_items(
    unreadable: Iterable[UnreadableItem], scored: Iterable[str], names: Mapping[str, str]
) -> Iterator[FlaggedItem]:
    """Yield the manifest's entries for unreadable items that were scored.

    `scored` are the ids of scored items. `names` are the fields that identify model and data.
    """
    present = set(scored)
    for entry in unreadable:
        if entry.item in present:
            unknown, scored_tokens = (entry.unknown, entry.scored) if entry.reason == UNKNOWN_TOKENS else (None, None)
            yield FlaggedItem(**names, item=entry.item, reason=entry.reason, unknown=unknown, scored=scored_tokens)


def _find_items_without_tokens(items: Sequence[Item], form: str, text: Tokenizer) -> list[str]:
    """Return the ids of items with a text that has no tokens, apart from tokens for white space."""
    if text.unknown is None:
        return []  # a byte-level tokenizer finds tokens in every text
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
    """Yield those texts of an item that a question may contain, with BLANK removed."""
    known = get_form(form)
    for field, text in known.texts(item):
        if known.text_kind(field) != "term" and (own := text.replace(BLANK, " ").strip()):
            yield own
