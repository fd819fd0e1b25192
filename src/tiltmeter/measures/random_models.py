"""A mixed model of cell means (one model in one language each) whose sampling covariance is known.

    cell mean = fixed effects (languages, groups) + model + model × language + sampling error

The two variances are estimated by restricted maximum likelihood (REML). A contrast of fixed effects has the variance of
the items, with the factors that items share, plus the variance of the models, and a correction because the variances
are estimates (Kenward and Roger 1997). Degrees of freedom are Satterthwaite's.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtri

from tiltmeter.measures.crossed_answers import CrossedAnswers
from tiltmeter.measures.estimates import LEVEL, Interval, Mean
from tiltmeter.measures.sampling_covariance import estimate_sampling_covariance
from tiltmeter.measures.standard_errors import Floats, StandardError

MODEL, MODEL_BY_LANGUAGE = "model", "model × language"
_ROUNDS = 60
# Variances below this multiple of the sampling variance count as 0.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class RandomModels:
    """A fitted mixed model of cell means.

    `design` has a row for each cell and a column for each fixed effect. `structures` are the matrices of the random
    effects, and `variances` their estimated variances; `sampling` is the sampling covariance. `information` is the
    expected information on the variances. Twice the matrix `correction` is added to the covariance of the estimates.
    """

    crossed: CrossedAnswers
    design: Floats
    sampling: Floats
    structures: dict[str, Floats]
    variances: Floats
    information: Floats
    correction: Floats

    @property
    def covariance(self) -> Floats:
        """The total covariance of the cell means."""
        return _add_variances(self.sampling, list(self.structures.values()), self.variances)

    @property
    def cell_weights(self) -> Floats:
        """The weights of the cells in the estimates: a row for each fixed effect and a column for each cell."""
        weighted = np.linalg.solve(self.covariance, self.design)
        return np.asarray(np.linalg.solve(self.design.T @ weighted, weighted.T))

    @property
    def estimates(self) -> Floats:
        """The estimates of the fixed effects."""
        return np.asarray(self.cell_weights @ self.crossed.values)

    def estimate_contrast(self, contrast: Floats) -> Mean:
        """Estimate a linear combination of fixed effects, if models and items are both samples."""
        weights = contrast @ self.cell_weights
        items = self.crossed.estimate_combination(weights)
        gradient = np.array([weights @ matrix @ weights for matrix in self.structures.values()])
        correction = 2 * float(contrast @ self.correction @ contrast)
        models = float(gradient @ self.variances)
        uncertainty = float(gradient @ np.linalg.pinv(self.information) @ gradient)
        error = items.standard_error
        variance = error.value**2 + models
        spread = 2 * error.value**4 / error.df + uncertainty
        df = 2 * variance**2 / spread if spread > 0 else error.df
        variance += correction
        return Mean(
            items.value, StandardError(float(np.sqrt(variance)), max(1.0, df), error.clusters, factor=error.factor)
        )

    def estimate_variance_interval(self, name: str) -> Interval:
        """Return the interval of a variance from the profile of the restricted likelihood."""
        from scipy.optimize import brentq  # imported here because this takes half a second

        index = list(self.structures).index(name)
        best = -_compute_loss(self, self.variances)
        drop = float(chdtri(1, 1 - LEVEL)) / 2
        estimate = float(self.variances[index])

        def excess(value: float) -> float:
            return drop - (best + self._profile(index, value))

        low = 0.0 if estimate <= 0 or excess(0.0) >= 0 else float(brentq(excess, 0.0, estimate, xtol=1e-6 * estimate))
        high = max(2 * estimate, float(np.mean(np.diag(self.sampling))))
        while excess(high) > 0 and high < 1e12:
            high *= 2
        return low, float(brentq(excess, max(estimate, low), high, xtol=1e-6 * high))

    def _profile(self, index: int, value: float) -> float:
        """Return the minimum of minus the restricted log likelihood with one variance fixed."""
        start = self.variances.copy()
        start[index] = value
        return _compute_loss(self, _maximise(self, start, fixed=index))


def fit_random_models(crossed: CrossedAnswers, design: Floats) -> RandomModels:
    """Fit the mixed model by REML. `design` must have full column rank.

    If no model was measured in several languages, the effects of model and of model × language are not distinguishable,
    and there is one variance, MODEL.
    """
    of_models = np.array([crossed.models == name for name in crossed.model_names], dtype=np.float64).T
    structures = {MODEL: of_models @ of_models.T}
    if of_models.sum(axis=0).max() > 1:
        structures[MODEL_BY_LANGUAGE] = np.eye(len(design))
    sampling = estimate_sampling_covariance(crossed)
    none, effects = np.zeros(len(structures)), design.shape[1]
    fitted = RandomModels(crossed, design, sampling, structures, none, np.eye(len(none)), np.zeros((effects, effects)))
    spread = float(np.var(crossed.values - design @ np.linalg.lstsq(design, crossed.values, rcond=None)[0]))
    starts = [np.full(len(none), share * spread) for share in (0.5, 0.05)]
    solutions = [_maximise(fitted, start) for start in starts]
    variances = min(solutions, key=lambda variances: _compute_loss(fitted, variances))
    information = _compute_information(_compute_products(fitted, variances))
    fitted = replace(fitted, variances=variances, information=information)
    return replace(fitted, correction=_compute_correction(fitted))


def _compute_correction(fitted: RandomModels) -> Floats:
    """Return the matrix of Kenward and Roger that corrects the covariance of fixed effects for estimated variances."""
    inverse = np.linalg.inv(fitted.covariance)
    weighted = inverse @ fitted.design
    covariance = np.linalg.inv(fitted.design.T @ weighted)
    uncertainty = np.linalg.pinv(fitted.information)
    slopes = [matrix @ weighted for matrix in fitted.structures.values()]
    total = np.zeros_like(covariance)
    for index, one in enumerate(slopes):
        for place, other in enumerate(slopes):
            part = one.T @ inverse @ other - one.T @ weighted @ covariance @ weighted.T @ other
            total += uncertainty[index, place] * part
    return np.asarray(covariance @ total @ covariance)


def _add_variances(sampling: Floats, structures: Sequence[Floats], variances: Floats) -> Floats:
    return np.asarray(sampling + sum(value * matrix for value, matrix in zip(variances, structures, strict=True)))


def _compute_projection(fitted: RandomModels, variances: Floats) -> tuple[Floats, float]:
    """Return the matrix P of restricted likelihood, and the sum of the log determinants of V and X'V⁻¹X."""
    covariance = _add_variances(fitted.sampling, list(fitted.structures.values()), variances)
    inverse = np.linalg.inv(covariance)
    weighted = inverse @ fitted.design
    middle = fitted.design.T @ weighted
    projection = inverse - weighted @ np.linalg.solve(middle, weighted.T)
    return np.asarray(projection), float(np.linalg.slogdet(covariance)[1] + np.linalg.slogdet(middle)[1])


def _compute_loss(fitted: RandomModels, variances: Floats) -> float:
    """Return minus the restricted log likelihood, without its constant."""
    projection, determinants = _compute_projection(fitted, variances)
    values = fitted.crossed.values
    return 0.5 * (determinants + float(values @ projection @ values))


def _compute_products(fitted: RandomModels, variances: Floats) -> list[Floats]:
    projection, _ = _compute_projection(fitted, variances)
    return [projection @ matrix for matrix in fitted.structures.values()]


def _compute_information(products: Sequence[Floats]) -> Floats:
    return np.array([[0.5 * float(np.sum(one * other.T)) for other in products] for one in products])


def _maximise(fitted: RandomModels, start: Floats, fixed: int | None = None) -> Floats:
    """Return the variances (at least 0) with the largest restricted likelihood, optionally with one of them fixed."""
    from scipy.optimize import minimize  # imported here because this takes half a second

    scale = max(float(np.mean(np.diag(fitted.sampling))), float(start.max()), 1e-12)
    values = fitted.crossed.values
    matrices = list(fitted.structures.values())

    def evaluate(scaled: Floats) -> tuple[float, Floats]:
        projection, determinants = _compute_projection(fitted, scaled * scale)
        residual = projection @ values
        gradient = [float(np.sum(projection * matrix) - residual @ matrix @ residual) for matrix in matrices]
        return 0.5 * (determinants + float(values @ residual)), 0.5 * scale * np.array(gradient)

    limits = [(value / scale, value / scale) if index == fixed else (0.0, None) for index, value in enumerate(start)]
    found = minimize(evaluate, start / scale, jac=True, bounds=limits, method="L-BFGS-B", options={"maxiter": _ROUNDS})
    # Values that differ from 0 only by rounding are 0.
    return np.where(found.x < _ROUNDING, 0.0, found.x * scale)
