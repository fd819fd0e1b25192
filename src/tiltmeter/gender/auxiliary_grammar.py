"""Rules for languages that mark the first person on an auxiliary: Czech, Slovak, Slovene, Croatian and Serbian.

The speaker's gender is marked on the l-participle of the auxiliary (*prišla som*), on the predicate adjective of the
copula (*som unavená*), or on a word that agrees with the subject (*rada*, *sama*).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tiltmeter.gender.clauses import Clause, Cue, Gender, PredicateAdjectives, WordGender, split_clauses

# The participle with the minimum distance (in words) belongs to the auxiliary. Penalties increase the distance. Both
# penalties are larger than usual distances. So a participle behind a coordinator ("and") is chosen only if there is no
# participle on the auxiliary's side. A participle that is also a noun is chosen only if the clause has no other
# participle: in *Pravila sam uvijek poštovao*, *poštovao* is chosen, not *pravila*. On the translations that GEST's
# authors released, values from 2 to 30 (first penalty) and 5 to 1,000 (second penalty) give the same genders.
_ACROSS_COORDINATOR = 12
_AMBIGUOUS = 100

# Maximum distance in words between the infinitive "to be" and its adjective, as in *Želim biti bolj potrpežljiv*. On
# the translations that GEST's authors released, 5 and 6 give the same genders as 4, and 3 misses 11 genders.
_INFINITIVE_REACH = 4

_NEVER = re.compile("(?!)")


@dataclass(frozen=True)
class AuxiliaryGrammar:
    """The rules for the speaker's gender in one language. All words are in the form that `normalise_text` returns."""

    auxiliaries: frozenset[str]
    """First-person singular forms of the auxiliary, including negated forms."""

    participle: WordGender
    predicates: PredicateAdjectives

    copulas: frozenset[str]
    """First-person singular present forms of "be" that take a predicate adjective."""

    first_person: re.Pattern[str]
    """Verbs in the first person singular of the present."""

    futures: frozenset[str] = frozenset()
    """Future forms of "be". In a clause with an infinitive, they are auxiliaries, not copulas: *budem čítať*."""

    infinitive: re.Pattern[str] = _NEVER
    """Infinitives of any verb."""

    infinitives: frozenset[str] = frozenset()
    """Forms of the infinitive "to be". An adjective with such a form describes the speaker if the clause has
    a first-person verb."""

    openers: frozenset[str] = frozenset()
    """Words that start a new clause without a comma before them."""

    ambiguous: frozenset[str] = frozenset()
    """Participles that are also nouns or adjectives. They count only if the clause has no other participle or adjective
    that can be the predicate."""

    agreeing: dict[str, Gender] = field(default_factory=dict)
    """Words that agree with the subject of their clause: *rád*, *sama*."""

    pronouns: frozenset[str] = frozenset()
    """Nominative "I"."""

    shared_auxiliaries: frozenset[str] = frozenset()
    """Auxiliaries with the same form in all persons. They count as first person unless the clause has another subject
    than the speaker."""

    other_subjects: frozenset[str] = frozenset()
    """Words that show that the subject of the clause is not the speaker."""

    other_persons: re.Pattern[str] = _NEVER
    """Verbs in the second person, whose subject is not the speaker."""

    demonstratives: frozenset[str] = frozenset()
    demonstratives_with: frozenset[str] = frozenset()
    """`demonstratives` are words for "this". At the start of a clause, such a word is the subject of the participles in
    `demonstratives_with` (forms of "be"): *to bi bil dober načrt*."""

    not_shared: frozenset[str] = frozenset()
    """Words such as "me". In a clause with such a word, the subject of an auxiliary in `shared_auxiliaries` is not the
    speaker. After a clause with such a word, a *that*-clause has a new subject."""

    not_subject_after: frozenset[str] = frozenset()
    """Words such as "than" and "in". After such a word, "I" or "myself" is not the subject: *than I*, *in myself*."""

    def find_cues(self, sentence: Sequence[str]) -> Iterator[Cue]:
        """Yield the cues (words that mark the speaker's gender) of a sentence, clause by clause."""
        previous_is_other = False
        for clause in split_clauses(sentence, self.openers):
            first_person = clause.contains_word_of(self.auxiliaries) or clause.contains_word_of(self.pronouns)
            # A clause that starts with "that" keeps the subject of the clause before it ("mother said that she would
            # come"), unless the earlier clause contains "me" ("mother told me that …").
            same_subject = previous_is_other and clause.words[0] in self.openers
            other = same_subject or self._has_other_subject(clause)
            for position in clause.positions:
                cue = self._find_cue(clause, position, first_person=first_person, other=other)
                if cue:
                    yield cue
            previous_is_other = other and not first_person and not clause.contains_word_of(self.not_shared)

    def _find_cue(self, clause: Clause, position: int, *, first_person: bool, other: bool) -> Cue | None:
        word = clause.sentence[position]
        is_auxiliary = word in self.auxiliaries
        if not is_auxiliary and clause.get_word_before(position) in self.not_subject_after:
            return None
        if is_auxiliary and word in self.agreeing and self._is_adjective(clause, position):
            return clause.build_cue("agreeing word", self.agreeing[word], position)
        shared = word in self.shared_auxiliaries and (
            first_person or not (other or clause.contains_word_of(self.not_shared))
        )
        if is_auxiliary or shared:
            participle = self._find_participle(clause, position)
            if participle and (
                is_auxiliary or first_person or not self._has_noun_subject(clause, position, participle)
            ):
                ambiguous = clause.sentence[participle[0]] in self.ambiguous
                if not ambiguous or self._find_adjective(clause, position) is None:
                    return clause.build_cue("participle", participle[1], participle[0], position)
        first_person_verb = not other and self._has_first_person(clause)
        if self._is_copula(clause, position) or (first_person_verb and word in self.infinitives):
            adjective = self._find_adjective(clause, position)
            return clause.build_cue("predicate adjective", adjective[1], adjective[0], position) if adjective else None
        if word not in self.agreeing or is_auxiliary:
            return None
        if first_person or (first_person_verb and not self._follows_noun(clause, position)):
            return clause.build_cue("agreeing word", self.agreeing[word], position)
        return None

    def _find_participle(self, clause: Clause, auxiliary: int) -> tuple[int, Gender] | None:
        """Return the index and gender of the participle that belongs to the auxiliary at index `auxiliary`.

        It is the participle with the minimum distance in words, after the penalties are added.
        """
        best: tuple[int, int, Gender] | None = None
        for position in clause.positions:
            word = clause.sentence[position]
            gender = self.participle(word)
            if gender is None or self._belongs_to_other_subject(clause, auxiliary, (position, gender)):
                continue
            between = clause.sentence[min(position, auxiliary) : max(position, auxiliary)]
            cost = abs(position - auxiliary)
            cost += _ACROSS_COORDINATOR * (not self.predicates.coordinators.isdisjoint(between))
            cost += _AMBIGUOUS * (word in self.ambiguous)
            if best is None or cost < best[0]:
                best = cost, position, gender
        return best and (best[1], best[2])

    def _find_adjective(self, clause: Clause, copula: int) -> tuple[int, Gender] | None:
        """Return the index and gender of the predicate adjective that is nearest to the copula at index `copula`."""
        reach = _INFINITIVE_REACH if clause.sentence[copula] in self.infinitives else len(clause.sentence)
        adjectives = (
            adjective
            for adjective in self.predicates.find_adjectives(clause)
            if abs(adjective[0] - copula) <= reach and not self._belongs_to_other_subject(clause, copula, adjective)
        )
        return min(adjectives, key=lambda adjective: abs(adjective[0] - copula), default=None)

    def _is_copula(self, clause: Clause, position: int) -> bool:
        """Return whether a word is a copula; a future form of "be" with an infinitive is an auxiliary, not a copula."""
        word = clause.sentence[position]
        if word not in self.futures:
            return word in self.copulas
        return not any(self.infinitive.search(near) and near not in self.infinitives for near in clause.words)

    def _is_adjective(self, clause: Clause, position: int) -> bool:
        """Return whether a homonym of "am" and "alone" means "alone", like the first *sam* in *sam sam to napravio*.

        The auxiliary is never the first word of its clause, and a clause has only one auxiliary.
        """
        if position == clause.start:
            return True
        others = [near for near in clause.positions if clause.sentence[near] in self.auxiliaries and near != position]
        return bool(others) and (position + 1 == clause.end or position + 1 in others)

    def _belongs_to_other_subject(self, clause: Clause, verb: int, predicate: tuple[int, Gender]) -> bool:
        return self.predicates.has_other_subject(clause, verb, predicate, self.other_subjects)

    def _has_noun_subject(self, clause: Clause, position: int, participle: tuple[int, Gender]) -> bool:
        """Return whether a noun at the clause's start is the subject of the auxiliary, as in *sosed bi bil vesel*."""
        participle_position, gender = participle
        opening = clause.sentence[clause.start]
        if opening in self.demonstratives:
            return clause.sentence[participle_position] in self.demonstratives_with
        if participle_position == clause.start or opening in self.agreeing:
            return False
        return position == clause.start + 1 and self._is_noun(opening, gender)

    def _follows_noun(self, clause: Clause, position: int) -> bool:
        """Return whether the word at `position` agrees with a noun before it, as *ráda* in *dcera ráda čte*."""
        gender = self.agreeing[clause.sentence[position]]
        return position == clause.start + 1 and self._is_noun(clause.sentence[clause.start], gender)

    def _is_noun(self, word: str, gender: Gender) -> bool:
        return word not in self.predicates.function_words and self.predicates.noun(word, gender)

    def _has_first_person(self, clause: Clause) -> bool:
        function_words = self.predicates.function_words
        return any(word not in function_words and self.first_person.search(word) for word in clause.words)

    def _has_other_subject(self, clause: Clause) -> bool:
        return clause.contains_word_of(self.other_subjects) or any(
            self.other_persons.search(word) for word in clause.words
        )
