"""Rules for languages that mark the first person by the pronoun я: Belarusian, Russian and Ukrainian.

The past tense has no personal ending. The speaker's gender is marked on the past verb (*я прийшла*) or the adjective
(*я рада*, *я сильный*) of a clause with я, on a past verb without a subject, or on a word that agrees with the
speaker (*один*, *сама*).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tiltmeter.gender.clauses import Clause, Cue, Gender, PredicateAdjectives, WordGender, split_clauses

_I = "я"

# The verb of я is the nearest past verb in words, after these penalties are added to the distance. A verb before я has
# the first penalty, because a verb usually follows its subject. A past form that is also a noun has the second penalty:
# in *я правила нарушил* ("I broke the rules"), *правила* is a noun. On the translations that GEST's authors released,
# values from 2 to 50 (first penalty) and 0 to 50 (second penalty) give the same genders.
_BEFORE = 5
_AMBIGUOUS = 20


@dataclass(frozen=True)
class PronounGrammar:
    """The rules for the speaker's gender in one language. All words are in the form that `normalise_text` returns."""

    past: WordGender
    """A function that maps a singular past verb to its gender."""

    predicates: PredicateAdjectives
    """The search for predicate adjectives in the nominative."""

    first_person: re.Pattern[str]
    """Words that show that the clause is about the speaker: я, forms of "me", first-person present verbs."""

    light_words: frozenset[str]
    """Particles and adverbs that may precede the verb at the start of a clause."""

    objects: frozenset[str]
    """Forms of "me". In a clause with such a form and without я, the past verb has another subject."""

    other_subjects: frozenset[str]
    """Words that show that the subject of the clause is not the speaker."""

    not_subject_after: frozenset[str]
    """Words such as "than" and "at". After such a word, "I" or "one" is not the subject: *than I*, *at one*."""

    infinitive_endings: tuple[str, ...]
    oblique_endings: tuple[str, ...]
    """Endings that a noun in the nominative singular cannot have."""

    openers: frozenset[str] = frozenset()
    """Words that start a new clause even without a comma before them."""

    agreeing: dict[str, Gender] = field(default_factory=dict)
    """Words that agree with the subject of their clause."""

    ambiguous: frozenset[str] = frozenset()
    """Past verb forms that are also nouns."""

    neuter: tuple[str, ...] = ()
    """Endings of past verbs that may be neuter and therefore impersonal: Belarusian *хацелася*."""

    noun_after: re.Pattern[str] = re.compile("(?!)")
    """Words (in addition to prepositions) after which a form that looks like a past verb is a noun."""

    copulas: frozenset[str] = frozenset()
    """Forms of "be" whose adjective describes the speaker: *буду рад*, *хочу быть сильной*."""

    instrumental: PredicateAdjectives | None = None
    """The search for predicate adjectives in the instrumental next to a copula."""

    def find_cues(self, sentence: Sequence[str]) -> Iterator[Cue]:
        """Yield the cues (words that mark the speaker's gender) of a sentence, clause by clause."""
        all_clauses = list(split_clauses(sentence, self.openers))
        for index, clause in enumerate(all_clauses):
            if _I not in clause.words and (index == 0 or _I in all_clauses[index - 1].words):
                cue = self._find_dropped_subject(clause)
                if cue:
                    yield cue
            for position in clause.positions:
                excluded = clause.get_word_before(position) in self.not_subject_after
                if sentence[position] == _I:
                    if excluded and position == clause.end - 1:
                        continue  # "than I": я is not a subject, unless a verb follows ("than I thought")
                    cue = self._find_subject_cue(clause, position)
                    if cue is None and position == clause.end - 1 and index + 2 < len(all_clauses):
                        # "I, as always, was late": the predicate is in the clause after the parenthesis.
                        cue = self._find_subject_cue(all_clauses[index + 2], position)
                else:
                    cue = None if excluded else self._find_other_cue(clause, position)
                if cue:
                    yield cue

    def _find_subject_cue(self, clause: Clause, pronoun: int) -> Cue | None:
        """Return the cue of the я ("I") at index `pronoun`: its past verb or, without such a verb, its adjective."""
        best: tuple[int, int, Gender] | None = None
        for position in clause.positions:
            gender = self._get_past_gender(clause, position, pronoun)
            if gender is None:
                continue
            cost = position - pronoun if position > pronoun else _BEFORE + pronoun - position
            cost += _AMBIGUOUS * (clause.sentence[position] in self.ambiguous)
            if best is None or cost < best[0]:
                best = cost, position, gender
        if best:
            return clause.build_cue("past tense", best[2], best[1], pronoun)
        # If я is in an earlier clause (before a parenthesis), the search for the adjective starts at the first word.
        adjective = self.predicates.find_adjective_next_to(
            clause, pronoun if pronoun in clause.positions else clause.start - 1
        )
        return clause.build_cue("predicate adjective", adjective[1], adjective[0], pronoun) if adjective else None

    def _get_past_gender(self, clause: Clause, position: int, pronoun: int) -> Gender | None:
        """Return the gender of the word at `position` if it can be the past verb of the я at index `pronoun`."""
        word, before = clause.sentence[position], clause.get_word_before(position)
        gender = self.past(word)
        if gender is None or before in self.predicates.prepositions or self.noun_after.search(before):
            return None
        between = clause.sentence[pronoun + 1 : position]
        if word in self.ambiguous and any(self.first_person.search(near) for near in between):
            return None  # in "I do my дела", the verb is the present form "do", so дела is a noun
        if self.predicates.has_other_subject(clause, pronoun, (position, gender), self.other_subjects):
            return None
        return gender

    def _find_dropped_subject(self, clause: Clause) -> Cue | None:
        """Return the cue of a clause without a subject: the past verb at the start of the clause."""
        opening = (index for index in clause.positions if not self._can_stand_before_verb(clause.sentence[index]))
        position = next(opening, clause.start)
        verb = clause.sentence[position]
        gender = self.past(verb)
        if gender is None or verb in self.ambiguous or verb.endswith(self.neuter):
            return None
        if clause.contains_word_of(self.objects) or clause.contains_word_of(self.other_subjects):
            return None
        after = position
        if verb in self.predicates.function_words:
            # "Was" alone means "there was". With an adjective, it describes the speaker: *была рада*.
            adjective = self.predicates.find_adjective_next_to(clause, position)
            if adjective is None:
                return None
            after = adjective[0]
        if self._has_subject(clause, after, gender):
            return None
        return clause.build_cue("past tense without subject", gender, position)

    def _has_subject(self, clause: Clause, after: int, gender: Gender) -> bool:
        """Return whether a noun of this gender follows the word at index `after`.

        Nouns in prepositional phrases and objects of an infinitive do not count.
        """
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

    def _find_other_cue(self, clause: Clause, position: int) -> Cue | None:
        """Return the cue of an agreeing word or a copula at index `position`, if the clause is about the speaker."""
        word = clause.sentence[position]
        if word not in self.agreeing and word not in self.copulas:
            return None
        if clause.contains_word_of(self.other_subjects) or not any(
            self.first_person.search(near) for near in clause.words
        ):
            return None
        if word in self.agreeing:
            if self._is_numeral(clause, position):
                return None
            return clause.build_cue("agreeing word", self.agreeing[word], position)
        for predicates in filter(None, (self.instrumental, self.predicates)):
            adjective = predicates.find_adjective_next_to(clause, position)
            if adjective:
                return clause.build_cue("predicate adjective", adjective[1], adjective[0], position)
        return None

    def _is_numeral(self, clause: Clause, position: int) -> bool:
        """Return whether "one" at index `position` is a numeral before a noun, or part of "one and the same"."""
        following = clause.sentence[position + 1 : min(position + 3, clause.end)]
        if "той" in following or "тот" in following:
            return True
        word = clause.get_word_after(position)
        if not word or word in self.predicates.function_words:
            return False
        if word.endswith(self.oblique_endings + self.infinitive_endings):
            return False
        return self.predicates.noun(word, self.agreeing[clause.sentence[position]])

    def _can_stand_before_verb(self, word: str) -> bool:
        return word in self.light_words or word in self.predicates.coordinators
