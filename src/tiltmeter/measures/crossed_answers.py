"""Answers of several models in several languages to the same items, and linear combinations of their means.

A cell is one model in one language. Every linear combination of cell means has an influence for each item, so its
standard error accounts for the items, and for the targets and words that items share, in all cells together.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from tiltmeter.measures.contrasts import estimate_item_mean
from tiltmeter.measures.crossed_standard_errors import compute_crossed_error
from tiltmeter.measures.estimates import Mean
from tiltmeter.measures.factors import Codes, Factors, Labels
from tiltmeter.measures.standard_errors import Floats


@dataclass(frozen=True, slots=True)
class CrossedAnswers:
    """The contributions of items to a measure: `answers` has a row for each cell and a column for each item.

    `models` and `languages` are the model and the language of each cell. `weights` are the weights of the items in the
    measure, and `strata` are their strata, if the measure is stratified. `factors` are the factors of the items by
    language, because translations of two items may share a word although the originals do not.

    >>> answers = np.array([[100.0, 0.0, 100.0, 100.0], [0.0, 0.0, 100.0, 100.0]])
    >>> crossed = CrossedAnswers.from_answers(answers, ["m", "m"], ["en", "de"])
    >>> crossed.values.tolist(), crossed.estimate_combination(np.array([1.0, -1.0])).value
    ([75.0, 50.0], 25.0)
    """

    answers: Floats
    models: Labels
    languages: Labels
    weights: Floats
    strata: Labels | None
    factors: Mapping[str, Factors | None]

    @classmethod
    def from_answers(
        cls,
        answers: Floats,
        models: list[str],
        languages: list[str],
        factors: Mapping[str, Factors | None] | None = None,
    ) -> "CrossedAnswers":
        """Build crossed answers to a measure that is an unweighted mean."""
        n = answers.shape[1]
        cells = np.array(models, dtype=object), np.array(languages, dtype=object)
        return cls(answers, cells[0], cells[1], np.full(n, 1 / n), None, factors or {})

    @property
    def values(self) -> Floats:
        """The value of the measure in each cell."""
        return np.asarray(self.answers @ self.weights)

    @property
    def language_names(self) -> list[str]:
        """The languages, in order of first appearance."""
        return list(dict.fromkeys(self.languages.tolist()))

    @property
    def model_names(self) -> list[str]:
        """The models, in order of first appearance."""
        return list(dict.fromkeys(self.models.tolist()))

    @property
    def n(self) -> int:
        """The number of items."""
        return int(self.answers.shape[1])

    def where(self, cells: Codes) -> "CrossedAnswers":
        """Return the cells with these indexes."""
        return replace(self, answers=self.answers[cells], models=self.models[cells], languages=self.languages[cells])

    def list_complete_models(self) -> list[str]:
        """Return the models that were measured in all languages."""
        count = len(self.language_names)
        return [model for model in self.model_names if int((self.models == model).sum()) == count]

    def centre_answers(self) -> Floats:
        """Return the answers minus the mean of their cell; with strata, minus the mean of cell and stratum.

        The result is scaled so that the mean of squares is an unbiased variance.
        """
        codes = np.zeros(self.n, dtype=np.intp) if self.strata is None else pd.factorize(self.strata)[0]
        indicators = np.eye(int(codes.max()) + 1)[codes]
        sizes = indicators.sum(axis=0)
        means = self.answers @ indicators / sizes
        scale = np.sqrt(sizes / np.maximum(1.0, sizes - 1))
        return np.asarray((self.answers - means[:, codes]) * scale[codes])

    def estimate_combination(self, coefficients: Floats) -> Mean:
        """Estimate a linear combination of cell means, if the models are fixed and only items are a sample.

        The part of each language is clustered by the factors of this language. If the measure is stratified, the
        factors of the language with the largest standard error are used for all parts.
        """
        numbers = coefficients @ self.answers
        used = dict.fromkeys(self.languages[np.abs(coefficients) > 0].tolist())
        if self.strata is not None:
            estimates = [self._estimate_stratified(numbers, self.factors.get(language)) for language in used]
            return max(
                estimates or [self._estimate_stratified(numbers, None)], key=lambda mean: mean.standard_error.value
            )
        influences = {name: self._compute_influence(coefficients * (self.languages == name)) for name in used}
        return Mean(float(numbers @ self.weights), compute_crossed_error(influences or {"": 0 * numbers}, self.factors))

    def _compute_influence(self, coefficients: Floats) -> Floats:
        numbers = coefficients @ self.answers
        return np.asarray((numbers - numbers.mean()) * self.weights)

    def estimate_item_mean(self, numbers: Floats) -> Mean:
        """Estimate the mean of numbers from several languages; the factors with the largest standard error are used."""
        estimates = [Mean.from_values(numbers, factors) for factors in {**self.factors, "": None}.values()]
        return max(estimates, key=lambda mean: mean.standard_error.value)

    def _estimate_stratified(self, numbers: Floats, factors: Factors | None) -> Mean:
        mean = estimate_item_mean(numbers, self.weights, factors, self.strata)
        return Mean(mean.value, mean.standard_error)  # without the correction for skewness, which is not linear

    def average_languages(self) -> Floats:
        """Return the weight of each cell in the mean of each language (rows: languages; columns: cells)."""
        rows = [(self.languages == language).astype(np.float64) for language in self.language_names]
        return np.array([row / row.sum() for row in rows])
