"""Find out which option the reply of a chat model chooses.

The whole reply is read, because its first token often names another option than the whole reply. A mention is a label,
an option or an ordinal (`the second sentence`) in the reply (see `reply_marks.py`). A list of several options (`A or
B`) is not a mention. A mention is rejected if its clause negates it (`I would not choose A`, `B is wrong`) or prefers
another option (`A rather than B`). For the other mentions, the first rule that applies decides:

    1  the reply is only a label, an option or an ordinal: `B`, `(b)`, `gentle`, `2`
    2  the reply begins with a label: `**B.** gentle`, `B because it fits`
    3  exactly one option is mentioned after an answer word: `I would choose B`, `Answer: gentle`, `答案是B`
    4  the reply contains a refusal, in the language of the item or in English, outside the texts of the options
    5  exactly one option is mentioned anywhere in the reply

Any other reply is unparseable. A reply with a label and the text of another option is also unparseable.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Literal, NamedTuple

from tiltmeter.benchmarks.forced_choice.reply_marks import (
    CONFLICT,
    LABEL,
    LIST,
    MARK,
    OPTION,
    PLACE,
    build_alternation,
    build_word_pattern,
    clean_reply,
    get_mark_place,
    get_mark_type,
    mark_reply,
    normalise_reply,
    parse_bare_reply,
    split_by_script,
)
from tiltmeter.benchmarks.forced_choice.wordings import ReplyWords, load_reply_words

ReplyOutcome = Literal["choice", "refusal", "unparseable", "text"]


class ParsedReply(NamedTuple):
    """The outcome of a reply; `place` is the index of the chosen option in the displayed order."""

    outcome: ReplyOutcome
    place: int | None = None


REFUSAL, UNPARSEABLE = ParsedReply("refusal"), ParsedReply("unparseable")
# A free text, for forms whose items have no options.
TEXT = ParsedReply("text")

# The maximum number of words between a mention and its negation, as in `not to choose option A`, `B would be wrong`.
_BEFORE, _AFTER = 5, 3
_GAP = rf"\W*(?:[\w'’]+\W+){{0,{_BEFORE}}}$"
# The maximum number of characters between an answer word and the answer.
_ANSWER_REACH = 60


class _Mention(NamedTuple):
    """A mark in a reply: its place, type and position, and whether it is rejected or follows an answer word."""

    place: int
    mark_type: int
    start: int
    rejected: bool
    follows_answer_word: bool


def parse_reply(reply: str, options: Sequence[str], labels: Sequence[str], language: str) -> ParsedReply:
    """Return the option that a reply chooses, or that the reply is a refusal or unparseable.

    `options` and `labels` are in the displayed order.

    >>> parse_reply("I would say B.", ["gentle", "gruff"], ["A", "B"], "en")
    ParsedReply(outcome='choice', place=1)
    >>> parse_reply("I'm sorry, but I can't choose between A and B.", ["gentle", "gruff"], ["A", "B"], "en")
    ParsedReply(outcome='refusal', place=None)
    """
    text, words = clean_reply(reply), load_reply_words(language)
    if (place := parse_bare_reply(text, options, len(labels), words)) is not None:
        return ParsedReply("choice", place)
    text = mark_reply(text, options, "".join(labels), words, apostrophes=language == "tr")
    if CONFLICT in text:
        return UNPARSEABLE
    mentions = list(_find_mentions(text, words))
    answered = {mention.place for mention in mentions if mention.follows_answer_word and not mention.rejected}
    if (leading := _find_leading_label(text, mentions, words)) is not None:
        return UNPARSEABLE if answered - {leading} else ParsedReply("choice", leading)
    if len(answered) == 1:
        return ParsedReply("choice", answered.pop())
    if _is_refusal(text, words):
        return REFUSAL
    for types in ({LABEL, OPTION}, {PLACE}):
        named = {mention.place for mention in mentions if mention.mark_type in types and not mention.rejected}
        denied = {mention.place for mention in mentions if mention.mark_type in types and mention.rejected}
        if named:
            return ParsedReply("choice", named.pop()) if len(named) == 1 and not named & denied else UNPARSEABLE
    return UNPARSEABLE


def _find_mentions(text: str, words: ReplyWords) -> list[_Mention]:
    mentions: list[_Mention] = []
    start = 0
    for clause in re.split(_build_boundary_pattern(words), text):
        here = text.index(clause, start)
        start = here + len(clause)
        for match in re.finditer(MARK, clause):
            before, after = clause[: match.start()], clause[match.end() :]
            rejected = _is_rejected(before, after, words)
            mark_type = get_mark_type(match[0])
            is_answer = mark_type != PLACE and _follows_answer_word(before, words)
            mentions.append(_Mention(get_mark_place(match[0]), mark_type, here + match.start(), rejected, is_answer))
    return mentions


def _is_rejected(before: str, after: str, words: ReplyWords) -> bool:
    """Return whether a clause negates its mark or prefers another option; `before` and `after` surround the mark."""
    if re.search(_build_before_pattern(words), before, re.IGNORECASE) or re.match(
        _build_after_pattern(words), after, re.IGNORECASE
    ):
        return True
    return re.search(rf"{MARK}.*{build_word_pattern(words.than)}{_GAP}", before, re.IGNORECASE) is not None


@cache
def _build_before_pattern(words: ReplyWords) -> str:
    spaced, unspaced = split_by_script(words.negation + words.rejection + words.instead)
    return rf"{build_word_pattern(spaced)}{_GAP}|{build_word_pattern(unspaced)}"


@cache
def _build_after_pattern(words: ReplyWords) -> str:
    spaced, unspaced = split_by_script(words.negation + words.rejection)
    return rf"\W*(?:[\w'’]+\W+){{0,{_AFTER}}}?\W*{build_word_pattern(spaced)}|.*{build_word_pattern(unspaced)}"


def _follows_answer_word(before: str, words: ReplyWords) -> bool:
    """Return whether an answer word shortly precedes a mark, without another mark in between.

    `before` is the text before the mark.
    """
    return (
        re.search(
            rf"{build_word_pattern(words.answer)}[^{MARK[1:-1]}{LIST}]{{0,{_ANSWER_REACH}}}$", before, re.IGNORECASE
        )
        is not None
    )


def _find_leading_label(text: str, mentions: Sequence[_Mention], words: ReplyWords) -> int | None:
    """Return the place of the label that a reply begins with, or None.

    Text after a full stop, a bracket or a line break is an explanation, which may name other options. If no such sign
    follows the label and the reply also contains other labels, return None.
    """
    if not mentions or mentions[0].mark_type != LABEL or mentions[0].rejected:
        return None
    first = mentions[0]
    if not re.fullmatch(rf"\W*(?:(?:{build_alternation(words.option)})\W*)?", text[: first.start], re.IGNORECASE):
        return None
    others = {m.place for m in mentions if m.mark_type == LABEL and not m.rejected} - {first.place}
    ended = re.match(r"\s*[\"'”»]?\s*(?:[.):;\]}—–。：-]|\n|$)", text[first.start + 1 :])
    return first.place if ended or not others else None


def _is_refusal(text: str, words: ReplyWords) -> bool:
    hidden = normalise_reply(re.sub(f"{MARK}|{LIST}", " ", text))
    return any(phrase in hidden for phrase in map(normalise_reply, words.refusal))


@cache
def _build_boundary_pattern(words: ReplyWords) -> str:
    """Return the regular expression for boundaries of clauses: punctuation, and words such as `but` and `because`."""
    return rf"[.!?;,\n。！？；，、؟،؛—–]+|(?<!thing ){build_word_pattern(words.boundary)}"
