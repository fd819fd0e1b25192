"""The repair step `agreement`: gender, number and grammatical case of candidate words.

A candidate word that was translated alone has its dictionary form. In the translation of the filled sentence (the
context with the word filled in), the word agrees with its neighbours. If this translation differs from the context only
at the blank, and the two forms differ only in their endings for gender and number, the form in the filled sentence
replaces the dictionary form. Otherwise the form is only proposed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile

from tiltmeter.forms.blank import BLANK, EDGES
from tiltmeter.forms.bounded_matcher import BoundedMatcher, MatchingLimitError
from tiltmeter.forms.case_folding import fold_case
from tiltmeter.making.draft import Draft, RepairFinding
from tiltmeter.making.repair.repair_resources import RepairResources
from tiltmeter.making.repair.spacing import remove_attached_endings
from tiltmeter.translators.word_alignment import AlignedPair, Token, tokenize_words

RULE = "agreement"
# Two words count as forms of one word if their common beginning is at least this share of the shorter word's length.
_SHARED_BEGINNING = 0.6
# The maximum number of letters that two endings of one group share, such as "ale" and "ales".
_LONGEST_SHARED = 3


def find_agreement_errors(drafts: Sequence[Draft], resources: RepairResources) -> list[RepairFinding]:
    """Find candidate words whose form differs from their form in the translated context with the word filled in."""
    return [finding for draft in drafts for finding in _check_draft(draft, resources)]


def _check_draft(draft: Draft, resources: RepairResources) -> Iterator[RepairFinding]:
    context = draft.get_single_field("context")
    if context is None or BLANK not in draft.texts[context]:
        return
    for name in draft.list_fields("word"):
        if name in draft.filled:
            aligned = resources.alignment.filled.get((draft.item, name))
            finding = _check_word(draft, name, draft.texts[context], aligned, resources.rules.endings)
            if finding is not None:
                yield finding


@dataclass(frozen=True, slots=True)
class _Occurrence:
    """The text at the blank in a filled sentence; `exact` is true if the rest of the sentence equals the context."""

    text: str
    exact: bool


def _check_word(
    draft: Draft, name: str, context: str, aligned: AlignedPair | None, endings: Sequence[frozenset[str]]
) -> RepairFinding | None:
    word, sentence = draft.texts[name], draft.filled[name]
    at_start = context.startswith(BLANK)
    free = remove_attached_endings(context)
    if (found := find_replacement_of_blank(free, sentence)) is not None:
        if found.text in (word, word.strip(EDGES)) or (at_start and fold_case(found.text) == fold_case(word)):
            return None
        # Letters that are attached to the blank repeat the ending of the word. In this case the word is not changed,
        # because a reviewer must first decide on the context.
        if found.exact and free == context and is_inflection_of(found.text, word, endings):
            if at_start:
                found = _Occurrence(_copy_letter_case(found.text, word), exact=True)
            reason = f"The translation of the sentence with the word filled in has the form {found.text!r}."
            return RepairFinding(draft.item, name, RULE, "changed", reason, word, (found.text,))
    if free == context and word in [token.text for token in tokenize_words(sentence)]:
        return None
    return _propose_word(draft, name, found, aligned)


def _propose_word(draft: Draft, name: str, found: _Occurrence | None, aligned: AlignedPair | None) -> RepairFinding:
    word, sentence = draft.texts[name], draft.filled[name]
    forms = [token.text for token in tokenize_words(sentence) if token.text != word and is_form_of(token.text, word)]
    linked = _find_aligned_words(draft, name, sentence, aligned)
    proposals = tuple(dict.fromkeys([*forms, *([found.text] if found else []), *linked]))[:3]
    if not proposals:
        reason = (
            "The translation of the sentence with the word filled in contains neither the word nor a form of the word."
        )
        return RepairFinding(draft.item, name, RULE, "open", reason, word)
    reason = f"The translation of the sentence with the word filled in has {proposals[0]!r} instead of {word!r}."
    return RepairFinding(draft.item, name, RULE, "proposed", reason, word, proposals)


def find_replacement_of_blank(context: str, sentence: str) -> _Occurrence | None:
    """Return the text that replaces the first blank of the context in a sentence; None if the text cannot be found.

    >>> find_replacement_of_blank("Die Köchin war BLANK.", "Die Köchin war geduldige.").text
    'geduldige'
    """
    before, after = tokenize_words(context), tokenize_words(sentence)
    first = [fold_case(token.text) if token.text != BLANK else BLANK for token in before]
    second = [fold_case(token.text) for token in after]
    matcher = BoundedMatcher(first, second)
    try:
        opcodes = matcher.get_opcodes()
    except MatchingLimitError:
        return None
    for tag, start, end, other_start, other_end in opcodes:
        if BLANK not in first[start:end]:
            continue
        if tag != "replace" or other_start == other_end:
            return None
        exact = end - start == 1 and matcher.ratio() == 2 * (len(first) - 1) / (len(first) + len(second))
        text = sentence[after[other_start].start : after[other_end - 1].end].strip(EDGES)
        # If words next to the blank differ too, it is unknown which part of the sentence replaces the blank.
        return _Occurrence(text, exact) if end - start == 1 else None
    return None


def is_form_of(form: str, word: str) -> bool:
    """Tell whether two words have the same beginning, so that they are probably forms of one word.

    >>> is_form_of("geduldige", "geduldig"), is_form_of("patiente", "doux")
    (True, False)
    """
    one, other = fold_case(form), fold_case(word)
    if len(one.split()) != len(other.split()):
        return False
    return _count_shared_letters(one, other) >= max(2, _SHARED_BEGINNING * min(len(one), len(other)))


def is_inflection_of(form: str, word: str, endings: Sequence[frozenset[str]]) -> bool:
    """Tell whether two words differ only in letter case, or in their endings for gender and number.

    `endings` are the groups of endings of the language. "educou" is a form of the verb, not of "educado".

    >>> group = frozenset(("o", "a", "os", "as"))
    >>> is_inflection_of("educada", "educado", [group]), is_inflection_of("educou", "educado", [group])
    (True, False)
    """
    one, other = fold_case(form).split(), fold_case(word).split()
    return len(one) == len(other) and all(map(partial(_differ_in_ending, endings=endings), one, other))


def _differ_in_ending(one: str, other: str, endings: Sequence[frozenset[str]]) -> bool:
    shared = _count_shared_letters(one, other)
    # A group may have an empty ending, so every common beginning of the words may be their stem.
    return one == other or any(
        one[stem:] in group and other[stem:] in group
        for stem in range(max(2, shared - _LONGEST_SHARED), shared + 1)
        for group in endings
    )


def _count_shared_letters(one: str, other: str) -> int:
    """Return the number of letters with which both words begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _find_aligned_words(draft: Draft, name: str, sentence: str, aligned: AlignedPair | None) -> list[str]:
    """Return the words of the translated filled sentence that are aligned with the source word in both directions."""
    if aligned is None or list(aligned.target) != tokenize_words(sentence):
        return []
    context = draft.get_single_field("context")
    start = draft.source[context].find(BLANK) if context is not None else 0
    end = start + len(draft.source[name])
    places = {place for place, token in enumerate(aligned.source) if token.start < end and token.end > start}
    linked: list[Token] = [aligned.target[place] for place in sorted(aligned.find_linked_words(places, both=True))]
    if not linked or linked[-1].end - linked[0].start > sum(token.end - token.start + 1 for token in linked):
        return [token.text for token in linked]
    return [sentence[linked[0].start : linked[-1].end]]


def _copy_letter_case(text: str, model: str) -> str:
    return text[0].upper() + text[1:] if model[:1].isupper() else text[0].lower() + text[1:]
