"""Sentences that answer how different the languages are."""

from collections.abc import Sequence
from dataclasses import dataclass

from tiltmeter.comparing.language_results import LanguageDifference, LanguageInference
from tiltmeter.comparing.language_validity import VarianceComponent
from tiltmeter.measures.answer_variance import RESIDUAL
from tiltmeter.measures.measure import Quantity, get_measure
from tiltmeter.measures.records import OVERALL
from tiltmeter.measures.verdict_rule import ALPHA


@dataclass(frozen=True, slots=True)
class AnswerParts:
    """The results that the answer for one measure and part is built from."""

    quantity: Quantity
    part: str
    these: LanguageInference
    like: LanguageInference
    components: Sequence[VarianceComponent]


def format_test(p_value: float) -> str:
    """Return a p-value in a sentence.

    >>> format_test(0.0321), format_test(0.00002)
    ('p = 0.032', 'p < 0.001')
    """
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"


def describe_languages(parts: AnswerParts) -> str:
    """Return one sentence: do the languages differ, by how much, for which models, and what varies most."""
    measure = parts.quantity.measure
    part = "" if parts.part == "all" else " over all parts" if parts.part == OVERALL else f", {parts.part}"
    claims = [_describe_these(parts.these, measure.name), _describe_like(parts.like, measure.name)]
    variance = _describe_variance(parts.components)
    return f"{measure.name}{part}: {'; '.join(filter(None, [*claims, variance]))}."


def _describe_these(inference: LanguageInference, name: str) -> str:
    largest = inference.largest
    if inference.joint is None or largest is None:
        return "the languages cannot be compared for these models"
    pairs, models = len(inference.differences), f"these {len(inference.models)} models"
    if inference.joint.p_value >= ALPHA and not inference.significant:
        return (
            f"no evidence that the languages differ for {models} ({format_test(inference.joint.p_value)}; the "
            f"largest difference is {format_difference(largest, name)})"
        )
    return (
        f"the languages differ for {models} ({format_test(inference.joint.p_value)}, {inference.significant} of "
        f"{pairs} pairs), at most by {format_difference(largest, name)}"
    )


def _describe_like(inference: LanguageInference, name: str) -> str:
    largest = inference.largest
    if inference.reason:
        return f"no statement on models like these: {inference.reason.rstrip('.')}"
    if inference.joint is None or largest is None:
        return ""
    test, difference = format_test(inference.joint.p_value), format_difference(largest, name)
    if inference.joint.p_value >= ALPHA:
        return f"no evidence that they differ for models like these ({test}; {difference})"
    return f"they differ for models like these too ({test}; {difference})"


def _describe_variance(components: Sequence[VarianceComponent]) -> str:
    """Return the largest sources of variance except the residual, and the share of language."""
    known = sorted((one for one in components if one.name != RESIDUAL), key=lambda one: -one.share)
    if not known:
        return ""
    named = [f"{one.name} {_format_share(one.share)}" for one in known[:2]]
    language = next((one for one in known if one.name == "language"), None)
    if language is not None and language not in known[:2]:
        named.append(f"language {_format_share(language.share)}")
    return f"shares of the variance of single answers: {', '.join(named)}"


def _format_share(share: float) -> str:
    return "below 0.1%" if share < 0.001 else f"{share:.1%}"


def format_difference(difference: LanguageDifference, measure: str) -> str:
    """Return a difference with its languages and interval, with the larger language first.

    >>> from tiltmeter.comparing.language_results import ContrastEstimate
    >>> found = ContrastEstimate(value=-2.0, low=-3.5, high=-0.5, standard_error=0.7, df=30, p_value=0.01, p_holm=0.01)
    >>> format_difference(LanguageDifference(left="de", right="en", estimate=found), "SS")
    'en − de +2.0 [0.5, 3.5]'
    """
    one, scale = difference.estimate, get_measure(measure)
    left, right, value, low, high = difference.left, difference.right, one.value, one.low, one.high
    if value < 0:
        left, right, value, low, high = right, left, -value, -high, -low
    return f"{left} − {right} {scale.number(value, signed=True)} [{scale.number(low)}, {scale.number(high)}]"
