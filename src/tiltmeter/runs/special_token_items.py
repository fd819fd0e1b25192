"""Items whose texts contain the spelling of a special token of the model, such as `[MASK]` or `</s>`.

Tokenizers convert this text to the special token: a masked model would see an additional mask, a chat model the end of
a turn. These items are skipped and listed. The loaded tokenizer itself is tested, because settings that should prevent
the conversion do not work for all tokenizers.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence

from tiltmeter.benchmarks.benchmark import SkippedItem
from tiltmeter.forms import Item, get_form
from tiltmeter.questions import Tokenizer


def split_special_items(items: Sequence[Item], form: str, text: Tokenizer) -> tuple[Sequence[Item], list[SkippedItem]]:
    """Return two lists: the items without special tokens, and the other items as skipped items."""
    spelled = find_special_tokens(items, form, text)
    skipped = [
        SkippedItem(item, f"one of its texts contains {token}, which the tokenizer converts to a special token")
        for item, token in spelled.items()
    ]
    return [item for item in items if item.id not in spelled] if spelled else items, skipped


def find_special_tokens(items: Sequence[Item], form: str, text: Tokenizer) -> dict[str, str]:
    """Return a mapping from item id to special token, for items with a text that is tokenized to a special token."""
    # A tokenizer of a plug-in may lack the attribute for special tokens.
    special: Mapping[int, str] = getattr(text, "special_tokens", {})
    if not special:
        return {}
    spellings = sorted({_fold_text(token.strip()) for token in special.values()})
    pattern = re.compile("|".join(map(re.escape, spellings)))
    known = get_form(form)
    suspects = [
        (item.id, written)
        for item in items
        for field, written in known.texts(item)
        if known.text_kind(field) != "term" and pattern.search(_fold_text(written))
    ]
    encoded = text.encode([written for _, written in suspects])
    token_by_item: dict[str, str] = {}
    for (item_id, _), one in zip(suspects, encoded, strict=True):
        if token := next((special[id_] for id_ in one.ids if id_ in special), ""):
            token_by_item.setdefault(item_id, token.strip())
    return token_by_item


def _fold_text(text: str) -> str:
    """Normalise a text like the most tolerant tokenizer: ignore case, compatibility forms and invisible characters."""
    if text.isascii():
        return text.lower()
    visible = "".join(character for character in text if unicodedata.category(character) != "Cf")
    return unicodedata.normalize("NFKC", visible).lower()
