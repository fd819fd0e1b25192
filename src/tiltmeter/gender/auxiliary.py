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

_NEVER = re.compile("(?!)")


@dataclass(frozen=True)
class AuxiliaryGrammar:
    """Rules of one language; every list holds cleaned word forms."""

    auxiliaries: frozenset[str]
    """First person singular forms of the auxiliary, negated ones too."""

    participle: WordGender
    predicates: Predicates

    copulas: frozenset[str]
    """First person singular forms of "be" that take a predicate adjective: present and future."""

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

    objects: frozenset[str] = frozenset()
    """Forms of "me": beside a shared auxiliary they say that somebody else acts."""

    not_subject_after: frozenset[str] = frozenset()
    """Words after which "I" or an agreeing word is not the subject: *than I*, *in myself*."""

    def cues(self, sentence: Sequence[str]) -> Iterator[Cue]:
        """Every cue of a sentence, clause by clause."""
        for start, end in clauses(sentence, self.openers):
            clause = sentence[start:end]
            speaks = any(word in self.auxiliaries or word in self.pronouns for word in clause)
            other = any(word in self.other_subjects or self.other_persons.search(word) for word in clause)
            for position in range(start, end):
                cue = self._cue(sentence, position, start, end, speaks=speaks, other=other)
                if cue:
                    yield cue

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
            if participle:
                return self._pair(sentence, position, *participle, "participle")
        if word in self.copulas or (word in self.infinitives and self._wants(sentence, start, end, other)):
            adjectives = self.predicates.find(sentence, start, end)
            adjective = min(adjectives, key=lambda found: abs(found[0] - position), default=None)
            if adjective:
                return self._pair(sentence, position, *adjective, "predicate adjective")
        elif not own and word in self.agreeing and (speaks or self._wants(sentence, start, end, other)):
            before = sentence[position - 1] if position > start else ""
            # A noun right before it is its subject: "dcera ráda čte".
            noun = before not in self.predicates.function_words and self.predicates.noun(before, self.agreeing[word])
            if speaks or not before or not noun:
                return Cue(self.agreeing[word], (word,), "agreeing word", position)
        return None

    def _participle(self, sentence: Sequence[str], at: int, start: int, end: int) -> tuple[int, Gender] | None:
        best: tuple[int, int, Gender] | None = None
        for position in range(start, end):
            gender = self.participle(sentence[position])
            if gender is None:
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

    def _wants(self, sentence: Sequence[str], start: int, end: int, other: bool) -> bool:
        """Whether the clause has a verb in the first person and no other subject."""
        return not other and any(self.first_person.search(word) for word in sentence[start:end])

    def _is_adjective(self, sentence: Sequence[str], position: int, start: int, end: int) -> bool:
        """Whether a form that is both "am" and "alone" is the adjective: *sam* in *mogu to sam*.

        The auxiliary is never the first word of its clause, and there is one of it.
        """
        if position == start:
            return True
        if any(sentence[other] in self.auxiliaries for other in range(start, end) if other != position):
            return position + 1 == end or sentence[position + 1] in self.auxiliaries
        before = sentence[start:position]
        return (
            any(self.first_person.search(word) for word in before)
            and not any(word in self.predicates.coordinators or word in self.pronouns for word in before)
            and self._participle(sentence, position, start, end) is None
        )

    @staticmethod
    def _pair(sentence: Sequence[str], at: int, position: int, gender: Gender, rule: str) -> Cue:
        first, second = sorted((at, position))
        return Cue(gender, (sentence[first], sentence[second]), rule, position)
