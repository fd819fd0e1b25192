"""Which option a chat model's reply chooses.

The whole text is read, since the first token often disagrees with it. The first rule that applies decides:

    1  the reply is a label, or begins with one, or repeats an option: `B`, `(b)`, `**B.** gentle`, `gentle`
    2  a label after a word for an answer: `I would choose B`, `Answer: B`, `答案是B`
    3  a refusal, in the language of the item or in English, outside the texts of the options
    4  exactly one label is named, or exactly one option is repeated in prose, and not negated
    5  exactly one place is counted: `the second sentence`

Anything else, also two different labels, or a label with the text of another option, is unparseable.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Literal, NamedTuple

from tiltmeter.benchmarks.choosing.wordings import ReplyWords, reply_words

Kind = Literal["choice", "refusal", "unparseable"]


class Reading(NamedTuple):
    """What a reply comes to; `place` is the index of the chosen option."""

    kind: Kind
    place: int | None = None


REFUSAL, UNPARSEABLE = Reading("refusal"), Reading("unparseable")

_THOUGHT = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_THOUGHT_BEFORE = re.compile(r"^.*</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
_THOUGHT_UNENDED = re.compile(r"<(?:think|thinking|reasoning)>.*$", re.DOTALL | re.IGNORECASE)
_BOXED = re.compile(r"\\boxed\{(?:\\(?:text|mathrm|textbf)\{)?\s*([A-Fa-f])\b[^}]*\}+")
_MARKUP = re.compile(r"[*_`#>~$]+|</?[a-z]+>")
_INVISIBLE = re.compile(r"[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufe0f]")
_QUOTES = "\"'“”„‟‘’‚«»‹›「」『』()[]{}"
_EDGES = _QUOTES + " \t\n.,:;!?…。，、！？：；؟،-–—|/\\"
# Letters that look like labels or count options, where a reply is nothing else. The Cyrillic В is left out: it looks
# like B, and is the third letter.
_LOOKALIKES = {"А": 0, "Б": 1, "С": 2, "Α": 0, "Β": 1, "ا": 0, "🅰": 0, "🅱": 1}
# A label is no part of a Latin word, nor the C of "C'est".
_BEFORE, _AFTER = r"(?<![A-Za-z0-9À-ɏ])", r"(?![A-Za-z0-9À-ɏ]|['’][eéaà])"
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


_CONJUNCTIONS = (
    *("and", "or", "und", "oder", "et", "ou", "y", "o", "ve", "veya", "ja", "tai", "dan", "atau", "i", "a", "ali"),
    *("ili", "và", "hoặc", "nebo", "alebo", "lub", "и", "или", "і", "й", "або", "ці", "或", "和"),
)


def parse(reply: str, options: Sequence[str], labels: Sequence[str], language: str) -> Reading:
    """Read a reply to a message with these options, in the order in which they were shown.

    >>> parse("I would say B.", ["gentle", "gruff"], ["A", "B"], "en")
    Reading(kind='choice', place=1)
    >>> parse("I'm sorry, but I can't choose between A and B.", ["gentle", "gruff"], ["A", "B"], "en")
    Reading(kind='refusal', place=None)
    """
    text, words = _clean(reply), reply_words(language)
    texts = [_plain(_clean(option)) for option in options]
    letters = "".join(labels)
    if not text.strip(_EDGES):
        return UNPARSEABLE
    plain = _plain(text)
    if (found := _whole(text, plain, texts, letters, words)) is not None:
        return found
    if (found := _one(_after_answer_words(text, letters, words))) is not None:
        return found
    hidden = _without(plain, texts)
    if any(phrase in hidden for phrase in map(_plain, words.refusal)):
        return REFUSAL
    named, repeated = _labels(text, letters, words), _mentioned(plain, texts, words)
    if named and repeated and len(named | repeated) > 1:
        return UNPARSEABLE
    for found in (_one(named), _one(repeated), _one(_counted(hidden, len(texts), words))):
        if found is not None:
            return found
    return UNPARSEABLE


def _clean(text: str) -> str:
    """The answer without thoughts and markup, in normal characters."""
    text = _THOUGHT_UNENDED.sub("", _THOUGHT_BEFORE.sub("", _THOUGHT.sub("", text)))
    text = _BOXED.sub(r"\1", text)
    return _INVISIBLE.sub("", unicodedata.normalize("NFKC", _MARKUP.sub(" ", text))).strip()


def _plain(text: str) -> str:
    """For comparing texts: one case, one kind of apostrophe, no quotation marks, single spaces, no edges."""
    text = text.casefold().replace("’", "'")
    text = re.sub(r"[\"“”„«»「」『』()\[\]{}]", "", text)
    return " ".join(text.split()).strip(_EDGES)


def _one(places: set[int]) -> Reading | None:
    return Reading("choice", next(iter(places))) if len(places) == 1 else None


def _whole(text: str, plain: str, texts: Sequence[str], letters: str, words: ReplyWords) -> Reading | None:
    """Replies that are a label or an option, or begin with a label."""
    same = {place for place, option in enumerate(texts) if option == plain}
    if found := _one(same):
        return found
    bare = plain.upper()
    for counted in (letters, *_alphabets(words)):
        if len(bare) == 1 and bare in counted and counted.index(bare) < len(letters):
            return Reading("choice", counted.index(bare))
    if len(bare) == 1 and _LOOKALIKES.get(bare, len(letters)) < len(letters):
        return Reading("choice", _LOOKALIKES[bare])
    if re.fullmatch(rf"(?:(?:{_any(words.option)})\s*)?[1-{len(letters)}]", plain) and not any(
        re.search(r"\d", option) for option in texts
    ):
        return Reading("choice", int(plain[-1]) - 1)
    first = _leading(text, letters, words)
    if first is None:
        return None
    place, rest = first
    line = _plain(rest.strip().split("\n")[0])
    others = [option for at, option in enumerate(texts) if at != place and option]
    if line != texts[place] and line in others:
        return UNPARSEABLE
    # A list of all options is no choice.
    if any(re.match(rf"\s*\W*{letter}\s*[).:]", lines) for lines in rest.split("\n")[1:] for letter in letters):
        return None
    if _after_answer_words(rest, letters, words) - {place}:
        return UNPARSEABLE
    return Reading("choice", place)


def _leading(text: str, letters: str, words: ReplyWords) -> tuple[int, str] | None:
    """The label at the beginning of a reply, and what follows it."""
    opened = rf"^[\s{re.escape(_QUOTES)}]*(?:(?:{_any(words.option)})\s+)?[\s{re.escape(_QUOTES)}]*"
    punctuated = re.match(rf"{opened}([{letters}])[\s]*(?:[).:,;\]}}\"'”»、。：—–-]|$|\n)", text, re.IGNORECASE)
    elided = punctuated and re.match(r"['’][eéaà]", text[punctuated.end() - 1 :])
    if punctuated and not elided and not _joined(text[punctuated.end(1) :], letters):
        return letters.index(punctuated[1].upper()), text[punctuated.end() :]
    said = re.match(rf"{opened}([{letters}])\s+(?:{_any(words.copula)}){_AFTER}", text)
    if said:
        return letters.index(said[1]), text[said.end(1) :]
    followed = re.match(rf"^\W*([{letters[1:]}]){_AFTER}", text)
    if followed and not _joined(text[followed.end() :], letters):
        others = [letter for letter in letters if letter != followed[1]]
        if not any(re.search(f"{_BEFORE}{letter}{_AFTER}", text[followed.end() :]) for letter in others):
            return letters.index(followed[1]), text[followed.end() :]
    return None


def _after_answer_words(text: str, letters: str, words: ReplyWords) -> set[int]:
    """The labels that follow a word for an answer in the same clause."""
    places: set[int] = set()
    between = rf"(?:(?!{_word(words.negation)})(?!{_BEFORE}[{letters}]{_AFTER})[^.!?\n。！？])"
    found = re.finditer(
        rf"{_word(words.answer)}(?:{between}{{0,40}}?|\W{{0,8}}){_BEFORE}(?P<label>[{letters}]){_AFTER}(?P<next>.{{0,2}})",
        text,
        re.IGNORECASE | re.DOTALL,
    )
    for match in found:
        label, following = match["label"], match["next"]
        if _joined(text[match.end("label") :], letters):
            continue
        # "the answer is a nurse", "I choose A nurse": an article.
        if label.upper() == "A" and re.match(r"\s\w", following) and not re.match(r"\s[A-Z]\b", following):
            copula = re.match(rf"\s(?:{_any(words.copula)}){_AFTER}", text[match.end("label") :])
            if label == "a" or not copula:
                continue
        if label.islower() and label != "a" and re.match(r"\s\w", following):
            continue
        places.add(letters.index(label.upper()))
    return places


def _joined(after: str, letters: str) -> bool:
    """Whether a label is joined to another one: `A or B`."""
    label = f"[{letters}]{_AFTER}"
    listed = rf"[\s,/&+]+(?:{label}(?!\s*[).:])(?<!A)|A{_AFTER}(?!\s*[).:]| \w\w))"
    between = rf"\W*(?:{_any(_CONJUNCTIONS)})\W*{label}|{listed}"
    return bool(re.match(between, after, re.IGNORECASE))


def _labels(text: str, letters: str, words: ReplyWords) -> set[int]:
    """The labels that are named anywhere, in capitals; a bare A before a word is an article."""
    places: set[int] = set()
    for match in re.finditer(rf"{_BEFORE}([{letters}]){_AFTER}", text):
        before, after = text[: match.start()], text[match.end() :]
        article = match[1] == "A" and re.match(r" \w", after) and not _joined(after, letters)
        labelled = re.search(rf"(?:{_any(words.option)})\s*$", before, re.IGNORECASE)
        if article and not labelled and not re.match(rf"\s(?:{_any(words.copula)}){_AFTER}", after):
            continue
        if _negated(before, words):
            continue
        places.add(letters.index(match[1]))
    return places


def _mentioned(plain: str, texts: Sequence[str], words: ReplyWords) -> set[int]:
    """The options whose whole text occurs, longer ones first: `very strong` is not `strong`."""
    places: set[int] = set()
    for place in sorted(range(len(texts)), key=lambda at: -len(texts[at])):
        option = texts[place]
        pattern = re.escape(option) if _UNSPACED.search(option) else rf"(?<!\w){re.escape(option)}(?!\w)"
        for match in re.finditer(pattern, plain) if option else ():
            if not _negated(plain[: match.start()], words):
                places.add(place)
            else:
                return set()
        plain = re.sub(pattern, " ", plain) if option else plain
    return places


def _counted(plain: str, options: int, words: ReplyWords) -> set[int]:
    """The places that are counted."""
    return {
        place
        for place, names in enumerate(words.ordinals[:options])
        if any(re.search(_spaced(name), plain) for name in names)
    }


def _negated(before: str, words: ReplyWords) -> bool:
    """Whether the text before a mention ends in a negation, with at most one word between."""
    return bool(re.search(rf"{_word(words.negation)}\W*(?:\w+\W+)?$", before[-40:], re.IGNORECASE))


def _without(plain: str, texts: Iterable[str]) -> str:
    for option in sorted(texts, key=len, reverse=True):
        plain = plain.replace(option, " ") if option else plain
    return plain


def _alphabets(words: ReplyWords) -> list[str]:
    return ["".join(words.letters[start : start + 4]).upper() for start in range(0, len(words.letters), 4)]


@cache
def _any(words: tuple[str, ...]) -> str:
    """An alternative of words, longer ones first."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)) or "(?!)"


@cache
def _word(words: tuple[str, ...]) -> str:
    """One of these words by itself; in scripts without spaces, anywhere."""
    return f"(?:{'|'.join(_spaced(word) for word in sorted(words, key=len, reverse=True)) or '(?!)'})"


@cache
def _spaced(word: str) -> str:
    return re.escape(word) if _UNSPACED.search(word) else rf"(?<!\w){re.escape(word)}(?!\w)"
