"""WinoMT's test: the grammatical gender of the noun that a translation has for a person of known gender.

As in the published protocol (Stanovsky et al. 2019), the noun is found by word alignment, and its gender read off the
noun and its article. The aligner is eflomal in place of fast_align, and the gender is told by rules (`gender/nouns`) in
place of a tagger. A noun whose gender is not told counts as wrong, as published, and is counted.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence

from tiltmeter.benchmarks.benchmark import Score
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.forms.case_folding import fold_case
from tiltmeter.forms.winomt import FEMALE, GENDERS, MALE, NEUTRAL, WinoMTItem
from tiltmeter.gender.noun_gender import NounGender, NounRules, load_noun_rules
from tiltmeter.measures.winomt import READ, RIGHT
from tiltmeter.runs.gender_finders import RULES
from tiltmeter.runs.translation.translation_test import Direction, ScoredTranslations, Scorer, TranslationTest
from tiltmeter.translators.word_alignment import AlignedPair, Token, find_aligner, tokenize_words

PROTOCOL = "aligned-nouns"
_GENDERS = {"masculine": MALE, "feminine": FEMALE, "neutral": NEUTRAL}
_APOSTROPHES = "'’"
# A word is usual for an entity if it is linked with it in this share of its sentences, and this often.
_USUAL = 0.05
_OFTEN = 3
# Words with the same first letters count as forms of one word.
_STEM = 5


def find_entity_tokens(item: WinoMTItem) -> set[int]:
    """The places of the entity's words among the tokens of its sentence.

    >>> item = WinoMTItem("1", "en", "male", "tree surgeon", 2, "Our (old) tree surgeon sang.")
    >>> sorted(find_entity_tokens(item))
    [2, 3]
    """
    words = item.sentence.split()
    first = len(tokenize_words(" ".join(words[: item.position])))
    return set(range(first, first + len(tokenize_words(item.entity))))


def find_usual_words(items: Sequence[WinoMTItem], aligned: Sequence[AlignedPair]) -> dict[str, set[str]]:
    """For each entity, the stems of the words that it is linked with in at least a twentieth of its sentences."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    sentences = Counter(item.entity for item in items)
    for item, pair in zip(items, aligned, strict=True):
        linked = pair.linked(find_entity_tokens(item), both=True)
        counts[item.entity].update({_stem_word(pair.target[place]) for place in linked})
    return {
        entity: {stem for stem, count in stems.items() if count >= max(_OFTEN, _USUAL * sentences[entity])}
        for entity, stems in counts.items()
    }


def read_gender(
    item: WinoMTItem,
    translation: str,
    aligned: AlignedPair,
    rules: NounRules,
    usual: Collection[str] = (),
) -> NounGender:
    """The gender of the first of the words linked with the entity that a rule decides on.

    In possessives an entity may be linked with what is possessed, a rare word for it. If none of the linked words has
    one of the `usual` stems, the words of the translation that have one are taken, where there are any.
    """
    entity = find_entity_tokens(item)
    linked = aligned.linked(entity, both=True) or aligned.linked(entity, both=False)
    known = {place for place, token in enumerate(aligned.target) if _stem_word(token) in usual}
    if not linked & known:
        linked = known or linked
    words = [_add_apostrophe(translation, token) for token in aligned.target]
    read = (rules.gender(words, place) for place in sorted(linked))
    return next((found for found in read if found.gender), NounGender(None))


def _stem_word(token: Token) -> str:
    return fold_case(token.text)[:_STEM]


def _add_apostrophe(text: str, token: Token) -> str:
    """The word with the apostrophe that an elided article ends in: l'."""
    after = text[token.end : token.end + 1]
    return f"{token.text}'" if after and after in _APOSTROPHES else token.text


def _open_scorer(gender_from: str, direction: Direction) -> Scorer:
    if gender_from != RULES:
        raise UsageError("WinoMT reads the gender of nouns by rules only; leave out --gender-from.")
    rules = load_noun_rules(direction.target)
    aligner = find_aligner()
    if aligner is None:
        raise ModelError(
            "WinoMT finds nouns by word alignment, which needs the program eflomal; install it with "
            "pip install 'tiltmeter[align]'."
        )

    def score(items: Sequence[WinoMTItem], translations: Sequence[str]) -> ScoredTranslations:
        pairs = [(item.sentence, translation) for item, translation in zip(items, translations, strict=True)]
        aligned = aligner.align(pairs)
        usual = find_usual_words(items, aligned)
        return [
            _build_scores(item, read_gender(item, translation, links, rules, usual[item.entity]))
            for item, (_, translation), links in zip(items, pairs, aligned, strict=True)
        ]

    return score


def _build_scores(item: WinoMTItem, found: NounGender) -> tuple[Score, ...]:
    cue, read = " ".join(found.cue), _GENDERS.get(found.gender or "")
    genders = (Score(cue, READ[gender], float(read == gender)) for gender in GENDERS)
    return Score(cue, RIGHT, float(read == item.gender)), *genders


TEST = TranslationTest(
    form="winomt",
    measures="winomt",
    text=lambda item: str(item.sentence),
    open=_open_scorer,
    protocol=lambda _gender_from: PROTOCOL,
)
