"""The grammar of the languages in which the pronoun says "I": Belarusian, Russian and Ukrainian.

The past tense has no personal ending, so the speaker's gender is in the past verb (*я прийшла*) or the adjective
(*я рада*, *я сильный*) of a clause with я, in a past verb with no subject at all, or in a word that agrees with the
speaker (*один*, *сама*).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tiltmeter.gender.clauses import Clause, Cue, Gender, Predicates, WordGender, clauses

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
        found = list(clauses(sentence, self.openers))
        for index, clause in enumerate(found):
            if _I not in clause.words and (index == 0 or _I in found[index - 1].words):
                cue = self._dropped(clause)
                if cue:
                    yield cue
            for position in clause.positions:
                excluded = clause.before(position) in self.not_subject_after
                if sentence[position] == _I:
                    if excluded and position == clause.end - 1:
                        continue  # "than I", but not "than I thought"
                    cue = self._subject(clause, position)
                    if cue is None and position == clause.end - 1 and index + 2 < len(found):
                        # "I, as always, was late": the predicate comes after what is inserted.
                        cue = self._subject(found[index + 2], position)
                else:
                    cue = None if excluded else self._other_cue(clause, position)
                if cue:
                    yield cue

    def _subject(self, clause: Clause, at: int) -> Cue | None:
        """The past verb or else the adjective that goes with я, which is at `at`."""
        best: tuple[int, int, Gender] | None = None
        for position in clause.positions:
            gender = self._past_at(clause, position, at)
            if gender is None:
                continue
            cost = position - at if position > at else _BEFORE + at - position
            cost += _AMBIGUOUS * (clause.sentence[position] in self.ambiguous)
            if best is None or cost < best[0]:
                best = cost, position, gender
        if best:
            return clause.cue("past tense", best[2], best[1], at)
        # In a clause that goes on after something inserted, the adjective is beside its start.
        found = self.predicates.next_to(clause, at if at in clause.positions else clause.start - 1)
        return clause.cue("predicate adjective", found[1], found[0], at) if found else None

    def _past_at(self, clause: Clause, position: int, at: int) -> Gender | None:
        """The gender of a past verb that may go with я at `at`."""
        word, before = clause.sentence[position], clause.before(position)
        gender = self.past(word)
        if gender is None or before in self.predicates.prepositions or self.noun_after.search(before):
            return None
        between = clause.sentence[at + 1 : position]
        if word in self.ambiguous and any(self.first_person.search(near) for near in between):
            return None  # "I do my дела": the clause has its verb
        if self.predicates.has_other_subject(clause, at, (position, gender), self.other_subjects):
            return None
        return gender

    def _dropped(self, clause: Clause) -> Cue | None:
        """The past verb of a clause that opens with it and has no word that could be its subject."""
        opening = (place for place in clause.positions if not self._is_light(clause.sentence[place]))
        position = next(opening, clause.start)
        verb = clause.sentence[position]
        gender = self.past(verb)
        if gender is None or verb in self.ambiguous or verb.endswith(self.neuter):
            return None
        if clause.has(self.objects) or clause.has(self.other_subjects):
            return None
        after = position
        if verb in self.predicates.function_words:
            # "Was" alone tells of what there was; the speaker is meant if it has an adjective: *была рада*.
            adjective = self.predicates.next_to(clause, position)
            if adjective is None:
                return None
            after = adjective[0]
        if self._has_subject(clause, after, gender):
            return None
        return clause.cue("past tense without subject", gender, position)

    def _has_subject(self, clause: Clause, after: int, gender: Gender) -> bool:
        """Whether a noun that agrees follows, outside prepositional phrases and the objects of an infinitive."""
        prepositions = self.predicates.prepositions
        for position in range(after + 1, clause.end):
            word = clause.sentence[position]
            if word.endswith(self.infinitive_endings):
                return False
            if word in self.predicates.function_words or word in prepositions or word.endswith(self.oblique_endings):
                continue
            in_phrase = not prepositions.isdisjoint(clause.sentence[max(after, position - 2) : position])
            if not in_phrase and self.predicates.noun(word, gender):
                return True
        return False

    def _other_cue(self, clause: Clause, position: int) -> Cue | None:
        """A word that agrees with the speaker, or the adjective of a copula, in a clause about the speaker."""
        word = clause.sentence[position]
        if word not in self.agreeing and word not in self.copulas:
            return None
        if clause.has(self.other_subjects) or not any(self.first_person.search(near) for near in clause.words):
            return None
        if word in self.agreeing:
            if self._is_numeral(clause, position):
                return None
            return clause.cue("agreeing word", self.agreeing[word], position)
        for predicates in filter(None, (self.instrumental, self.predicates)):
            found = predicates.next_to(clause, position)
            if found:
                return clause.cue("predicate adjective", found[1], found[0], position)
        return None

    def _is_numeral(self, clause: Clause, position: int) -> bool:
        """Whether "one" counts a noun or is part of "one and the same"."""
        following = clause.sentence[position + 1 : min(position + 3, clause.end)]
        if "той" in following or "тот" in following:
            return True
        word = clause.after(position)
        if not word or word in self.predicates.function_words:
            return False
        if word.endswith(self.oblique_endings + self.infinitive_endings):
            return False
        return self.predicates.noun(word, self.agreeing[clause.sentence[position]])

    def _is_light(self, word: str) -> bool:
        return word in self.light_words or word in self.predicates.coordinators
