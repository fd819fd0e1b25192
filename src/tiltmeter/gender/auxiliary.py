"""The grammar of the languages in which an auxiliary says "I": Czech, Slovak, Slovene, Croatian and Serbian.

The speaker's gender is in the l-participle beside the auxiliary (*prišla som*), else in the adjective beside the
copula (*som unavená*), else in a word that always agrees with the subject (*rada*, *sama*).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tiltmeter.gender.clauses import Clause, Cue, Gender, Predicates, WordGender, clauses

# A participle across "and" belongs to the auxiliary only if its own half of the clause has none,
# and a word that is a noun as well only if the clause has no other.
_ACROSS_COORDINATOR = 12
_AMBIGUOUS = 100

# How far from "to be" its adjective may stand: *chcem byť v starobe celkom samostatný*.
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

    first_person: re.Pattern[str]
    """Verbs in the first person singular of the present."""

    futures: frozenset[str] = frozenset()
    """Its future forms, which with an infinitive are no copula: *budem čítať*."""

    infinitive: re.Pattern[str] = _NEVER
    """Infinitives of any verb."""

    infinitives: frozenset[str] = frozenset()
    """"To be", with an adjective said of the speaker if the verb before it is in the first person."""

    openers: frozenset[str] = frozenset()
    """Words that open a clause without a comma before them."""

    ambiguous: frozenset[str] = frozenset()
    """Participles that are nouns or adjectives as well, taken where the clause has no other and no predicate."""

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

    not_shared: frozenset[str] = frozenset()
    """Words beside which a shared auxiliary is somebody else's, and a clause not told of somebody else: "me"."""

    not_subject_after: frozenset[str] = frozenset()
    """Words after which "I" or an agreeing word is not the subject: *than I*, *in myself*."""

    def cues(self, sentence: Sequence[str]) -> Iterator[Cue]:
        """Every cue of a sentence, clause by clause."""
        told_by_other = False
        for clause in clauses(sentence, self.openers):
            speaks = clause.has(self.auxiliaries) or clause.has(self.pronouns)
            # "Mother said that she would come", but not "mother told me that ...":
            # a clause opened by "that" goes on with the subject before it.
            goes_on = told_by_other and clause.words[0] in self.openers
            other = goes_on or self._has_other_subject(clause)
            for position in clause.positions:
                cue = self._cue(clause, position, speaks=speaks, other=other)
                if cue:
                    yield cue
            told_by_other = other and not speaks and not clause.has(self.not_shared)

    def _cue(self, clause: Clause, position: int, *, speaks: bool, other: bool) -> Cue | None:
        word = clause.sentence[position]
        own = word in self.auxiliaries
        if not own and clause.before(position) in self.not_subject_after:
            return None
        if own and word in self.agreeing and self._is_adjective(clause, position):
            return clause.cue("agreeing word", self.agreeing[word], position)
        if own or (word in self.shared_auxiliaries and (speaks or not (other or clause.has(self.not_shared)))):
            found = self._participle(clause, position)
            if found and (own or speaks or not self._is_of_noun(clause, position, found)):
                adjective = self._adjective(clause, position) if clause.sentence[found[0]] in self.ambiguous else None
                if adjective is None:
                    return clause.cue("participle", found[1], found[0], position)
        wants = not other and self._has_first_person(clause)
        if self._is_copula(clause, position) or (wants and word in self.infinitives):
            found = self._adjective(clause, position)
            return clause.cue("predicate adjective", found[1], found[0], position) if found else None
        if word in self.agreeing and not own and (speaks or (wants and not self._follows_noun(clause, position))):
            return clause.cue("agreeing word", self.agreeing[word], position)
        return None

    def _participle(self, clause: Clause, at: int) -> tuple[int, Gender] | None:
        """The participle that goes with the auxiliary at `at`: the nearest, but rather in the same half."""
        best: tuple[int, int, Gender] | None = None
        for position in clause.positions:
            word = clause.sentence[position]
            gender = self.participle(word)
            if gender is None or self._is_of_other(clause, at, (position, gender)):
                continue
            between = clause.sentence[min(position, at) : max(position, at)]
            cost = abs(position - at)
            cost += _ACROSS_COORDINATOR * (not self.predicates.coordinators.isdisjoint(between))
            cost += _AMBIGUOUS * (word in self.ambiguous)
            if best is None or cost < best[0]:
                best = cost, position, gender
        return best and (best[1], best[2])

    def _adjective(self, clause: Clause, at: int) -> tuple[int, Gender] | None:
        """The adjective that goes with the copula at `at`: the nearest, and near an infinitive."""
        reach = _INFINITIVE_REACH if clause.sentence[at] in self.infinitives else len(clause.sentence)
        adjectives = (
            found
            for found in self.predicates.find(clause)
            if abs(found[0] - at) <= reach and not self._is_of_other(clause, at, found)
        )
        return min(adjectives, key=lambda found: abs(found[0] - at), default=None)

    def _is_copula(self, clause: Clause, position: int) -> bool:
        """Whether a form of "be" is a copula here, and not the auxiliary of a future with an infinitive."""
        word = clause.sentence[position]
        if word not in self.futures:
            return word in self.copulas
        return not any(self.infinitive.search(near) and near not in self.infinitives for near in clause.words)

    def _is_adjective(self, clause: Clause, position: int) -> bool:
        """Whether a form that is both "am" and "alone" is the adjective: the first *sam* in *sam sam to napravio*.

        The auxiliary is never the first word of its clause, and there is one of it.
        """
        if position == clause.start:
            return True
        others = [near for near in clause.positions if clause.sentence[near] in self.auxiliaries and near != position]
        return bool(others) and (position + 1 == clause.end or position + 1 in others)

    def _is_of_other(self, clause: Clause, at: int, found: tuple[int, Gender]) -> bool:
        return self.predicates.has_other_subject(clause, at, found, self.other_subjects)

    def _is_of_noun(self, clause: Clause, position: int, participle: tuple[int, Gender]) -> bool:
        """Whether the subject of a shared auxiliary opens the clause right before it: *sosed bi bil vesel*."""
        place, gender = participle
        opening = clause.sentence[clause.start]
        if opening in self.demonstratives:
            return clause.sentence[place] in self.demonstratives_with
        if place == clause.start or opening in self.agreeing:
            return False
        return position == clause.start + 1 and self._is_noun(opening, gender)

    def _follows_noun(self, clause: Clause, position: int) -> bool:
        """Whether a noun that opens the clause right before the agreeing word is its subject: *dcera ráda čte*."""
        gender = self.agreeing[clause.sentence[position]]
        return position == clause.start + 1 and self._is_noun(clause.sentence[clause.start], gender)

    def _is_noun(self, word: str, gender: Gender) -> bool:
        return word not in self.predicates.function_words and self.predicates.noun(word, gender)

    def _has_first_person(self, clause: Clause) -> bool:
        small = self.predicates.function_words
        return any(word not in small and self.first_person.search(word) for word in clause.words)

    def _has_other_subject(self, clause: Clause) -> bool:
        return clause.has(self.other_subjects) or any(self.other_persons.search(word) for word in clause.words)
