"""Sentences that answer how different the languages are."""

from collections.abc import Sequence

from tiltmeter.comparing.language_results import LanguageDifference, LanguageInference
from tiltmeter.comparing.language_validity import VarianceComponent
from tiltmeter.datasets.language_facts import get_language_facts
from tiltmeter.measures.answer_variance import RESIDUAL
from tiltmeter.measures.joint_test import JointTest
from tiltmeter.measures.measure import Quantity, get_measure
from tiltmeter.measures.records import OVERALL


def format_test(p_value: float) -> str:
    """Return a p-value in a sentence.

    >>> format_test(0.0321), format_test(0.00002)
    ('p = 0.032', 'p < 0.001')
    """
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"


def format_joint_test(test: JointTest) -> str:
    """Return the p-value of a joint test in a sentence, with the number of tests if it is corrected.

    >>> format_joint_test(JointTest(statistic=4.0, df=2, df_error=30, p_value=0.029, p_holm=0.058, tests=2))
    'p = 0.058, corrected for 2 tests'
    """
    return format_test(test.p_holm) + (f", corrected for {test.tests} tests" if test.tests > 1 else "")


def describe_languages(quantity: Quantity, part: str, these: LanguageInference, like: LanguageInference) -> str:
    """Return one sentence: do the languages differ, by how much, and for which models."""
    measure = quantity.measure
    place = "" if part == "all" else " over all parts" if part == OVERALL else f", {part}"
    return f"{measure.name}{place}: {_describe_these(these, measure.name)}{_describe_like(these, like)}."


def _describe_these(inference: LanguageInference, name: str) -> str:
    largest = inference.largest
    if inference.joint is None or largest is None:
        return "the languages cannot be compared for these models"
    count = len(inference.models)
    models = f"these {count} models" if count > 1 else "this model"
    test, difference = format_joint_test(inference.joint), format_difference(largest, name)
    if not inference.differs:
        return (
            f"no evidence that the languages differ for {models} (largest difference: {difference}; joint test {test})"
        )
    pairs = len(inference.differences)
    share = f"{inference.significant} of {pairs} pairs, " if pairs > 1 else ""
    return f"the languages differ for {models} (largest difference: {difference}; {share}joint test {test})"


def _describe_like(these: LanguageInference, like: LanguageInference) -> str:
    """Return the clause on models like these; it is short if the conclusion is the same as for these models."""
    if like.reason:
        return "; no conclusion for other models like these, because there are too few models"
    if like.joint is None:
        return ""
    test = format_joint_test(like.joint)
    if these.differs == like.differs:
        return f", and the same is true for models like these ({test})"
    if like.differs:
        return f", but they differ for models like these ({test})"
    return f", but there is no evidence for models like these ({test})"


def describe_variance(components: Sequence[VarianceComponent]) -> str:
    """Return a sentence on the largest sources of variance except the residual, and on the share of language."""
    known = sorted((one for one in components if one.name != RESIDUAL), key=lambda one: -one.share)
    if not known:
        return ""
    named = [f"{one.name} {_format_share(one.share)}" for one in known[:2]]
    language = next((one for one in known if one.name == "language"), None)
    if language is not None and language not in known[:2]:
        named.append(f"language {_format_share(language.share)}")
    return f"Shares of the variance of single answers: {', '.join(named)}."


def _format_share(share: float) -> str:
    return "below 0.1%" if share < 0.001 else f"{share:.1%}"


def format_difference(difference: LanguageDifference, measure: str) -> str:
    """Return a difference with its languages and interval, with the larger language first.

    >>> from tiltmeter.comparing.language_results import ContrastEstimate
    >>> found = ContrastEstimate(value=-2.0, low=-3.5, high=-0.5, standard_error=0.7, df=30, p_value=0.01, p_holm=0.01)
    >>> format_difference(LanguageDifference(left="de", right="en", estimate=found), "SS")
    'English − German +2.0 [0.5, 3.5]'
    """
    one, scale = difference.estimate, get_measure(measure)
    left, right, value, low, high = difference.left, difference.right, one.value, one.low, one.high
    if value < 0:
        left, right, value, low, high = right, left, -value, -high, -low
    names = " − ".join(get_language_facts(code).name for code in (left, right))
    return f"{names} {scale.number(value, signed=True)} [{scale.number(low)}, {scale.number(high)}]"
