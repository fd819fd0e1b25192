"""Which option a chat model's reply chooses.

The whole text is read, since the first token often disagrees with it. Labels, options and counted places (`the second
sentence`) are marked in the text (`marking.py`); a list of several (`A or B`) is no mention. A mention is rejected
where its clause negates it (`I would not choose A`, `B is wrong`), or prefers another (`A rather than B`). Of the
others, the first rule that applies decides:

    1  the reply is a label, an option or a place: `B`, `(b)`, `gentle`, `2`
    2  it begins with a label: `**B.** gentle`, `B because it fits`
    3  a single option is named after a word for an answer: `I would choose B`, `Answer: gentle`, `答案是B`
    4  it refuses, in the language of the item or in English, outside the texts of the options
    5  a single label, option or place is named in prose

Anything else cannot be read, and neither can a label with the text of another option.
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

ReplyOutcome = Literal["choice", "refusal", "unparseable"]


class ParsedReply(NamedTuple):
    """What a reply comes to; `place` is the index of the chosen option."""

    kind: ReplyOutcome
    place: int | None = None


REFUSAL, UNPARSEABLE = ParsedReply("refusal"), ParsedReply("unparseable")

# Words between a mention and what negates it, before and after: `not to choose option A`, `B would be wrong`.
_BEFORE, _AFTER = 5, 3
_GAP = rf"\W*(?:[\w'’]+\W+){{0,{_BEFORE}}}$"
# Characters between a word for an answer and the answer.
_ANSWER_REACH = 60


class _Mention(NamedTuple):
    """A mark in the text: its place, its kind, where it stands, and whether it is rejected, or called the answer."""

    place: int
    kind: int
    start: int
    rejected: bool
    answers: bool


def parse_reply(reply: str, options: Sequence[str], labels: Sequence[str], language: str) -> ParsedReply:
    """Read a reply to a message with these options, in the order in which they were shown.

    >>> parse_reply("I would say B.", ["gentle", "gruff"], ["A", "B"], "en")
    ParsedReply(kind='choice', place=1)
    >>> parse_reply("I'm sorry, but I can't choose between A and B.", ["gentle", "gruff"], ["A", "B"], "en")
    ParsedReply(kind='refusal', place=None)
    """
    text, words = clean_reply(reply), load_reply_words(language)
    if (place := parse_bare_reply(text, options, len(labels), words)) is not None:
        return ParsedReply("choice", place)
    text = mark_reply(text, options, "".join(labels), words, apostrophes=language == "tr")
    if CONFLICT in text:
        return UNPARSEABLE
    mentions = list(_find_mentions(text, words))
    answered = {mention.place for mention in mentions if mention.answers and not mention.rejected}
    if (leading := _find_leading_label(text, mentions, words)) is not None:
        return UNPARSEABLE if answered - {leading} else ParsedReply("choice", leading)
    if len(answered) == 1:
        return ParsedReply("choice", answered.pop())
    if _is_refusal(text, words):
        return REFUSAL
    for kinds in ({LABEL, OPTION}, {PLACE}):
        named = {mention.place for mention in mentions if mention.kind in kinds and not mention.rejected}
        denied = {mention.place for mention in mentions if mention.kind in kinds and mention.rejected}
        if named:
            return ParsedReply("choice", named.pop()) if len(named) == 1 and not named & denied else UNPARSEABLE
    return UNPARSEABLE


def _find_mentions(text: str, words: ReplyWords) -> list[_Mention]:
    """The marks of all clauses."""
    found: list[_Mention] = []
    start = 0
    for clause in re.split(_build_boundary_pattern(words), text):
        here = text.index(clause, start)
        start = here + len(clause)
        for match in re.finditer(MARK, clause):
            before, after = clause[: match.start()], clause[match.end() :]
            rejected = _is_rejected(before, after, words)
            answers = get_mark_type(match[0]) != PLACE and _follows_answer_word(before, words)
            found.append(
                _Mention(get_mark_place(match[0]), get_mark_type(match[0]), here + match.start(), rejected, answers)
            )
    return found


def _is_rejected(before: str, after: str, words: ReplyWords) -> bool:
    """Whether the clause negates what stands between these two parts of it, or prefers another option to it."""
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
    """Whether a word for an answer stands shortly before, with no other option between."""
    return (
        re.search(
            rf"{build_word_pattern(words.answer)}[^{MARK[1:-1]}{LIST}]{{0,{_ANSWER_REACH}}}$", before, re.IGNORECASE
        )
        is not None
    )


def _find_leading_label(text: str, mentions: Sequence[_Mention], words: ReplyWords) -> int | None:
    """The place of the label that a reply begins with.

    What follows a full stop, a bracket or a line is an explanation, which may name other options; in the same sentence
    no other label may be chosen.
    """
    if not mentions or mentions[0].kind != LABEL or mentions[0].rejected:
        return None
    first = mentions[0]
    if not re.fullmatch(rf"\W*(?:(?:{build_alternation(words.option)})\W*)?", text[: first.start], re.IGNORECASE):
        return None
    others = {m.place for m in mentions if m.kind == LABEL and not m.rejected} - {first.place}
    ended = re.match(r"\s*[\"'”»]?\s*(?:[.):;\]}—–。：-]|\n|$)", text[first.start + 1 :])
    return first.place if ended or not others else None


def _is_refusal(text: str, words: ReplyWords) -> bool:
    hidden = normalise_reply(re.sub(f"{MARK}|{LIST}", " ", text))
    return any(phrase in hidden for phrase in map(normalise_reply, words.refusal))


@cache
def _build_boundary_pattern(words: ReplyWords) -> str:
    """What divides clauses: punctuation, and words such as `but` and `because`."""
    return rf"[.!?;,\n。！？；，、؟،؛—–]+|(?<!thing ){build_word_pattern(words.boundary)}"
