"""The tables of a comparison of languages, for the terminal, the HTML page and LaTeX."""

from collections.abc import Iterator

from tiltmeter.comparing.language_comparison import LanguageAnalysis, LanguageComparison
from tiltmeter.comparing.language_results import ContrastEstimate, GroupEffect, LanguageDifference, LanguageMean
from tiltmeter.comparing.language_validity import MeasureCorrelation, VarianceComponent
from tiltmeter.measures.joint_test import JointTest
from tiltmeter.measures.records import OVERALL
from tiltmeter.reports.formatting import format_p
from tiltmeter.reports.language_names import get_language_name
from tiltmeter.reports.text_table import TextTable

# Variance components in plain words.
_COMPONENTS = {
    "item": "item: some items are more stereotypical in all languages",
    "item × language": "item × language: the same item differs between languages",
    "item × model": "item × model: some items differ between models, in all languages",
    "language": "language: the means of languages differ",
    "model": "model: the means of models differ",
    "model × language": "model × language: the differences of languages depend on the model",
    "residual": "residual: all other variation of single answers",
}


def format_title(analysis: LanguageAnalysis) -> str:
    """Return the title of an analysis: the measure, the benchmark and the part."""
    part = "" if analysis.part in ("all", OVERALL) else f", {analysis.part}"
    return f"{analysis.quantity.name} by language, {analysis.subject}{part}"


def build_means_table(analysis: LanguageAnalysis) -> TextTable:
    """Return the table of language means, for the models of the runs and for similar models ("models like these")."""
    like = {mean.language: mean for mean in analysis.like.means}
    rows = [
        [
            get_language_name(mean.language),
            str(mean.models),
            *_format_mean(analysis, mean),
            *_format_mean(analysis, like.get(mean.language)),
        ]
        for mean in sorted(analysis.these.means, key=lambda mean: -mean.value)
    ]
    heads = ("language", "models", "mean", "95% interval", "models like these", "95% interval of these")
    return TextTable("Language means", heads, rows, optional=("95% interval of these", "models like these"))


def build_differences_table(analysis: LanguageAnalysis) -> TextTable:
    """Return the table of differences between languages, the largest first; bold if significant for these models."""
    like = {(one.left, one.right): one.estimate for one in analysis.like.differences}
    listed = sorted(analysis.these.differences, key=lambda one: -abs(one.estimate.value))
    rows = [
        [
            _format_pair(one),
            *_format_estimate(analysis, one.estimate, _find_sign(one)),
            *_format_estimate(analysis, like.get((one.left, one.right)), _find_sign(one)),
        ]
        for one in listed
    ]
    heads = ("languages", "diff", "95% interval", "Holm", "models like these", "interval of these", "Holm of these")
    bold = frozenset(number for number, one in enumerate(listed) if one.estimate.significant)
    return TextTable("Differences between languages", heads, rows, bold, optional=heads[:3:-1])


def build_groups_table(analysis: LanguageAnalysis) -> TextTable:
    """Return the table of group effects, for example of multilingual and monolingual models."""
    rows = [
        [
            _format_group(effect),
            *_format_estimate(analysis, effect.these),
            *_format_estimate(analysis, effect.like),
        ]
        for effect in analysis.groups
    ]
    heads = ("groups", "diff", "95% interval", "Holm", "models like these", "interval of these", "Holm of these")
    bold = frozenset(number for number, effect in enumerate(analysis.groups) if effect.these.significant)
    return TextTable("Groups of models and of languages", heads, rows, bold, optional=heads[:3:-1])


def build_variance_table(analysis: LanguageAnalysis) -> TextTable:
    """Return the table of variance components, as shares of the variance of single answers."""
    rows = [
        [_COMPONENTS.get(one.name, one.name), f"{100 * one.share:.1f}%", _format_share_interval(one)]
        for one in analysis.components
    ]
    return TextTable("Variance of single answers", ("source", "share", "95% interval"), rows)


def build_correlations_table(analysis: LanguageAnalysis) -> TextTable:
    """Return the table of correlations of item effects between languages, corrected for unreliability."""
    correlations = analysis.invariance.correlations if analysis.invariance else ()
    rows = [
        [
            f"{get_language_name(one.left)} – {get_language_name(one.right)}",
            "–" if one.correlation is None else f"{one.correlation:.2f}",
            "–" if one.low is None or one.high is None else f"[{one.low:.2f}, {one.high:.2f}]",
            str(one.pairs),
        ]
        for one in correlations
    ]
    heads = ("languages", "correlation of items", "95% interval", "pairs of models")
    return TextTable("Is it the same test in all languages?", heads, rows, optional=("pairs of models",))


def build_measures_table(comparison: LanguageComparison) -> TextTable:
    """Return the table of correlations between measures and parts over models."""
    rows = [
        [
            f"{one.left} – {one.right}",
            str(one.models),
            f"{one.correlation:.2f}",
            _format_ends(one.low, one.high),
            "–" if one.partial is None else f"{one.partial:.2f}",
            _format_ends(one.partial_low, one.partial_high),
        ]
        for one in comparison.correlations
    ]
    heads = ("measures", "models", "correlation", "95% interval", "partial", "interval of partial")
    bold = frozenset(number for number, one in enumerate(comparison.correlations) if _excludes_zero(one))
    return TextTable(
        "Correlations between measures over models", heads, rows, bold, optional=("interval of partial", "partial")
    )


def list_detail_tables(analysis: LanguageAnalysis) -> Iterator[TextTable]:
    """Yield the tables after the language means that have rows."""
    builders = (build_differences_table, build_groups_table, build_variance_table, build_correlations_table)
    yield from (table for build in builders if (table := build(analysis)).rows)


def build_overview_table(comparison: LanguageComparison) -> TextTable:
    """Return a table with one row for each analysis: the largest difference and the joint tests.

    The protocol is in the table only if the analysis is repeated for each protocol.
    """
    analyses = comparison.analyses
    rows = [
        [
            analysis.quantity.name,
            analysis.part,
            analysis.protocol if comparison.over_protocols else "",
            *_format_largest(analysis),
            _format_joint_p(analysis.these.joint),
            _format_joint_p(analysis.like.joint),
        ]
        for analysis in analyses
    ]
    heads = ("measure", "part", "protocol", "languages", "largest diff", "95% interval", "p", "p, like these")
    bold = frozenset(n for n, one in enumerate(analyses) if one.these.joint is not None and one.these.joint.significant)
    return TextTable("All analyses", heads, rows, bold, labels=2, optional=("95% interval",))


def _format_largest(analysis: LanguageAnalysis) -> list[str]:
    largest = analysis.these.largest
    if largest is None:
        return ["", "", ""]
    return [_format_pair(largest), *_format_estimate(analysis, largest.estimate, _find_sign(largest))[:2]]


def _format_joint_p(joint: JointTest | None) -> str:
    return "" if joint is None else format_p(joint.p_holm)


def _format_mean(analysis: LanguageAnalysis, mean: LanguageMean | None) -> list[str]:
    if mean is None:
        return ["", ""]
    number = analysis.quantity.measure.number
    return [number(mean.value), f"[{number(mean.low)}, {number(mean.high)}]"]


def _format_estimate(analysis: LanguageAnalysis, estimate: ContrastEstimate | None, sign: int = 1) -> list[str]:
    """Return the cells of an estimate; with the sign -1, the sides of the difference are exchanged."""
    if estimate is None:
        return ["", "", ""]
    number = analysis.quantity.measure.number
    low, high = sorted((sign * estimate.low, sign * estimate.high))
    ends = f"[{number(low, signed=True)}, {number(high, signed=True)}]"
    return [number(sign * estimate.value, signed=True), ends, format_p(estimate.p_holm)]


def _find_sign(difference: LanguageDifference) -> int:
    """Return -1 if the sides of a difference are exchanged in tables, so that the higher language is first."""
    return -1 if difference.estimate.value < 0 else 1


def _format_pair(difference: LanguageDifference) -> str:
    names = [get_language_name(difference.left), get_language_name(difference.right)]
    return " − ".join(names[:: _find_sign(difference)])


def _format_group(effect: GroupEffect) -> str:
    if not effect.left and not effect.right:
        return f"{effect.attribute}: ten times larger"
    return f"{effect.attribute}: {effect.left} − {effect.right} ({effect.members})"


def _format_share_interval(component: VarianceComponent) -> str:
    return f"[{100 * component.low:.1f}, {100 * component.high:.1f}]"


def _format_ends(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"[{low:.2f}, {high:.2f}]"


def _excludes_zero(correlation: MeasureCorrelation) -> bool:
    low, high = correlation.low, correlation.high
    return low is not None and high is not None and (low > 0 or high < 0)
