"""The grammar of the languages in which an auxiliary says "I": Czech, Slovak, Slovene, Croatian and Serbian.

The speaker's gender is in the l-participle beside the auxiliary (*prišla som*), else in the adjective beside the
copula (*som unavená*), else in a word that always agrees with the subject (*rada*, *sama*).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tiltmeter.gender.engine import Cue, Gender, Predicates, WordGender, clauses

# A participle across "and" belongs to the auxiliary only if its own half of the clause has none,
# and a word that is a noun as well only if the clause has no other.
_ACROSS_COORDINATOR = 12
_AMBIGUOUS = 100

# How far from "to be" its adjective may stand: *nechcem byť od nikoho finančne závislý*.
_INFINITIVE_REACH = 4

_NEVER = re.compile("(?!)")


@dataclass(frozen=True)
class AuxiliaryGrammar:
    """Rules of one language; every list holds cleaned word forms."""

    auxiliaries: frozenset[str]
    """First person singular forms of the auxiliary, negated ones too."""

    participle: WordGender
    predicates: Predicates

    copulas: frozenset[str]
    """First person singular forms of "be" that take a predicate adjective, in the present."""

    futures: frozenset[str]
    """Its future forms, which with an infinitive are no copula: *budem čítať*."""

    infinitive: re.Pattern[str]
    first_person: re.Pattern[str]
    """Verbs in the first person singular of the present."""

    infinitives: frozenset[str] = frozenset()
    """"To be", with an adjective said of the speaker if the verb before it is in the first person."""

    openers: frozenset[str] = frozenset()
    """Words that open a clause without a comma before them."""

    ambiguous: frozenset[str] = frozenset()
    """Participles that are nouns or adjectives as well."""

    agreeing: dict[str, Gender] = field(default_factory=dict)
    """Words that agree with the subject of their clause: *rád*, *sama*."""

    pronouns: frozenset[str] = frozenset()
    """Nominative "I"."""

    shared_auxiliaries: frozenset[str] = frozenset()
    """Auxiliaries of all persons, taken for the first where nothing in the clause speaks against it."""

    other_subjects: frozenset[str] = frozenset()
    """Words that give a clause another subject than the speaker."""

    other_persons: re.Pattern[str] = _NEVER
    """Verbs in the second person."""

    demonstratives: frozenset[str] = frozenset()
    demonstratives_with: frozenset[str] = frozenset()
    """"This", and the participles of "be" whose subject it is when it opens a clause: *to bi bil dober načrt*."""

    objects: frozenset[str] = frozenset()
    """Forms of "me": beside a shared auxiliary they say that somebody else acts."""

    not_subject_after: frozenset[str] = frozenset()
    """Words after which "I" or an agreeing word is not the subject: *than I*, *in myself*."""

    def cues(self, sentence: Sequence[str]) -> Iterator[Cue]:
        """Every cue of a sentence, clause by clause."""
        told_by_other = False
        for start, end in clauses(sentence, self.openers):
            clause = sentence[start:end]
            speaks = any(word in self.auxiliaries or word in self.pronouns for word in clause)
            other = any(word in self.other_subjects or self.other_persons.search(word) for word in clause)
            # "Mother said that she would come", but not "mother told me that ...":
            # a clause opened by "that" goes on with the subject before it.
            other = other or (told_by_other and clause[0] in self.openers)
            for position in range(start, end):
                cue = self._cue(sentence, position, start, end, speaks=speaks, other=other)
                if cue:
                    yield cue
            told_by_other = other and not speaks and not any(word in self.objects for word in clause)

    def _cue(
        self, sentence: Sequence[str], position: int, start: int, end: int, *, speaks: bool, other: bool
    ) -> Cue | None:
        word = sentence[position]
        own = word in self.auxiliaries
        if not own and position > start and sentence[position - 1] in self.not_subject_after:
            return None
        if own and word in self.agreeing and self._is_adjective(sentence, position, start, end):
            return Cue(self.agreeing[word], (word,), "agreeing word", position)
        if own or (word in self.shared_auxiliaries and self._may_be_first(sentence, start, end, speaks, other)):
            participle = self._participle(sentence, position, start, end)
            if participle and (own or speaks or not self._has_subject(sentence, position, participle, start)):
                return self._pair(sentence, position, *participle, "participle")
        if self._is_copula(sentence, position, start, end) or (
            word in self.infinitives and self._wants(sentence, start, end, other)
        ):
            reach = _INFINITIVE_REACH if word in self.infinitives else len(sentence)
            adjectives = (
                found
                for found in self.predicates.find(sentence, max(start, position - reach), end)
                if found[0] <= position + reach
                and not self.predicates.of_other_subject(sentence, position, found, start, self.other_subjects)
            )
            adjective = min(adjectives, key=lambda found: abs(found[0] - position), default=None)
            if adjective:
                return self._pair(sentence, position, *adjective, "predicate adjective")
            return None
        if own or word not in self.agreeing:
            return None
        if speaks or (self._wants(sentence, start, end, other) and not self._follows_noun(sentence, position, start)):
            return Cue(self.agreeing[word], (word,), "agreeing word", position)
        return None

    def _participle(self, sentence: Sequence[str], at: int, start: int, end: int) -> tuple[int, Gender] | None:
        best: tuple[int, int, Gender] | None = None
        for position in range(start, end):
            gender = self.participle(sentence[position])
            if gender is None or self.predicates.of_other_subject(
                sentence, at, (position, gender), start, self.other_subjects
            ):
                continue
            between = sentence[min(position, at) : max(position, at)]
            cost = abs(position - at)
            cost += _ACROSS_COORDINATOR * any(word in self.predicates.coordinators for word in between)
            cost += _AMBIGUOUS * (sentence[position] in self.ambiguous)
            if best is None or cost < best[0]:
                best = cost, position, gender
        return best and (best[1], best[2])

    def _may_be_first(self, sentence: Sequence[str], start: int, end: int, speaks: bool, other: bool) -> bool:
        return speaks or not (other or any(word in self.objects for word in sentence[start:end]))

    def _is_copula(self, sentence: Sequence[str], position: int, start: int, end: int) -> bool:
        """Whether a form of "be" is a copula here, and not the auxiliary of a future with an infinitive."""
        word = sentence[position]
        if word not in self.futures:
            return word in self.copulas
        return not any(self.infinitive.search(near) and near not in self.infinitives for near in sentence[start:end])

    def _has_subject(self, sentence: Sequence[str], position: int, participle: tuple[int, Gender], start: int) -> bool:
        """Whether a noun that agrees opens the clause right before a shared auxiliary: *sosed bi bil vesel*."""
        opening = sentence[start]
        if opening in self.demonstratives:
            return sentence[participle[0]] in self.demonstratives_with
        return (
            position == start + 1
            and participle[0] != start
            and opening not in self.agreeing
            and opening not in self.predicates.function_words
            and self.predicates.noun(opening, participle[1])
        )

    def _wants(self, sentence: Sequence[str], start: int, end: int, other: bool) -> bool:
        """Whether the clause has a verb in the first person and no other subject."""
        small = self.predicates.function_words
        return not other and any(self.first_person.search(word) and word not in small for word in sentence[start:end])

    def _follows_noun(self, sentence: Sequence[str], position: int, start: int) -> bool:
        """Whether a noun that opens the clause right before the agreeing word is its subject: *dcera ráda čte*."""
        if position != start + 1:
            return False
        noun = sentence[start]
        return noun not in self.predicates.function_words and self.predicates.noun(
            noun, self.agreeing[sentence[position]]
        )

    def _is_adjective(self, sentence: Sequence[str], position: int, start: int, end: int) -> bool:
        """Whether a form that is both "am" and "alone" is the adjective: the first *sam* in *sam sam to napravio*.

        The auxiliary is never the first word of its clause, and there is one of it.
        """
        if position == start:
            return True
        others = [other for other in range(start, end) if sentence[other] in self.auxiliaries and other != position]
        return bool(others) and (position + 1 == end or position + 1 in others)

    @staticmethod
    def _pair(sentence: Sequence[str], at: int, position: int, gender: Gender, rule: str) -> Cue:
        first, second = sorted((at, position))
        return Cue(gender, (sentence[first], sentence[second]), rule, position)
