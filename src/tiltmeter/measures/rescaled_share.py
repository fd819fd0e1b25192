"""The class `RescaledShare`: a percentage on a scale with 0 in the middle."""

from dataclasses import dataclass, replace

from tiltmeter.measures.estimates import LEVEL, Interval, Share
from tiltmeter.measures.standard_errors import StandardError


@dataclass(frozen=True, slots=True)
class RescaledShare:
    """A percentage converted to a scale from -`end` (for 0%) to `end` (for 100%).

    >>> import numpy as np
    >>> RescaledShare(Share.from_values(np.array([100.0, 100.0, 100.0, 0.0])), 1.0).value
    0.5
    """

    share: Share
    end: float = 100.0

    @property
    def value(self) -> float:
        """The estimated value."""
        return self._rescale(self.share.value)

    @property
    def standard_error(self) -> StandardError:
        """The standard error of the estimate."""
        return replace(self.share.standard_error, value=self.end / 50.0 * self.share.standard_error.value)

    def compute_p_above(self, null: float) -> float:
        """Return the one-sided p-value of the hypothesis that the true value is at most `null`."""
        return self.share.compute_p_above(self._convert_to_share(null))

    def compute_p_below(self, null: float) -> float:
        """Return the one-sided p-value of the hypothesis that the true value is at least `null`."""
        return self.share.compute_p_below(self._convert_to_share(null))

    def interval(self, level: float = LEVEL) -> Interval:
        """Return the interval with this confidence level."""
        low, high = self.share.interval(level)
        return self._rescale(low), self._rescale(high)

    def _rescale(self, share: float) -> float:
        return self.end * (2 * share - 100.0) / 100.0

    def _convert_to_share(self, value: float) -> float:
        return (100.0 * value / self.end + 100.0) / 2
