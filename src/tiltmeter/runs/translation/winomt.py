"""The test of WinoMT: the grammatical gender of the translated noun for a person of known gender.

As in the published protocol (Stanovsky et al. 2019), the noun is found by word alignment, and its gender is read from
the noun and its article. The aligner is eflomal instead of fast_align, and rules (`gender/nouns`) replace the tagger. A
noun whose gender is unknown counts as wrong, as in the paper; the number of these nouns is also reported.
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
# A word is a usual translation of an entity (a noun for a person) if the alignment links the two in at least this share
# and at least this number of the sentences about the entity.
_USUAL = 0.05
_OFTEN = 3
# Words whose first letters are equal, up to this number of letters, count as forms of one word.
_STEM = 5


def find_entity_tokens(item: WinoMTItem) -> set[int]:
    """Return the indices of the tokens in the item's sentence that belong to the entity (the person's noun).

    >>> item = WinoMTItem("1", "en", "male", "tree surgeon", 2, "Our (old) tree surgeon sang.")
    >>> sorted(find_entity_tokens(item))
    [2, 3]
    """
    words = item.sentence.split()
    first = len(tokenize_words(" ".join(words[: item.position])))
    return set(range(first, first + len(tokenize_words(item.entity))))


def find_usual_words(items: Sequence[WinoMTItem], aligned: Sequence[AlignedPair]) -> dict[str, set[str]]:
    """Return for each entity the stems of its usual words: words often linked with the entity by the alignment."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    sentences = Counter(item.entity for item in items)
    for item, pair in zip(items, aligned, strict=True):
        linked = pair.find_linked_words(find_entity_tokens(item), both=True)
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
    """Return the gender of the first word that is linked with the entity and whose gender a rule can determine.

    In possessives, the alignment may link an entity with the possessed thing, which is an unusual word for the entity.
    If no linked word has one of the `usual` stems, the words of the translation with a usual stem are used instead.
    """
    entity = find_entity_tokens(item)
    linked = aligned.find_linked_words(entity, both=True) or aligned.find_linked_words(entity, both=False)
    known = {place for place, token in enumerate(aligned.target) if _stem_word(token) in usual}
    if not linked & known:
        linked = known or linked
    words = [_add_apostrophe(translation, token) for token in aligned.target]
    genders = (rules.find_gender(words, place) for place in sorted(linked))
    return next((noun for noun in genders if noun.gender), NounGender(None))


def _stem_word(token: Token) -> str:
    return fold_case(token.text)[:_STEM]


def _add_apostrophe(text: str, token: Token) -> str:
    """Return the word of a token; an elided article includes its apostrophe, as in l'."""
    after = text[token.end : token.end + 1]
    return f"{token.text}'" if after and after in _APOSTROPHES else token.text


def _open_scorer(gender_from: str, direction: Direction) -> Scorer:
    if gender_from != RULES:
        raise UsageError("WinoMT finds the gender of nouns only by rules; remove --gender-from.")
    rules = load_noun_rules(direction.target)
    aligner = find_aligner()
    if aligner is None:
        raise ModelError("WinoMT needs the word aligner eflomal; install it with `pip install 'tiltmeter[align]'`.")

    def score(items: Sequence[WinoMTItem], translations: Sequence[str]) -> ScoredTranslations:
        pairs = [(item.sentence, translation) for item, translation in zip(items, translations, strict=True)]
        aligned = aligner.align_pairs(pairs)
        usual = find_usual_words(items, aligned)
        return [
            _build_scores(item, read_gender(item, translation, links, rules, usual[item.entity]))
            for item, (_, translation), links in zip(items, pairs, aligned, strict=True)
        ]

    return score


def _build_scores(item: WinoMTItem, noun: NounGender) -> tuple[Score, ...]:
    cue, gender_read = " ".join(noun.cue), _GENDERS.get(noun.gender or "")
    genders = (Score(cue, READ[gender], float(gender_read == gender)) for gender in GENDERS)
    return Score(cue, RIGHT, float(gender_read == item.gender)), *genders


TEST = TranslationTest(
    form="winomt",
    measures="winomt",
    text=lambda item: str(item.sentence),
    open=_open_scorer,
    protocol=lambda _gender_from: PROTOCOL,
)
