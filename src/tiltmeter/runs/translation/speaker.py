"""The test of GEST: the grammatical gender of the speaker in translations; in English, of a third-person pronoun."""

import math
from collections.abc import Sequence

from tiltmeter.benchmarks.benchmark import Score
from tiltmeter.forms.gest import GestItem
from tiltmeter.measures.gest_mt import FEMININE, MASCULINE, ROLE
from tiltmeter.runs.gender_finders import get_gender_protocol, open_gender_finder
from tiltmeter.runs.translation.translation_test import Direction, ScoredTranslations, Scorer, TranslationTest

NOT_PARSED = "the CoNLL-U file has no parse of its translation"
_SCORES = {"masculine": MASCULINE, "feminine": FEMININE}


def _open_scorer(gender_from: str, direction: Direction) -> Scorer:
    find = open_gender_finder(gender_from, direction.target)

    def score(items: Sequence[GestItem], translations: Sequence[str]) -> ScoredTranslations:
        genders = [find(translation) for _item, translation in zip(items, translations, strict=True)]
        return [
            NOT_PARSED
            if gender is None
            else (Score(" ".join(gender.cue), ROLE, _SCORES.get(gender.gender or "", math.nan)),)
            for gender in genders
        ]

    return score


TEST = TranslationTest(
    form="gest",
    measures="gest_mt",
    text=lambda item: str(item.sentence),
    open=_open_scorer,
    protocol=get_gender_protocol,
)
