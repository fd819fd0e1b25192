"""The speaker's gender from a parse: heuristics over the features of Universal Dependencies.

A word that says "I" (the pronoun as a subject, an auxiliary or a copula in the first person) leads to its head, and the
head, or another auxiliary of it, shows the gender. The parse may come from any parser, as a CoNLL-U file.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, overload

from tiltmeter.errors import DataError
from tiltmeter.gender import SpeakerGender
from tiltmeter.gender.clauses import FEMININE, MASCULINE, Gender, words

_AGREEING = words("rád rad nerad sám sam один сам адзін")
_BE = words("byť být być biti быть бути быць")
_COLUMNS = 10


@dataclass(frozen=True, slots=True)
class Word:
    """One syntactic word of a parse, with its head as the head's id (0 for the root)."""

    id: int
    form: str
    lemma: str
    upos: str
    head: int
    relation: str
    features: dict[str, str] = field(default_factory=dict)

    @property
    def is_first_person(self) -> bool:
        """Whether it is in the first person singular."""
        return self.features.get("Person") == "1" and self.features.get("Number", "Sing") == "Sing"

    @property
    def gender(self) -> Gender | None:
        """The gender it shows in the singular; a feminine that may also be neuter counts as feminine."""
        if self.features.get("Number") == "Plur":
            return None
        values = self.features.get("Gender", "").split(",")
        if "Masc" in values:
            return MASCULINE
        return FEMININE if "Fem" in values else None


@dataclass(frozen=True, slots=True)
class ParsedSentence:
    """The words of a sentence, and its text where the file gives it."""

    words: tuple[Word, ...]
    text: str


def read_conllu(lines: Iterable[str], name: str) -> Iterator[ParsedSentence]:
    """The sentences of a CoNLL-U file; `name` stands in the errors.

    >>> line = "1\\tидём\\tидти\\tVERB\\t_\\tNumber=Plur|Person=1\\t0\\troot\\t_\\t_"
    >>> next(read_conllu([line, ""], "example")).words[0].features
    {'Number': 'Plur', 'Person': '1'}
    """
    found: list[Word] = []
    text = ""
    first = 0
    for number, line in enumerate(lines, start=1):
        line = line.rstrip("\r\n")
        if line.startswith("#"):
            if line.startswith("# text ="):
                text = line.removeprefix("# text =").strip()
        elif line.strip():
            first = first or number
            word = _word(line, f"{name}, line {number}")
            if word:
                if word.id != len(found) + 1:
                    raise DataError(f"{name}, line {number}: word {word.id} follows word {len(found)}")
                found.append(word)
        elif found:
            yield _sentence(found, text, f"{name}, line {first}")
            found, text, first = [], "", 0
    if found:
        yield _sentence(found, text, f"{name}, line {first}")


@overload
def speaker_gender_conllu(sentence: Sequence[Word], *, explain: Literal[False] = False) -> Gender | None: ...
@overload
def speaker_gender_conllu(sentence: Sequence[Word], *, explain: Literal[True]) -> SpeakerGender: ...
def speaker_gender_conllu(sentence: Sequence[Word], *, explain: bool = False) -> Gender | SpeakerGender | None:
    """Masculine, feminine or None for the first person of a parsed sentence; with `explain`, also why."""
    cues = _cues(sentence)
    word, rule = min(cues, key=lambda cue: cue[0].id, default=(None, None))
    if explain:
        return SpeakerGender(word.gender, (word.form.lower(),), rule) if word else SpeakerGender(None)
    return word.gender if word else None


def _cues(sentence: Sequence[Word]) -> Iterator[tuple[Word, str]]:
    """Every word that shows the speaker's gender, with the rule that led to it."""
    by_id = {word.id: word for word in sentence}
    about_speaker = {word.id for word in sentence if word.upos == "VERB" and word.is_first_person}
    for word in sentence:
        head = by_id.get(word.head)
        if head and _says_i(word, head, sentence):
            about_speaker.add(head.id)
            if head.upos in ("VERB", "AUX", "ADJ", "DET") and head.gender:
                yield head, f"head of {word.form.lower()}"
            for other in sentence:
                if other.head == head.id and other.upos == "AUX" and other.gender:
                    yield other, f"auxiliary beside {word.form.lower()}"
    for word in sentence:
        if not word.gender or word.features.get("Case", "Nom") not in ("Nom", "Ins"):
            continue
        if word.lemma.lower() in _AGREEING and word.head in about_speaker:
            yield word, "agreeing word"
        elif word.upos == "ADJ" and word.head in about_speaker and _has_infinitive_copula(word, sentence):
            yield word, "predicate of an infinitive"


def _says_i(word: Word, head: Word, sentence: Sequence[Word]) -> bool:
    if word.upos == "AUX":
        # The Slovene conditional has no person: it is the speaker's where its clause has no other subject.
        if word.features.get("Mood") == "Cnd" and "Person" not in word.features:
            subjects = [other for other in sentence if other.head == head.id and other.relation.startswith("nsubj")]
            return all(subject.is_first_person for subject in subjects)
        return word.is_first_person
    nominative = word.features.get("Case", "Nom") == "Nom"
    return word.upos == "PRON" and word.is_first_person and nominative and word.relation.startswith("nsubj")


def _has_infinitive_copula(word: Word, sentence: Sequence[Word]) -> bool:
    return any(other.head == word.id and other.lemma in _BE and other.relation.startswith("cop") for other in sentence)


def _word(line: str, place: str) -> Word | None:
    columns = line.split("\t")
    if len(columns) != _COLUMNS:
        raise DataError(f"{place}: {len(columns)} columns instead of {_COLUMNS} separated by tabs")
    if "-" in columns[0] or "." in columns[0]:
        return None  # a multiword token, whose words follow, or an empty node
    identifier, form, lemma, upos, _, features, head, relation = columns[:8]
    if not identifier.isdecimal() or not head.isdecimal():
        raise DataError(f"{place}: id {identifier!r} and head {head!r} should be numbers")
    pairs = [] if features == "_" else [feature.partition("=") for feature in features.split("|")]
    if any(not equals for _, equals, _ in pairs):
        raise DataError(f"{place}: features {features!r} should look like Gender=Fem|Number=Sing")
    values = {name: value for name, _, value in pairs}
    return Word(int(identifier), form, lemma, upos, int(head), relation, values)


def _sentence(found: Sequence[Word], text: str, place: str) -> ParsedSentence:
    for word in found:
        if word.head > len(found):
            raise DataError(f"{place}: the head of word {word.id} is {word.head}, but there are {len(found)} words")
    return ParsedSentence(tuple(found), text or " ".join(word.form for word in found))
