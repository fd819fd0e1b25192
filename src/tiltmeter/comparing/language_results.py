"""Results of a comparison of languages over several models: means, differences, tests and their uncertainty.

"These models" are the models of the runs; only the items are a sample. "Models like these" are a population from which
the models are a sample, too.
"""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from tiltmeter.measures.joint_test import JointTest
from tiltmeter.measures.verdict_rule import ALPHA

Scope = Literal["these models", "the same models", "models like these"]
# All models of each language; only the models that were measured in all languages; other models like all models.
THESE: Scope = "these models"
SAME: Scope = "the same models"
LIKE: Scope = "models like these"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrastEstimate:
    """The estimate of a difference or slope with its 95% interval and test.

    `p_holm` is the p-value corrected by Holm's method for `tests` tests.
    """

    value: float
    low: float
    high: float
    standard_error: float
    df: float
    p_value: float
    p_holm: float
    tests: int = 1

    @property
    def significant(self) -> bool:
        """Whether the test is significant after the correction for multiple tests."""
        return self.p_holm < ALPHA


@dataclass(frozen=True, slots=True, kw_only=True)
class CellValue:
    """The value of one model in one language on the shared items, with its 95% interval: a point of the figure."""

    model: str
    kind: str | None
    language: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageMean:
    """The mean of a measure over the models of one language; `models` is their number."""

    language: str
    value: float
    low: float
    high: float
    standard_error: float
    df: float
    models: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageDifference:
    """The difference of two language means: `left` minus `right`."""

    left: str
    right: str
    estimate: ContrastEstimate

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as a dictionary for JSON."""
        return {"left": self.left, "right": self.right, **build_estimate_dict(self.estimate)}


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageInference:
    """Language means, their differences and a joint test, for one scope.

    With the scope THESE, the mean of a language is the mean over all of its models. With SAME, it is the mean over the
    `models` that were measured in all languages. With LIKE, models are a random sample, and `deviations` are the
    standard deviations between models ("model") and of their languages ("model × language"). If `reason` is not empty,
    the scope cannot be analysed, and there are no results.
    """

    scope: Scope
    models: tuple[str, ...]
    means: tuple[LanguageMean, ...] = ()
    differences: tuple[LanguageDifference, ...] = ()
    joint: JointTest | None = None
    deviations: tuple[tuple[str, float], ...] = ()
    reason: str = ""

    @property
    def largest(self) -> LanguageDifference | None:
        """The difference with the largest absolute value."""
        return max(self.differences, key=lambda difference: abs(difference.estimate.value), default=None)

    @property
    def significant(self) -> int:
        """The number of significant differences."""
        return sum(difference.estimate.significant for difference in self.differences)

    @property
    def differs(self) -> bool:
        """Whether the languages differ: the joint test or a difference is significant."""
        return self.joint is not None and (self.joint.significant or self.significant > 0)

    def to_dict(self) -> dict[str, Any]:
        """Return the inference as a dictionary for JSON."""
        return {
            "scope": self.scope,
            "models": list(self.models),
            "means": [asdict(mean) for mean in self.means],
            "differences": [difference.to_dict() for difference in self.differences],
            "joint": _build_test_dict(self.joint),
            "deviations": dict(self.deviations),
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEffect:
    """The difference between two groups of models, within languages, or between two groups of languages.

    `members` is "models" or "languages". `left` and `right` are values of the attribute; for a slope by size they are
    empty, and the estimates are changes of the measure if a model is ten times larger. `like` is the estimate for
    models like these; if it is None, `reason` tells why.
    """

    attribute: str
    members: Literal["models", "languages"]
    left: str
    right: str
    left_members: tuple[str, ...]
    right_members: tuple[str, ...]
    these: ContrastEstimate
    like: ContrastEstimate | None
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the effect as a dictionary for JSON."""
        return {
            "attribute": self.attribute,
            "members": self.members,
            "left": self.left,
            "right": self.right,
            "left_members": list(self.left_members),
            "right_members": list(self.right_members),
            "these": build_estimate_dict(self.these),
            "like": None if self.like is None else build_estimate_dict(self.like),
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Interaction:
    """The test whether the differences of languages differ between models, for models measured in all languages."""

    models: tuple[str, ...]
    joint: JointTest

    def to_dict(self) -> dict[str, Any]:
        """Return the interaction as a dictionary for JSON."""
        return {"models": list(self.models), **(_build_test_dict(self.joint) or {})}


def build_estimate_dict(estimate: ContrastEstimate) -> dict[str, Any]:
    """Return an estimate as a dictionary for JSON."""
    return {**asdict(estimate), "significant": estimate.significant}


def _build_test_dict(test: JointTest | None) -> dict[str, Any] | None:
    return None if test is None else {**asdict(test), "significant": test.significant}
