"""Results on the validity of a comparison of languages: variance, measurement invariance and model quality."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from tiltmeter.comparing.language_results import ContrastEstimate, LanguageInference, LanguageMean, build_estimate_dict

InvarianceVerdict = Literal["same test", "partly the same test", "different tests", "unclear"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VarianceComponent:
    """One source of the variance of single answers: its variance, and its share of the total with a 95% interval.

    `name` is one of "item", "item × language", "item × model", "language", "model", "model × language" and "residual".
    `truncated` is true if the estimate was negative and was set to 0.
    """

    name: str
    variance: float
    share: float
    low: float
    high: float
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageCorrelation:
    """The correlation of item effects between two languages, corrected for unreliability.

    Only different models are compared: `pairs` is the number of pairs of a model of one language with another model of
    the other language. The correlation is None if the models of a language do not agree on items.
    """

    left: str
    right: str
    correlation: float | None
    low: float | None
    high: float | None
    pairs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferentialItem:
    """An item with differential functioning: languages differ in it by more than the noise between models.

    `language` is the language with the largest absolute deviation from the mean of the languages, `deviation`.
    `p_adjusted` is corrected by Benjamini and Hochberg's method.
    """

    part: str
    item: str
    language: str
    deviation: float
    p_value: float
    p_adjusted: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Invariance:
    """Whether the languages were measured by the same test.

    `tested` is the number of tested items, `suspected` the number with p < 0.05 without correction, and `items` those
    with differential functioning after the correction. `means_without` are the language means without `items`, and
    `means_without_suspected` those without all suspected items. `sentence` states the verdict. `reason` explains why a
    part of the analysis is missing.
    """

    correlations: tuple[LanguageCorrelation, ...]
    tested: int
    suspected: int
    items: tuple[DifferentialItem, ...]
    means_without: tuple[LanguageMean, ...]
    means_without_suspected: tuple[LanguageMean, ...]
    verdict: InvarianceVerdict
    sentence: str
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the invariance as a dictionary for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityAdjustment:
    """The comparison of languages after adjustment for model quality, for example SS adjusted for LMS.

    `measure` is the measure of quality. `slope` is the change of the adjusted measure for one unit of quality.
    `adjusted` are the language means at the mean quality. `sentence` tells how the conclusion changes.
    """

    measure: str
    slope: ContrastEstimate
    adjusted: LanguageInference
    sentence: str

    def to_dict(self) -> dict[str, Any]:
        """Return the adjustment as a dictionary for JSON."""
        return {
            "measure": self.measure,
            "slope": build_estimate_dict(self.slope),
            "adjusted": self.adjusted.to_dict(),
            "sentence": self.sentence,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureCorrelation:
    """The correlation of two measures or parts over models, after the means of languages are removed.

    `left` and `right` are labels such as `SS, intrasentence`. `partial` is the partial correlation, given all other
    measures and parts in the table. `models` is the number of models.
    """

    benchmark: str
    left: str
    right: str
    models: int
    correlation: float
    low: float | None
    high: float | None
    partial: float | None
    partial_low: float | None
    partial_high: float | None
