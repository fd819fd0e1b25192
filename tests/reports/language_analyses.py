"""Made comparisons of languages for tests of their outputs."""

from tiltmeter.comparing.language_comparison import LanguageAnalysis, LanguageComparison
from tiltmeter.comparing.language_results import (
    LIKE,
    THESE,
    CellValue,
    ContrastEstimate,
    GroupEffect,
    Interaction,
    LanguageDifference,
    LanguageInference,
    LanguageMean,
    Scope,
)
from tiltmeter.comparing.language_validity import (
    DifferentialItem,
    Invariance,
    LanguageCorrelation,
    MeasureCorrelation,
    QualityAdjustment,
    VarianceComponent,
)
from tiltmeter.measures.joint_test import JointTest
from tiltmeter.measures.measure import list_quantities

SS = next(quantity for quantity in list_quantities(["stereotype", "anti-stereotype"], []) if quantity.name == "SS")


def make_estimate(value: float, p_value: float = 0.01) -> ContrastEstimate:
    return ContrastEstimate(
        value=value, low=value - 2, high=value + 2, standard_error=1.0, df=50.0, p_value=p_value, p_holm=p_value
    )


def make_inference(scope: Scope, shift: float = 0.0, **more: object) -> LanguageInference:
    means = tuple(
        LanguageMean(
            language=code,
            value=value,
            low=value - 1 - shift,
            high=value + 1 + shift,
            standard_error=0.5,
            df=40.0,
            models=2,
        )
        for code, value in (("de", 52.3), ("en", 56.1))
    )
    return LanguageInference(
        scope=scope,
        models=("bert-base", "<b>gpt2</b>"),
        means=means,
        differences=(LanguageDifference(left="de", right="en", estimate=make_estimate(-3.8)),),
        joint=JointTest(statistic=9.0, df=1.0, df_error=40.0, p_value=0.004, p_holm=0.004),
        **more,  # type: ignore[arg-type]
    )


def make_analysis(like: LanguageInference | None = None, part: str = "intrasentence") -> LanguageAnalysis:
    cells = [
        CellValue(model=model, kind=kind, language=code, value=value, low=value - 2, high=value + 2)
        for code, value in (("de", 52.0), ("en", 56.0))
        for model, kind in (("bert-base", "masked"), ("<b>gpt2</b>", "causal"))
    ]
    correlation = LanguageCorrelation(left="de", right="en", correlation=0.31, low=0.12, high=0.5, pairs=2)
    item = DifferentialItem(part=part, item="i1", language="de", deviation=31.0, p_value=0.0001, p_adjusted=0.03)
    these = make_inference(THESE)
    return LanguageAnalysis(
        subject="stereoset",
        benchmark="stereoset",
        part=part,
        protocol="published",
        quantity=SS,
        languages=("de", "en"),
        items=2100,
        left_out=6,
        cells=tuple(cells),
        these=these,
        same=None,
        like=like or make_inference(LIKE, 1.0, deviations=(("model", 1.2), ("model × language", 0.4))),
        groups=(
            GroupEffect(
                attribute="multilingual",
                members="models",
                left="false",
                right="true",
                left_members=("bert-base",),
                right_members=("<b>gpt2</b>",),
                these=make_estimate(4.1),
                like=None,
                reason="Too few models.",
            ),
        ),
        interaction=Interaction(
            models=("bert-base",), joint=JointTest(statistic=1.0, df=1.0, df_error=40.0, p_value=0.4, p_holm=0.4)
        ),
        components=(
            VarianceComponent(name="item", variance=50.0, share=0.02, low=0.01, high=0.03),
            VarianceComponent(name="model", variance=0.0, share=0.0, low=0.0, high=0.01, truncated=True),
        ),
        invariance=Invariance(
            correlations=(correlation,),
            tested=2100,
            suspected=120,
            items=(item,),
            means_without=these.means,
            means_without_suspected=these.means,
            verdict="different tests",
            sentence="The languages were not measured by the same test.",
        ),
        quality=QualityAdjustment(
            measure="LMS", slope=make_estimate(0.3), adjusted=these, sentence="Adjusted for LMS, the order is the same."
        ),
        sentence="German is lower than English by 3.8 points.",
    )


def make_comparison(*analyses: LanguageAnalysis) -> LanguageComparison:
    correlation = MeasureCorrelation(
        benchmark="stereoset",
        left="SS, intrasentence",
        right="LMS, intrasentence",
        models=10,
        correlation=0.69,
        low=0.1,
        high=0.91,
        partial=None,
        partial_low=None,
        partial_high=None,
    )
    return LanguageComparison(
        answers=("Languages differ by up to 3.8 points.",),
        analyses=list(analyses or [make_analysis()]),
        correlations=[correlation],
        notes=["Left out: 6 items."],
    )
