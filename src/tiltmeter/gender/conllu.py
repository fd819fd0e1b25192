"""Detection of the speaker's gender in a dependency parse with Universal Dependencies features.

A subject pronoun, auxiliary or copula in the first person refers to the speaker. The gender is marked on the head of
this word, or on another auxiliary of the same head. The parse is a CoNLL-U file from any parser.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, overload

from tiltmeter.errors import DataError
from tiltmeter.gender import SpeakerGender
from tiltmeter.gender.clauses import FEMININE, MASCULINE, Gender, parse_words

_AGREEING = parse_words("rád rad nerad sám sam один сам адзін")
_BE = parse_words("byť být być biti быть бути быць")
_COLUMNS = 10


@dataclass(frozen=True, slots=True)
class ParsedWord:
    """A syntactic word of a parse; `head` is the id of its head (0 for the root)."""

    id: int
    form: str
    lemma: str
    upos: str
    head: int
    relation: str
    features: dict[str, str] = field(default_factory=dict)

    @property
    def is_first_person(self) -> bool:
        """Whether the word is in the first person singular."""
        return self.features.get("Person") == "1" and self.features.get("Number", "Sing") == "Sing"

    @property
    def gender(self) -> Gender | None:
        """The gender of a singular word, or None; the feature value "Fem,Neut" counts as feminine."""
        if self.features.get("Number") == "Plur":
            return None
        values = self.features.get("Gender", "").split(",")
        if "Masc" in values:
            return MASCULINE
        return FEMININE if "Fem" in values else None


@dataclass(frozen=True, slots=True)
class ParsedSentence:
    """The words and the text of a sentence. If the file has no text, the text is the word forms joined by spaces."""

    words: tuple[ParsedWord, ...]
    text: str


def read_conllu(lines: Iterable[str], name: str) -> Iterator[ParsedSentence]:
    """Yield the sentences of a CoNLL-U file; `name` is the file name for error messages.

    >>> line = "1\\tидём\\tидти\\tVERB\\t_\\tNumber=Plur|Person=1\\t0\\troot\\t_\\t_"
    >>> next(read_conllu([line, ""], "example")).words[0].features
    {'Number': 'Plur', 'Person': '1'}
    """
    words: list[ParsedWord] = []
    text = ""
    first = 0
    for number, line in enumerate(lines, start=1):
        line = line.rstrip("\r\n")
        if line.startswith("#"):
            if line.startswith("# text ="):
                text = line.removeprefix("# text =").strip()
        elif line.strip():
            first = first or number
            word = _parse_word(line, f"{name}, line {number}")
            if word:
                if word.id != len(words) + 1:
                    raise DataError(
                        f"{name}, line {number}: word {word.id} follows word {len(words)}; number the words from 1."
                    )
                words.append(word)
        elif words:
            yield _build_sentence(words, text, f"{name}, line {first}")
            words, text, first = [], "", 0
    if words:
        yield _build_sentence(words, text, f"{name}, line {first}")


@overload
def find_conllu_gender(sentence: Sequence[ParsedWord], *, explain: Literal[False] = False) -> Gender | None: ...
@overload
def find_conllu_gender(sentence: Sequence[ParsedWord], *, explain: Literal[True]) -> SpeakerGender: ...
def find_conllu_gender(sentence: Sequence[ParsedWord], *, explain: bool = False) -> Gender | SpeakerGender | None:
    """Return the speaker's gender in a parsed sentence, or None if no word marks the gender.

    With `explain`, return a SpeakerGender, which also has the word and the rule.
    """
    cues = _find_cues(sentence)
    word, rule = min(cues, key=lambda cue: cue[0].id, default=(None, None))
    if explain:
        return SpeakerGender(word.gender, (word.form.lower(),), rule) if word else SpeakerGender(None)
    return word.gender if word else None


def _find_cues(sentence: Sequence[ParsedWord]) -> Iterator[tuple[ParsedWord, str]]:
    """Yield every word that marks the speaker's gender, with the name of the rule."""
    by_id = {word.id: word for word in sentence}
    speaker_heads = {word.id for word in sentence if word.upos == "VERB" and word.is_first_person}
    for word in sentence:
        head = by_id.get(word.head)
        if head and _is_first_person_subject(word, head, sentence):
            speaker_heads.add(head.id)
            if head.upos in ("VERB", "AUX", "ADJ", "DET") and head.gender:
                yield head, f"head of {word.form.lower()}"
            for other in sentence:
                if other.head == head.id and other.upos == "AUX" and other.gender:
                    yield other, f"auxiliary with {word.form.lower()}"
    for word in sentence:
        if not word.gender or word.features.get("Case", "Nom") not in ("Nom", "Ins"):
            continue
        if word.lemma.lower() in _AGREEING and word.head in speaker_heads:
            yield word, "agreeing word"
        elif word.upos == "ADJ" and word.head in speaker_heads and _has_infinitive_copula(word, sentence):
            yield word, "predicate of an infinitive"


def _is_first_person_subject(word: ParsedWord, head: ParsedWord, sentence: Sequence[ParsedWord]) -> bool:
    """Return whether the word is an auxiliary or a subject pronoun in the first person."""
    if word.upos == "AUX":
        # The Slovene conditional auxiliary does not mark a person. It counts as first person unless its head has a
        # subject that is not in the first person.
        if word.features.get("Mood") == "Cnd" and "Person" not in word.features:
            subjects = [other for other in sentence if other.head == head.id and other.relation.startswith("nsubj")]
            return all(subject.is_first_person for subject in subjects)
        return word.is_first_person
    nominative = word.features.get("Case", "Nom") == "Nom"
    return word.upos == "PRON" and word.is_first_person and nominative and word.relation.startswith("nsubj")


def _has_infinitive_copula(word: ParsedWord, sentence: Sequence[ParsedWord]) -> bool:
    return any(other.head == word.id and other.lemma in _BE and other.relation.startswith("cop") for other in sentence)


def _parse_word(line: str, location: str) -> ParsedWord | None:
    columns = line.split("\t")
    if len(columns) != _COLUMNS:
        raise DataError(f"{location}: the line has {len(columns)} columns separated by tabs instead of {_COLUMNS}.")
    if "-" in columns[0] or "." in columns[0]:
        return None  # skip empty nodes, and multiword tokens, whose words are on the next lines
    identifier, form, lemma, upos, _, features, head, relation = columns[:8]
    if not identifier.isdecimal() or not head.isdecimal():
        raise DataError(f"{location}: the id {identifier!r} and the head {head!r} must be numbers.")
    pairs = [] if features == "_" else [feature.partition("=") for feature in features.split("|")]
    if any(not equals for _, equals, _ in pairs):
        raise DataError(f"{location}: the features {features!r} must have the form Gender=Fem|Number=Sing.")
    values = {name: value for name, _, value in pairs}
    return ParsedWord(int(identifier), form, lemma, upos, int(head), relation, values)


def _build_sentence(words: Sequence[ParsedWord], text: str, location: str) -> ParsedSentence:
    for word in words:
        if word.head > len(words):
            raise DataError(f"{location}: the head of word {word.id} is {word.head}, but there are {len(words)} words.")
    return ParsedSentence(tuple(words), text or " ".join(word.form for word in words))
