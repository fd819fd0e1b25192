"""Items whose texts spell a special token of the model, such as `[MASK]` or `</s>`: they are left out and listed.

Tokenizers read such a spelling as the token itself. A masked model would then be asked about a mask of the item instead
of the protocol's, a chat model would see the end of a turn. How a spelling is read is observed on the loaded tokenizer,
since settings that should prevent it have no effect on every kind of tokenizer.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence

from tiltmeter.benchmarks.benchmark import SkippedItem
from tiltmeter.forms import Item, get_form
from tiltmeter.questions import Tokenizer


def split_special_items(items: Sequence[Item], form: str, text: Tokenizer) -> tuple[Sequence[Item], list[SkippedItem]]:
    """The items that spell no special token, and those that do as skipped ones."""
    spelled = find_special_tokens(items, form, text)
    skipped = [
        SkippedItem(item, f"one of its texts contains {token}, which the tokenizer reads as a special token")
        for item, token in spelled.items()
    ]
    return [item for item in items if item.id not in spelled] if spelled else items, skipped


def find_special_tokens(items: Sequence[Item], form: str, text: Tokenizer) -> dict[str, str]:
    """The items with a text that the tokenizer reads as a special token, by id, with the token."""
    # Tokenizers of plug-ins need not name their special tokens.
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
    found: dict[str, str] = {}
    for (item_id, _), one in zip(suspects, encoded, strict=True):
        if token := next((special[id_] for id_ in one.ids if id_ in special), ""):
            found.setdefault(item_id, token.strip())
    return found


def _fold_text(text: str) -> str:
    """A text as the most tolerant tokenizer would compare it: no case, compatible characters, nothing invisible."""
    if text.isascii():
        return text.lower()
    visible = "".join(character for character in text if unicodedata.category(character) != "Cf")
    return unicodedata.normalize("NFKC", visible).lower()
