"""The estimated quality of an item, from its open problems and second opinions, so that reviewers start with the worst.

The estimate only orders the items. It is not a probability, and it is not compared between projects.
"""

from collections.abc import Iterable, Mapping

from tiltmeter.making.draft import group_by_item
from tiltmeter.making.open_problems import OpenProblem, ProblemKind
from tiltmeter.making.quality.quality_tables import SecondOpinion
from tiltmeter.making.quality.untranslated_text import UNTRANSLATED

# The factor by which each reason multiplies the estimate, by its kind. Untranslated text counts more than another open
# problem, because the item cannot be used.
_FACTORS: Mapping[ProblemKind, float] = {"error": 0.2, "open": 0.6, "proposed": 0.8, "warning": 0.9}
_UNTRANSLATED_FACTOR = 0.4


def estimate_qualities(problems: Iterable[OpenProblem], opinions: Iterable[SecondOpinion]) -> dict[str, float]:
    """Return the estimated quality of each item with an open problem or a second opinion."""
    own = group_by_item(problem for problem in problems if problem.step != "review")
    similarities = {item: [one.similarity for one in found] for item, found in group_by_item(opinions).items()}
    items = dict.fromkeys([*own, *similarities])
    return {item: estimate_quality(own.get(item, ()), similarities.get(item, ())) for item in items}


def estimate_quality(problems: Iterable[OpenProblem], similarities: Iterable[float] = ()) -> float:
    """Return the estimated quality of an item, from 0 to 1; 1 if it has no problem and no second opinion differs.

    `similarities` are those of the second opinions; the lowest one counts.

    >>> estimate_quality([]), estimate_quality([], [0.5, 0.9])
    (1.0, 0.75)
    """
    reasons = {(problem.reason, problem.kind) for problem in problems}
    quality = 1.0
    for reason, kind in reasons:
        quality *= _UNTRANSLATED_FACTOR if reason == UNTRANSLATED else _FACTORS[kind]
    # The translations of a good item often differ in words, so a low similarity at most halves the estimate.
    quality *= 0.5 + 0.5 * min(similarities, default=1.0)
    return round(quality, 4)
