"""The repair step `casing`, which checks the capitals of candidate words, and of the first word of a sentence."""

from collections.abc import Iterator, Sequence

from tiltmeter.forms.blank import BLANK
from tiltmeter.language_codes import get_base_code
from tiltmeter.making.draft import Draft, RepairFinding
from tiltmeter.making.repair.repair_resources import RepairResources

RULE = "casing"


def find_casing_errors(drafts: Sequence[Draft], resources: RepairResources) -> list[RepairFinding]:
    """Find translated sentences that lack a capital at the start, and candidate words that have an unneeded capital.

    The source shows whether a capital is needed. Words are not checked in languages that write nouns with a capital.
    """
    return [
        finding
        for draft in drafts
        for finding in (
            *_check_sentences(draft),
            *(() if resources.rules.capital_nouns else _check_words(draft)),
        )
    ]


def _check_sentences(draft: Draft) -> Iterator[RepairFinding]:
    for name in (*draft.list_fields("context"), *draft.list_fields("sentence")):
        source, text = draft.source[name], draft.texts[name]
        if source[:1].isupper() and text[:1].islower() and not source.startswith(BLANK):
            reason = "The source sentence begins with a capital."
            capital = _to_upper(text[0], draft.language) + text[1:]
            yield RepairFinding(draft.item, name, RULE, "changed", reason, text, (capital,))


def _check_words(draft: Draft) -> Iterator[RepairFinding]:
    context = draft.get_single_field("context")
    if context is None or draft.texts[context].lstrip("\"“„«¿¡' ").startswith(BLANK):
        return
    for name in draft.list_fields("word"):
        source, text = draft.source[name], draft.texts[name]
        if text in draft.filled.get(name, ""):
            continue
        # A word whose second letter is a capital too may be an abbreviation, and is not changed.
        if source[:1].islower() and text[:1].isupper() and not text[1:2].isupper() and len(text) > 1:
            reason = "The word is inside a sentence, and its source has no capital."
            lowered = _to_lower(text[0], draft.language) + text[1:]
            yield RepairFinding(draft.item, name, RULE, "changed", reason, text, (lowered,))


def _to_upper(letter: str, language: str) -> str:
    # Turkish and Azerbaijani have a dotted and a dotless i.
    dotted = get_base_code(language) in ("tr", "az") and letter == "i"
    return "İ" if dotted else letter.upper()


def _to_lower(letter: str, language: str) -> str:
    if get_base_code(language) in ("tr", "az"):
        return {"I": "ı", "İ": "i"}.get(letter, letter.lower())
    return letter.lower()
