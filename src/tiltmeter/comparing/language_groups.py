"""Effects of groups: models grouped by an attribute within languages, and languages grouped by an attribute.

For two groups of models, the effect is the mean over languages of the difference of the two groups, in the languages
that have both groups. Models that differ in an attribute may differ in others too, so an effect is not a cause.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tiltmeter.comparing.language_inference import build_estimates, build_language_design, explain_too_few_models
from tiltmeter.comparing.language_results import GroupEffect
from tiltmeter.measures.crossed_answers import CrossedAnswers
from tiltmeter.measures.estimates import Mean
from tiltmeter.measures.factors import Labels
from tiltmeter.measures.measure import Measure
from tiltmeter.measures.random_models import RandomModels, fit_random_models
from tiltmeter.measures.standard_errors import Floats

# The attribute of a slope by model size.
SIZE = "size"
# An attribute with more values than this number is not used to group models, because most groups have few members.
MOST_VALUES = 6
# Minimum number of models in each group for results on models like these (the scope LIKE).
FEWEST_OF_GROUP = 3

Members = Literal["models", "languages"]


@dataclass(frozen=True, slots=True)
class _Effect:
    """An effect before the correction for multiple tests."""

    left: str
    right: str
    left_members: tuple[str, ...]
    right_members: tuple[str, ...]
    these: Mean
    like: Mean | None
    reason: str


def estimate_group_effects(
    crossed: CrossedAnswers,
    fitted: RandomModels | None,
    of_models: Mapping[str, Mapping[str, str]],
    of_languages: Mapping[str, Mapping[str, str]],
    measure: Measure,
) -> Iterator[GroupEffect]:
    """Yield the differences of all pairs of groups by each attribute, corrected by Holm's method by attribute.

    `of_models` and `of_languages` map an attribute to the value of each model or language. `fitted` is the result of
    `fit_languages`.
    """
    for attribute, values in of_models.items():
        yield from _correct(attribute, "models", list(_compare_models(crossed, values)), measure)
    for attribute, values in of_languages.items():
        yield from _correct(attribute, "languages", list(_compare_languages(crossed, fitted, values)), measure)


def estimate_size_effect(
    crossed: CrossedAnswers, sizes: Mapping[str, float], measure: Measure
) -> Iterator[GroupEffect]:
    """Yield the slope of a measure by the logarithm (base 10) of model size, within languages."""
    known = np.array([model in sizes for model in crossed.models])
    used = crossed.where(np.flatnonzero(known))
    logarithms = np.log10([sizes[model] for model in used.models])
    design = build_language_design(used)
    if not len(logarithms):
        return
    centred = logarithms - design @ np.linalg.lstsq(design, logarithms, rcond=None)[0]
    if np.sum(centred**2) < 1e-6:
        return
    these = used.estimate_combination(centred / np.sum(centred**2))
    like, reason = _estimate_like(used, np.column_stack([design, logarithms]), len(sizes), len(sizes))
    effect = _Effect("", "", tuple(used.model_names), (), these, like, reason)
    yield from _correct(SIZE, "models", [effect], replace(measure, bounds=None))


def _compare_models(crossed: CrossedAnswers, values: Mapping[str, str]) -> Iterator[_Effect]:
    names = sorted({values[model] for model in crossed.model_names if model in values})
    if not 2 <= len(names) <= MOST_VALUES:
        return
    of_cells = np.array([values.get(model, "") for model in crossed.models], dtype=object)
    for one, two in combinations(names, 2):
        coefficients = _average_over_languages(crossed, of_cells == one, of_cells == two)
        if coefficients is None:
            continue
        part = crossed.where(np.flatnonzero(np.isin(of_cells, [one, two])))
        left, right = (tuple(name for name in part.model_names if values[name] == value) for value in (one, two))
        indicator = np.array([values[model] == one for model in part.models], dtype=np.float64)
        design = np.column_stack([build_language_design(part), indicator])
        like, reason = _estimate_like(part, design, len(left), len(right))
        yield _Effect(one, two, left, right, crossed.estimate_combination(coefficients), like, reason)


def _average_over_languages(
    crossed: CrossedAnswers, left: NDArray[np.bool_], right: NDArray[np.bool_]
) -> Floats | None:
    """Return the coefficients of the mean difference over the languages that have both groups; None without any."""
    rows = []
    for language in crossed.language_names:
        inside = crossed.languages == language
        if (left & inside).any() and (right & inside).any():
            rows.append((left & inside) / (left & inside).sum() - (right & inside) / (right & inside).sum())
    return np.mean(rows, axis=0) if rows else None


def _estimate_like(crossed: CrossedAnswers, design: Floats, left: int, right: int) -> tuple[Mean | None, str]:
    """Estimate the last fixed effect of a design for models like these, or return the reason why that is impossible."""
    if min(left, right) < FEWEST_OF_GROUP:
        return None, f"Results on models like these need at least {FEWEST_OF_GROUP} models in each group."
    if reason := explain_too_few_models(crossed):
        return None, reason
    if int(np.linalg.matrix_rank(design)) < design.shape[1]:
        return None, "No language has models of both groups."
    return fit_random_models(crossed, design).estimate_contrast(np.eye(design.shape[1])[-1]), ""


def _compare_languages(
    crossed: CrossedAnswers, fitted: RandomModels | None, values: Mapping[str, str]
) -> Iterator[_Effect]:
    names = sorted({values[name] for name in crossed.language_names if name in values})
    if len(names) < 2:
        return
    groups: Labels = np.array([values.get(name, "") for name in crossed.language_names], dtype=object)
    averages = crossed.average_languages()
    reason = explain_too_few_models(crossed)
    for one, two in combinations(names, 2):
        contrast = (groups == one) / (groups == one).sum() - (groups == two) / (groups == two).sum()
        members = (tuple(np.array(crossed.language_names)[groups == value].tolist()) for value in (one, two))
        left, right = members
        like = None if fitted is None else fitted.estimate_contrast(contrast)
        yield _Effect(one, two, left, right, crossed.estimate_combination(contrast @ averages), like, reason)


def _correct(attribute: str, members: Members, effects: Sequence[_Effect], measure: Measure) -> Iterator[GroupEffect]:
    these = build_estimates([effect.these for effect in effects], measure)
    like = iter(build_estimates([effect.like for effect in effects if effect.like is not None], measure))
    for effect, estimate in zip(effects, these, strict=True):
        yield GroupEffect(
            attribute=attribute,
            members=members,
            left=effect.left,
            right=effect.right,
            left_members=effect.left_members,
            right_members=effect.right_members,
            these=estimate,
            like=None if effect.like is None else next(like),
            reason=effect.reason,
        )
