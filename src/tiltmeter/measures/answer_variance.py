"""Variance components of single answers: item, item × language, item × model, and residual.

Each component follows from the mean products of two answers to the same item that share both, one or none of language
and model. These moments do not need the same models in all languages. Each moment is a mean over items, so its standard
error accounts for the factors that items share.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures.crossed_answers import CrossedAnswers
from tiltmeter.measures.standard_errors import Floats

ITEM, ITEM_BY_LANGUAGE, ITEM_BY_MODEL, RESIDUAL = "item", "item × language", "item × model", "residual"


@dataclass(frozen=True, slots=True)
class AnswerMoments:
    """The mean products of two answers to one item, for each item; answers are centred by cell.

    `between` maps a pair of languages to the products of different models; the pair of a language with itself is
    included. Pairs of languages without two different models are absent. `same_model` are the products of one model in
    two languages, or None. `squares` are the squares of single answers.
    """

    between: dict[tuple[str, str], Floats]
    pairs: dict[tuple[str, str], int]
    same_model: Floats | None
    squares: Floats


def compute_answer_moments(crossed: CrossedAnswers) -> AnswerMoments:
    """Compute the products of pairs of answers to each item."""
    centred = crossed.centre_answers()
    between: dict[tuple[str, str], Floats] = {}
    pairs: dict[tuple[str, str], int] = {}
    same: list[Floats] = []
    names = crossed.language_names
    rows = {name: crossed.languages == name for name in names}
    for one, two in [*((name, name) for name in names), *combinations(names, 2)]:
        left, right = centred[rows[one]], centred[rows[two]]
        common = _match_models(crossed, rows[one], rows[two])
        products = (left[common[:, 0]] * right[common[:, 1]]).sum(axis=0)
        count = len(left) * len(right) - len(common)
        if count:
            between[one, two] = (left.sum(axis=0) * right.sum(axis=0) - products) / count
            pairs[one, two] = count // 2 if one == two else count
        if one != two and len(common):
            same.append(products / len(common))
    return AnswerMoments(between, pairs, np.mean(same, axis=0) if same else None, np.mean(centred**2, axis=0))


def _match_models(crossed: CrossedAnswers, first: NDArray[np.bool_], second: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the positions, within each language, of the cells of models that both languages have."""
    left, right = crossed.models[first].tolist(), crossed.models[second].tolist()
    positions = [(left.index(model), right.index(model)) for model in left if model in right]
    return np.array(positions, dtype=np.intp).reshape(-1, 2)


def list_item_components(moments: AnswerMoments) -> dict[str, Floats]:
    """Return the components with the value of each item; the component is the mean over items.

    ITEM and ITEM_BY_LANGUAGE are absent if no language, or no pair of languages, has two different models.
    """
    across = [values for (one, two), values in moments.between.items() if one != two]
    within = [values for (one, two), values in moments.between.items() if one == two]
    rest = moments.squares
    components: dict[str, Floats] = {}
    if across:
        components[ITEM] = np.mean(across, axis=0)
        rest = rest - components[ITEM]
        if within:
            components[ITEM_BY_LANGUAGE] = np.mean(within, axis=0) - components[ITEM]
            rest = rest - components[ITEM_BY_LANGUAGE]
        if moments.same_model is not None:
            components[ITEM_BY_MODEL] = moments.same_model - components[ITEM]
            rest = rest - components[ITEM_BY_MODEL]
    components[RESIDUAL] = rest
    return components
