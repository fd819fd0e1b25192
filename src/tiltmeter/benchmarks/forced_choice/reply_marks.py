"""Replies of chat models in which labels, options and ordinals are replaced by private-use characters (marks).

Marks have two advantages. Punctuation inside an option does not split the text into wrong clauses, and a negation or
refusal inside an option does not count as a negation or refusal by the model.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache

from tiltmeter.benchmarks.forced_choice.wordings import ReplyWords

# The code point of a mark is the first code point of its type plus the index of its place.
LABEL, OPTION, PLACE = 0xE000, 0xE010, 0xE020
MARK = f"[{chr(LABEL)}-{chr(PLACE + 15)}]"
# The sign for a list of several options, and the sign for a label with the text of another option.
LIST, CONFLICT = chr(0xE030), chr(0xE031)
_LABELS, _OPTIONS = f"[{chr(LABEL)}-{chr(LABEL + 15)}]", f"[{chr(OPTION)}-{chr(OPTION + 15)}]"
_PRIVATE = re.compile("[\ue000-\uf8ff]")

_TAGS = r"think|thinking|thought|thoughts|reasoning|analysis"
# Reasoning in <think>…</think>, or in other brackets.
_THOUGHT = re.compile(rf"[<\[◁]({_TAGS})[>\]▷].*?[<\[◁]/\1[>\]▷]", re.DOTALL | re.IGNORECASE)
_THOUGHT_BEFORE = re.compile(rf"^.*[<\[◁]/(?:{_TAGS})[>\]▷]", re.DOTALL | re.IGNORECASE)
_THOUGHT_UNENDED = re.compile(rf"[<\[◁](?:{_TAGS})[>\]▷].*$", re.DOTALL | re.IGNORECASE)
# The channels of gpt-oss; the last channel contains the answer.
_CHANNEL = re.compile(r"^.*<\|channel\|>\s*final\s*<\|message\|>", re.DOTALL)
_CHANNEL_UNENDED = re.compile(r"<\|channel\|>\s*(?:analysis|commentary).*$", re.DOTALL)
_BOXED = re.compile(r"\\boxed\{(?:\\(?:text|mathrm|textbf)\{)?\s*([A-Fa-f])\b[^}]*\}+")
_MARKUP = re.compile(r"<\|[^|<>]*\|>|</?[A-Za-z]+>|\[/?INST\]|[*_`#>~$]+")
_NOT_APPLICABLE = re.compile(r"\bn/a\b", re.IGNORECASE)
_INVISIBLE = re.compile(r"[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufe0f]")
_QUOTES = "\"'“”„‟‘’‚«»‹›「」『』()[]{}"
EDGES = _QUOTES + " \t\n.,:;!?…。，、！？：；؟،-–—|/\\"
# Letters that look like labels, for replies of a single letter. The Cyrillic В is ambiguous and therefore omitted: it
# looks like the second label B, but is the third letter of its alphabet.
_LOOKALIKES = {"А": 0, "Б": 1, "С": 2, "Α": 0, "Β": 1, "ا": 0, "🅰": 0, "🅱": 1}
_LATIN = "A-Za-z0-9À-ɏ"
UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_ARTICLES = re.compile(r"^(?:an?|the) ")

_CONJUNCTIONS = (
    *("and", "or", "und", "oder", "et", "ou", "y", "o", "ve", "veya", "ja", "tai", "dan", "atau", "i", "a", "ali"),
    *("ili", "và", "hoặc", "nebo", "alebo", "lub", "и", "или", "і", "й", "або", "ці", "或", "和", "और", "أو", "و"),
)


def clean_reply(text: str) -> str:
    """Return a reply without reasoning and markup, with normalised characters."""
    text = _CHANNEL_UNENDED.sub("", _CHANNEL.sub("", _PRIVATE.sub("", text)))
    text = _THOUGHT_UNENDED.sub("", _THOUGHT_BEFORE.sub("", _THOUGHT.sub("", text)))
    text = _BOXED.sub(r"\1", text)
    text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", _MARKUP.sub(" ", _NOT_APPLICABLE.sub("", text))))
    return re.sub(r":\s*\n\s*", ": ", text).strip()


def normalise_reply(text: str) -> str:
    """Return a text in lower case, with one type of apostrophe, and without quotation marks and outer punctuation."""
    text = _fold_characters(text.replace("’", "'"))
    text = re.sub(r"[\"“”„«»「」『』()\[\]{}]", "", text)
    return " ".join(text.split()).strip(EDGES)


def _fold_characters(text: str) -> str:
    """Return the text in lower case, with the same length; dotless ı and dotted i become equal."""
    return "".join(_FOLDED.get(c) or (c.lower() if len(c.lower()) == 1 else c) for c in text)


_FOLDED = {"İ": "i", "ı": "i", "’": "'"}


def parse_bare_reply(text: str, options: Sequence[str], places: int, words: ReplyWords) -> int | None:
    """Return the chosen place if a reply is only a label, an option, a number or an ordinal; otherwise None."""
    reply = normalise_reply(text)
    texts = [normalise_reply(clean_reply(option)) for option in options]
    bare = [_ARTICLES.sub("", option) for option in texts]
    for written, option_texts in ((reply, texts), (_ARTICLES.sub("", reply), bare)):
        if option_texts.count(written) == 1:
            return option_texts.index(written)
    if len(reply) == 1 and (place := _find_place_of_letter(reply.upper(), places, words)) is not None:
        return place
    numbered = re.fullmatch(rf"(?:(?:{build_alternation(words.option)})\s*)?#?([1-{places}])", reply)
    if numbered and not any(re.search(r"\d", option) for option in texts):
        return int(numbered[1]) - 1
    counted = {
        place
        for place, names in enumerate(words.ordinals[:places])
        if reply in {name.removeprefix("the ") for name in names} | set(names)
    }
    return counted.pop() if len(counted) == 1 else None


def _find_place_of_letter(letter: str, places: int, words: ReplyWords) -> int | None:
    """Return the place that a letter denotes, in the Latin alphabet or in the script of the language."""
    alphabets = ["ABCDEF", *("".join(words.letters[at : at + 4]) for at in range(0, len(words.letters), 4))]
    place = next((alphabet.index(letter) for alphabet in alphabets if letter in alphabet), _LOOKALIKES.get(letter))
    return place if place is not None and place < places else None


def mark_reply(text: str, options: Sequence[str], labels: str, words: ReplyWords, *, apostrophes: bool) -> str:
    """Return a reply in which marks replace options, labels and ordinals.

    With `apostrophes`, an apostrophe may follow a label, as in Turkish.
    """
    text = _mark_options(text, options)
    text = _mark_labels(text, labels, words, apostrophes=apostrophes)
    text = _mark_ordinals(text, len(options), words)
    return _merge_lists(_merge_labels_and_options(text), words)


def get_mark_type(mark: str) -> int:
    """Return the type of a mark: LABEL, OPTION or PLACE."""
    return ord(mark) & ~15


def get_mark_place(mark: str) -> int:
    """Return the place (index of the option) that a mark stands for."""
    return ord(mark) & 15


def _mark_options(text: str, options: Sequence[str]) -> str:
    """Replace the texts of options by their marks; longer options first, since `very strong` contains `strong`."""
    texts = [normalise_reply(clean_reply(option)) for option in options]
    for place in sorted(range(len(texts)), key=lambda at: -len(texts[at])):
        if not texts[place]:
            continue
        spaced = r"[\s\"“”„«»「」『』()\[\]{}]+".join(map(re.escape, texts[place].split()))
        pattern = spaced if UNSPACED.search(texts[place]) else rf"(?<!\w){spaced}(?!\w)"
        # Replace also the full stop of an option, which would otherwise end the clause.
        stop = r"[.!?]?" if clean_reply(options[place])[-1:] in ".!?" else ""
        matches = list(re.finditer(pattern + stop, _fold_characters(text)))
        for match in reversed(matches):
            text = text[: match.start()] + chr(OPTION + place) + text[match.end() :]
    return text


def _mark_labels(text: str, labels: str, words: ReplyWords, *, apostrophes: bool) -> str:
    """Replace labels by marks: single capital letters, and lower-case letters where they cannot be a word."""
    # A label is not a part of a Latin word, and not the C of "C'est".
    elided = "" if apostrophes else r"|['’][A-Za-zÀ-ɏ]"
    before, after = rf"(?<![{_LATIN}])", rf"(?![{_LATIN}]{elided})"
    name = build_alternation(words.option)

    def mark_label(match: re.Match[str]) -> str:
        letter = match["label"]
        place = (
            labels.find(letter.upper())
            if letter.isascii()
            else _find_place_of_letter(letter.upper(), len(labels), words)
        )
        if place is None or place < 0:
            return match[0]
        start = match.start("label") - match.start()
        return match[0][:start] + chr(LABEL + place) + match[0][start + 1 :]

    other = "".join(dict.fromkeys([*words.letters, *_LOOKALIKES]))
    small = f"[{labels.lower()}{re.escape(other)}]"
    end = r"(?=\s*[\"'”»)\]}]*\s*(?:[.!?,;。]|\n|$))"
    # A lower-case letter is a label in three places: at the beginning of the reply before a bracket or full stop, after
    # an answer word at the end of a clause, and after a word such as "option".
    text = re.sub(
        rf"\A[\s\"'“(\[]*(?:(?:{name})\s+)?(?P<label>{small})(?=\s*[).:\]])(?!\w)", mark_label, text, flags=re.I
    )
    for lead in (rf"{build_word_pattern(words.answer)}[^.!?\n]{{0,40}}?[\s:：\"'“(]", rf"(?<!\w)(?:{name})\s+[\"'“(]?"):
        text = re.sub(rf"{lead}(?P<label>{small}){end}", mark_label, text, flags=re.IGNORECASE)
    return re.sub(rf"{before}(?P<label>[{labels}]){after}", _skip_articles(mark_label, text, words, after), text)


def _skip_articles(
    mark: Callable[[re.Match[str]], str], text: str, words: ReplyWords, after: str
) -> Callable[[re.Match[str]], str]:
    """Return a function that marks capitals as labels, except an A that is an article, as in `A nurse`."""
    option = re.compile(rf"(?:{build_alternation(words.option)})\s*$", re.IGNORECASE)
    followers = words.copula + words.than + words.instead + words.negation + words.rejection + words.boundary
    goes_on = re.compile(
        rf"\s(?:{build_alternation(followers)})"
        rf"{after}|\s(?:{build_alternation(_CONJUNCTIONS)})\s+[A-F{_LABELS[1:-1]}]{after}|\s[B-F{_LABELS[1:-1]}]{after}",
        re.IGNORECASE,
    )
    begins = re.compile(r"(?:^|[.!?:\n])[\s\"'“(\[]*$")

    def mark_unless_article(match: re.Match[str]) -> str:
        rest = text[match.end() :]
        if match["label"] == "A" and re.match(r" [^\W\d_]", rest):
            before = text[: match.start()]
            if begins.search(before) and not goes_on.match(rest) and not option.search(before):
                return match[0]
        return mark(match)

    return mark_unless_article


def _mark_ordinals(text: str, places: int, words: ReplyWords) -> str:
    """Replace ordinals, such as `first`, by the mark of the option at this place.

    An ordinal before a noun other than "option", as in `the first thing`, is not replaced.
    """
    for place, names in enumerate(words.ordinals[:places]):
        for name in sorted(names, key=len, reverse=True):
            nouns = words.option + words.copula + words.than + ("one", "choice", "answer")
            counts = rf"\s+(?:{build_alternation(nouns)})(?!\w)"
            alone_there = rf"(?=\W*(?:[.,;:!?\n]|$)|{counts})" if name.startswith("the ") else ""
            text = re.sub(_build_spaced_pattern(name) + alone_there, chr(PLACE + place), text, flags=re.IGNORECASE)
    return text


def _merge_labels_and_options(text: str) -> str:
    """Replace the marks of a label and its option by the label's mark; a label with another option by CONFLICT."""

    def merge_match(match: re.Match[str]) -> str:
        label, option = match["label"], match["option"]
        return label if get_mark_place(label) == get_mark_place(option) else CONFLICT

    label, option = f"(?P<label>{_LABELS})", f"(?P<option>{_OPTIONS})"
    text = re.sub(rf"{label}[^\S\n]*[).:\]\-–—,\"'”“]*[^\S\n]*\n?[^\S\n]*[\"'“(]?{option}", merge_match, text)
    return re.sub(rf"{option}[\"'”]?[^\S\n]*[(\[\-–—][^\S\n]*(?:\w+\s)?{label}", merge_match, text)


def _merge_lists(text: str, words: ReplyWords) -> str:
    """Replace a list of different options, such as `A or B`, by the sign LIST, and a repeated mark by one mark."""
    between = rf"(?:[^\S\n]*[,/&+)\]\"'”-]*[^\S\n]*\n?[^\S\n]*[(\[\"'“-]*|\W*(?:{build_alternation(_CONJUNCTIONS)})\W*)"

    def merge_marks(match: re.Match[str]) -> str:
        marks = re.findall(MARK, match[0])
        return marks[0] if len(set(map(get_mark_place, marks))) == 1 else f" {LIST} "

    return re.sub(
        rf"{MARK}(?:{between}(?:(?:{build_alternation(words.option)})\s)?{MARK})+",
        merge_marks,
        text,
        flags=re.IGNORECASE,
    )


@cache
def build_alternation(words: tuple[str, ...]) -> str:
    """Return a regular expression that matches any of these words; longer words are tried first."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)) or "(?!)"


@cache
def build_word_pattern(words: tuple[str, ...]) -> str:
    """Return a regular expression that matches these words as whole words, or anywhere in scripts without spaces."""
    return f"(?:{'|'.join(_build_spaced_pattern(word) for word in sorted(words, key=len, reverse=True)) or '(?!)'})"


@cache
def split_by_script(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return two tuples: the words in scripts with spaces between words, and the words in scripts without spaces."""
    unspaced = tuple(word for word in words if UNSPACED.search(word))
    return tuple(word for word in words if word not in unspaced), unspaced


@cache
def _build_spaced_pattern(word: str) -> str:
    return re.escape(word) if UNSPACED.search(word) else rf"(?<!\w){re.escape(word)}(?!\w)"
