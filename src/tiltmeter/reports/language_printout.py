"""The output of `tiltmeter compare --languages`: the answer in one sentence, then means, tests and tables."""

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from tiltmeter.comparing.language_comparison import LanguageAnalysis, LanguageComparison
from tiltmeter.comparing.language_results import LanguageInference
from tiltmeter.comparing.language_sentences import describe_variance, format_joint_test
from tiltmeter.reports.formatting import format_count
from tiltmeter.reports.language_tables import (
    build_means_table,
    build_measures_table,
    build_overview_table,
    format_title,
    list_detail_tables,
)
from tiltmeter.reports.method_texts import describe_factors
from tiltmeter.reports.text_table import print_text_table

_METHOD = (
    "These models: the models are fixed, and the items are a sample{factors}; the mean of a language is the mean over "
    "its models. Models like these: the models are a sample, too (a mixed model with random effects of model and of "
    "model × language, fitted to the means of models with their sampling covariance). Holm: p, corrected for all pairs "
    "of languages in one measure and part, or for all tests of the comparison with --family run. Variance: by moments "
    "over pairs of answers. Correlations of items are between different models and are corrected for unreliability. "
    "docs/explanation/intervals-and-tests.md has the formulas."
)


def print_languages(comparison: LanguageComparison, console: Console, *, everything: bool = False) -> None:
    """Print the answer, the language means of each analysis, and the notes; all tables if `everything` is true."""
    for sentence in comparison.answers:
        console.print(Text(sentence, style="bold"))
    console.print()
    if len(comparison.analyses) > 1:
        print_text_table(build_overview_table(comparison), console)
        console.print()
    for analysis in comparison.analyses:
        _print_analysis(analysis, console, everything)
    table = build_measures_table(comparison)
    if everything and table.rows:
        print_text_table(table, console)
        console.print()
    for note in comparison.notes:
        console.print(Text(note))
    if not everything:
        console.print(Text("Add --all for the differences of all pairs, groups, variances and correlations."))
    console.print(Text(describe_language_method(comparison), style="dim"))


def describe_language_method(comparison: LanguageComparison) -> str:
    """Return a text that explains how languages were compared."""
    return _METHOD.format(factors=describe_factors(analysis.quantity for analysis in comparison.analyses))


def describe_analysis(analysis: LanguageAnalysis) -> Iterator[str]:
    """Yield sentences on an analysis: joint tests, interaction, variance, whether the test is the same, and quality."""
    for inference in filter(None, (analysis.these, analysis.same, analysis.like)):
        yield _describe_inference(analysis, inference)
    if analysis.interaction is not None:
        joint = analysis.interaction.joint
        verdict = "depend" if joint.significant else "do not depend significantly"
        models = format_count(len(analysis.interaction.models), "model")
        yield (
            f"The differences between languages {verdict} on the model ({format_joint_test(joint)}, {models} "
            "measured in all languages)."
        )
    if variance := describe_variance(analysis.components):
        yield variance
    if analysis.invariance is not None:
        yield analysis.invariance.sentence
        if analysis.invariance.reason:
            yield analysis.invariance.reason
    if analysis.quality is not None:
        yield analysis.quality.sentence


def _describe_inference(analysis: LanguageAnalysis, inference: LanguageInference) -> str:
    scope = inference.scope[0].upper() + inference.scope[1:]
    if inference.reason:
        return f"{scope}: {inference.reason}"
    models = format_count(len(inference.models), "model")
    if inference.joint is None:
        return f"{scope} ({models}): the languages cannot be tested, because the answers do not vary."
    verdict = "differ" if inference.joint.significant else "do not differ significantly"
    text = f"{scope} ({models}): languages {verdict} ({format_joint_test(inference.joint)})"
    tests = len(inference.differences)
    if tests > 1:
        text += f"; {inference.significant} of {tests} pairs differ significantly"
    if inference.deviations:
        number = analysis.quantity.measure.number
        between = ", ".join(f"{name} {number(value)}" for name, value in inference.deviations)
        text += f"; standard deviation between: {between}"
    return f"{text}."


def _print_analysis(analysis: LanguageAnalysis, console: Console, everything: bool) -> None:
    console.print(Text(format_title(analysis), style="bold"), soft_wrap=True)
    print_text_table(build_means_table(analysis), console, titled=False)
    for sentence in describe_analysis(analysis):
        console.print(Text(sentence))
    console.print()
    if everything:
        for table in list_detail_tables(analysis):
            print_text_table(table, console)
            console.print()
