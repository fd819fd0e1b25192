"""The grammar of the languages in which the pronoun says "I": Belarusian, Russian and Ukrainian.

The past tense has no personal ending, so the speaker's gender is in the past verb (*я прийшла*) or the adjective
(*я рада*, *я сильный*) of a clause with я, in a past verb with no subject at all, or in a word that agrees with the
speaker (*один*, *сама*).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tiltmeter.gender.engine import Cue, Gender, Predicates, WordGender, clauses

_I = "я"

# The verb mostly follows its subject; one before it has to be much nearer.
_BEFORE = 5
_AMBIGUOUS = 20


@dataclass(frozen=True)
class PronounGrammar:
    """Rules of one language; every list holds cleaned word forms."""

    past: WordGender
    """The gender of a singular past verb."""

    predicates: Predicates
    """For adjectives in the nominative."""

    first_person: re.Pattern[str]
    """Words that say that the clause is about the speaker: я, forms of "me", present verbs."""

    light_words: frozenset[str]
    """Particles and adverbs that may open a clause before its verb."""

    objects: frozenset[str]
    """Forms of "me": a past verb beside one, in a clause without я, is somebody else's."""

    other_subjects: frozenset[str]
    """Nominatives that give a clause another subject than the speaker."""

    not_subject_after: frozenset[str]
    """Words after which я or an agreeing word is not the subject: *than I*, *at one*."""

    infinitive_endings: tuple[str, ...]
    oblique_endings: tuple[str, ...]
    """Endings that no noun has in the nominative singular."""

    openers: frozenset[str] = frozenset()
    """Words that open a clause even where the comma before them was forgotten."""

    agreeing: dict[str, Gender] = field(default_factory=dict)
    """Words that agree with the subject of their clause."""

    ambiguous: frozenset[str] = frozenset()
    """Past verbs that are nouns as well."""

    neuter: tuple[str, ...] = ()
    """Endings of past verbs that may as well be neuter, and so need no subject: Belarusian *хацелася*."""

    noun_after: re.Pattern[str] = re.compile("(?!)")
    """Words, besides prepositions, after which what looks like a past verb is a noun."""

    copulas: frozenset[str] = frozenset()
    """Forms of "be" with an adjective said of the speaker: *буду рад*, *хочу быть сильной*."""

    instrumental: Predicates | None = None
    """For adjectives in the instrumental beside a copula."""

    def cues(self, sentence: Sequence[str]) -> Iterator[Cue]:
        """Every cue of a sentence, clause by clause."""
        spans = list(clauses(sentence, self.openers))
        for index, (start, end) in enumerate(spans):
            if _I not in sentence[start:end]:
                after_speaker = index > 0 and _I in sentence[slice(*spans[index - 1])]
                cue = self._dropped(sentence, start, end) if index == 0 or after_speaker else None
                if cue:
                    yield cue
            for position in range(start, end):
                before = sentence[position - 1] if position > start else ""
                if before in self.not_subject_after:
                    continue
                if sentence[position] == _I:
                    cue = self._subject(sentence, position, start, end)
                    if cue is None and position == end - 1 and index + 2 < len(spans):
                        # "I, as always, was late": the predicate comes after what is inserted.
                        cue = self._subject(sentence, position, *spans[index + 2])
                else:
                    cue = self._other_cue(sentence, position, start, end)
                if cue:
                    yield cue

    def _subject(self, sentence: Sequence[str], at: int, start: int, end: int) -> Cue | None:
        """The past verb or adjective that goes with я at `at`."""
        best: tuple[int, int, Gender] | None = None
        for position in range(start, end):
            gender = self.past(sentence[position])
            if position > start and self._opens_noun(sentence[position - 1]):
                continue
            if gender is None or self.predicates.of_other_subject(
                sentence, at, (position, gender), start, self.other_subjects
            ):
                continue
            if sentence[position] in self.ambiguous and any(
                self.first_person.search(word) for word in sentence[at + 1 : position]
            ):
                continue  # "I do my дела": the clause has its verb
            cost = position - at if position > at else _BEFORE + at - position
            cost += _AMBIGUOUS * (sentence[position] in self.ambiguous)
            if best is None or cost < best[0]:
                best = cost, position, gender
        if best:
            return _pair(sentence, at, best[1], best[2], "past tense")
        # In a clause that goes on after something inserted, the adjective is beside its start.
        if found := self.predicates.beside(sentence, at if start <= at < end else start - 1, start, end):
            return _pair(sentence, at, *found, "predicate adjective")
        return None

    def _opens_noun(self, word: str) -> bool:
        return word in self.predicates.prepositions or (len(word) > 2 and self.noun_after.search(word) is not None)

    def _dropped(self, sentence: Sequence[str], start: int, end: int) -> Cue | None:
        """The past verb of a clause that opens with it and has no word that could be its subject."""
        light = self.light_words | self.predicates.coordinators
        verb = next((position for position in range(start, end) if sentence[position] not in light), None)
        if verb is None:
            return None
        word = sentence[verb]
        gender = self.past(word)
        if gender is None or word in self.ambiguous or word.endswith(self.neuter):
            return None
        if any(near in self.objects or near in self.other_subjects for near in sentence[start:end]):
            return None
        # "Was" alone tells of what there was; the speaker is meant if it has an adjective: *была рада*.
        adjective = None
        if word in self.predicates.function_words:
            adjective = self.predicates.beside(sentence, verb, start, end)
            if adjective is None:
                return None
        prepositions = self.predicates.prepositions
        for position in range(verb + 1, end):
            word = sentence[position]
            if word.endswith(self.infinitive_endings):
                break
            if adjective and position == adjective[0]:
                continue
            if word in self.predicates.function_words or word in prepositions or word.endswith(self.oblique_endings):
                continue
            in_phrase = any(near in prepositions for near in sentence[max(verb, position - 2) : position])
            if not in_phrase and self.predicates.noun(word, gender):
                return None
        return Cue(gender, (sentence[verb],), "past tense without subject", verb)

    def _other_cue(self, sentence: Sequence[str], position: int, start: int, end: int) -> Cue | None:
        """A word that agrees with the speaker, or an adjective of "to be", in a clause about the speaker."""
        word = sentence[position]
        if word not in self.agreeing and word not in self.copulas:
            return None
        clause = sentence[start:end]
        if any(near in self.other_subjects for near in clause):
            return None
        if not any(self.first_person.search(near) for near in clause):
            return None
        if word in self.agreeing:
            gender = self.agreeing[word]
            following = sentence[position + 1] if position + 1 < end else ""
            # "One friend": a numeral before its noun.
            numeral = (
                following
                and following not in self.predicates.function_words
                and not following.endswith(self.oblique_endings + self.infinitive_endings)
                and self.predicates.noun(following, gender)
            )
            same = any(near in ("той", "тот") for near in sentence[position + 1 : position + 3])  # "one and the same"
            return None if numeral or same else Cue(gender, (word,), "agreeing word", position)
        for predicates in filter(None, (self.instrumental, self.predicates)):
            adjective = predicates.beside(sentence, position, start, end)
            if adjective:
                return _pair(sentence, position, *adjective, "predicate adjective")
        return None


def _pair(sentence: Sequence[str], at: int, position: int, gender: Gender, rule: str) -> Cue:
    first, second = sorted((at, position))
    return Cue(gender, (sentence[first], sentence[second]), rule, position)
