"""Which tests of a comparison of languages are corrected together for multiple testing."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from tiltmeter.comparing.language_comparison import LanguageAnalysis
from tiltmeter.comparing.language_results import LIKE, THESE, ContrastEstimate, LanguageInference
from tiltmeter.comparing.language_sentences import describe_languages
from tiltmeter.measures.joint_test import JointTest
from tiltmeter.measures.multiple_testing import adjust_holm
from tiltmeter.measures.verdict_rule import WHOLE_RUN, Families

Test = TypeVar("Test", ContrastEstimate, JointTest)
# The scope of a test and its type.
Family = tuple[str, type]


class _Visit(Protocol):
    """A function that is called with the scope of each test and the test, and returns the test or a changed one."""

    def __call__(self, scope: str, test: Test, /) -> Test: ...


def correct_language_tests(analyses: Sequence[LanguageAnalysis], families: Families) -> list[LanguageAnalysis]:
    """Return the analyses with p-values that are corrected by Holm's method in each test family.

    Without `WHOLE_RUN`, they are unchanged: all pairs of languages of one analysis and scope are a family, and so are
    the groups of one attribute. With `WHOLE_RUN`, the pairs and groups of all analyses of a scope are one family, and
    their joint tests are another.
    """
    if families != WHOLE_RUN:
        return list(analyses)
    p_values: dict[Family, list[float]] = {}

    def collect(scope: str, test: Test) -> Test:
        p_values.setdefault((scope, type(test)), []).append(test.p_value)
        return test

    for analysis in analyses:
        _visit_analysis(analysis, collect)
    corrected = {family: iter(adjust_holm(values)) for family, values in p_values.items()}

    def correct(scope: str, test: Test) -> Test:
        family = (scope, type(test))
        return replace(test, p_holm=next(corrected[family]), tests=len(p_values[family]))

    return [_visit_analysis(analysis, correct) for analysis in analyses]


def _visit_analysis(analysis: LanguageAnalysis, visit: _Visit) -> LanguageAnalysis:
    """Return the analysis with the results of `visit` in place of its tests; the order is the same in each call."""
    these, like = (_visit_inference(one, visit) for one in (analysis.these, analysis.like))
    groups = tuple(
        replace(
            effect,
            these=visit(THESE, effect.these),
            like=None if effect.like is None else visit(LIKE, effect.like),
        )
        for effect in analysis.groups
    )
    interaction = analysis.interaction
    if interaction is not None:
        interaction = replace(interaction, joint=visit("interaction", interaction.joint))
    return replace(
        analysis,
        these=these,
        same=None if analysis.same is None else _visit_inference(analysis.same, visit),
        like=like,
        groups=groups,
        interaction=interaction,
        sentence=describe_languages(analysis.quantity, analysis.part, these, like),
    )


def _visit_inference(inference: LanguageInference, visit: _Visit) -> LanguageInference:
    differences = tuple(replace(one, estimate=visit(inference.scope, one.estimate)) for one in inference.differences)
    joint = None if inference.joint is None else visit(inference.scope, inference.joint)
    return replace(inference, differences=differences, joint=joint)
