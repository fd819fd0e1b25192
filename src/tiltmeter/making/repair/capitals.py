"""The repair step `casing`, which checks the capitals of candidate words, of sentences, and of words after the blank.

The letter case of the English text proves little, because StereoSet writes names such as "african" with a small letter.
A capital is removed only if the translated texts write the same word with a small letter inside a sentence.
"""

import re
from collections.abc import Iterator, Sequence

from tiltmeter.forms.blank import BLANK
from tiltmeter.making.draft import Draft, RepairFinding
from tiltmeter.making.repair.letter_cases import LetterCases, lower_first_letter, raise_first_letter
from tiltmeter.making.repair.repair_resources import RepairResources

WORD_RULE, SENTENCE_RULE, BLANK_RULE = "casing", "sentence-capital", "capital-after-blank"
_AFTER_BLANK = re.compile(rf"(?<={BLANK} )\w+(?:[-’']\w+)*")


def find_casing_errors(drafts: Sequence[Draft], resources: RepairResources) -> list[RepairFinding]:
    """Find sentences without a capital at the start, and words that have an unneeded capital.

    Words are not checked in languages that write nouns with a capital.
    """
    return [
        finding
        for draft in drafts
        for finding in (
            *_check_sentences(draft),
            *(() if resources.rules.capital_nouns else _check_words(draft, resources.cases)),
            *(() if resources.rules.capital_nouns else _check_words_after_blank(draft, resources.cases)),
        )
    ]


def _check_sentences(draft: Draft) -> Iterator[RepairFinding]:
    for name in (*draft.list_fields("context"), *draft.list_fields("sentence")):
        source, text = draft.source[name], draft.texts[name]
        if source[:1].isupper() and text[:1].islower() and not source.startswith(BLANK):
            reason = "The source sentence begins with a capital."
            # A word such as "iPhone" keeps its small letter.
            if text[1:2].isupper():
                continue
            capital = raise_first_letter(text, draft.language)
            yield RepairFinding(draft.item, name, SENTENCE_RULE, "changed", reason, text, (capital,))


def _check_words(draft: Draft, cases: LetterCases) -> Iterator[RepairFinding]:
    context = draft.get_single_field("context")
    if context is None or draft.texts[context].lstrip("\"“„«¿¡' ").startswith(BLANK):
        return
    for name in draft.list_fields("word"):
        source, text = draft.source[name], draft.texts[name]
        if text in draft.filled.get(name, ""):
            continue
        # A word with more capitals may be a name or an abbreviation, such as "YouTube", and is not changed.
        if not source[:1].islower() or len(text) < 2 or not text[0].isupper() or text[1:] != text[1:].lower():
            continue
        lowered = lower_first_letter(text, draft.language)
        reason = "The word is inside a sentence, and its source has no capital."
        if _is_written_small(lowered, draft, name, cases):
            reason += " Other sentences write it with a small letter."
            yield RepairFinding(draft.item, name, WORD_RULE, "changed", reason, text, (lowered,))
        elif not cases.is_capitalised(text.split()[0]):
            reason += " No sentence shows whether the word needs its capital."
            yield RepairFinding(draft.item, name, WORD_RULE, "proposed", reason, text, (lowered,))


def _is_written_small(lowered: str, draft: Draft, name: str, cases: LetterCases) -> bool:
    """Tell whether the filled sentence, or the texts of the project, write a word with a small letter only."""
    words = lowered.split()
    if any(cases.is_capitalised(word) for word in words):
        return False
    filled = draft.filled.get(name, "")
    is_in_filled = re.search(rf"(?<!\w){re.escape(lowered)}(?!\w)", filled) is not None
    return is_in_filled or (len(words) == 1 and cases.is_small(lowered))


def _check_words_after_blank(draft: Draft, cases: LetterCases) -> Iterator[RepairFinding]:
    name = draft.get_single_field("context")
    if name is None:
        return
    text = draft.texts[name]
    start = next((match.start() for match in re.finditer(rf"{BLANK} [a-z]", draft.source[name])), None)
    match = _AFTER_BLANK.search(text)
    if start is None or match is None or not match[0][0].isupper() or (len(match[0]) > 1 and match[0].isupper()):
        return
    word = re.split(r"['’-]", match[0])[0]
    # Translation systems often write the word after the blank with a capital, as if it began a sentence.
    if cases.is_mostly_small(word):
        reason = "The word after the blank has a capital, but other sentences write it with a small letter."
        lowered = text[: match.start()] + lower_first_letter(text[match.start() :], draft.language)
        yield RepairFinding(draft.item, name, BLANK_RULE, "changed", reason, text, (lowered,))
