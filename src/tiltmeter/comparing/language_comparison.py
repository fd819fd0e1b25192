"""The result of a comparison of languages over several models."""

from dataclasses import asdict, dataclass, field
from typing import Any

import pandas as pd

from tiltmeter.comparing.language_results import (
    CellValue,
    GroupEffect,
    Interaction,
    LanguageInference,
)
from tiltmeter.comparing.language_validity import Invariance, MeasureCorrelation, QualityAdjustment, VarianceComponent
from tiltmeter.measures.measure import Quantity
from tiltmeter.printable_text import escape_row, escape_unsafe


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class LanguageAnalysis:
    """The comparison of languages in one measure on one part of a benchmark under one protocol.

    `subject` is the benchmark with the conditions of measurement, if there are several. `cells` are the values of all
    models in all languages. `items` is the number of items that all cells have, and `left_out` the number of other
    items. `these` treats models as fixed, `same` does so for the models that were measured in all languages (None if
    these are all models), and `like` treats models as random. `interaction`, `invariance` and `quality` are None if
    they cannot be computed. `sentence` answers the question how different the languages are.
    """

    subject: str
    benchmark: str
    part: str
    protocol: str
    quantity: Quantity
    languages: tuple[str, ...]
    items: int
    left_out: int
    cells: tuple[CellValue, ...]
    these: LanguageInference
    same: LanguageInference | None
    like: LanguageInference
    groups: tuple[GroupEffect, ...]
    interaction: Interaction | None
    components: tuple[VarianceComponent, ...]
    invariance: Invariance | None
    quality: QualityAdjustment | None
    sentence: str

    def __repr__(self) -> str:
        """Return the subject, part, measure and numbers of languages and models in one line."""
        return escape_unsafe(
            f"<LanguageAnalysis: {self.subject}, {self.part}: {self.quantity.name} in {len(self.languages)} languages, "
            f"{len(self.models)} models, {self.items:,} items>"
        )

    @property
    def models(self) -> tuple[str, ...]:
        """The names of all models."""
        return tuple(dict.fromkeys(cell.model for cell in self.cells))

    def to_dict(self) -> dict[str, Any]:
        """Return the analysis as a dictionary for JSON."""
        return {
            "subject": self.subject,
            "benchmark": self.benchmark,
            "part": self.part,
            "protocol": self.protocol,
            "measure": self.quantity.name,
            "ideal": self.quantity.measure.ideal,
            "languages": list(self.languages),
            "items": self.items,
            "left_out": self.left_out,
            "sentence": self.sentence,
            "cells": [asdict(cell) for cell in self.cells],
            "these_models": self.these.to_dict(),
            "same_models": None if self.same is None else self.same.to_dict(),
            "models_like_these": self.like.to_dict(),
            "groups": [effect.to_dict() for effect in self.groups],
            "interaction": None if self.interaction is None else self.interaction.to_dict(),
            "variance": [asdict(component) for component in self.components],
            "invariance": None if self.invariance is None else self.invariance.to_dict(),
            "quality": None if self.quality is None else self.quality.to_dict(),
        }


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class LanguageComparison:
    """All comparisons of languages, with the answer and notes for the reader.

    `answers` has one sentence for each part of a benchmark, about its primary measure.
    `analyses` has an analysis for each measure, part and group of comparable models. With `over_protocols`, there is
    one for each protocol, too. `correlations` are the correlations between measures and parts over models.
    """

    answers: tuple[str, ...]
    analyses: list[LanguageAnalysis]
    correlations: list[MeasureCorrelation] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    over_protocols: bool = False

    @property
    def sentence(self) -> str:
        """The answer in one text."""
        return " ".join(self.answers)

    def __repr__(self) -> str:
        """Return a line with the number of analyses and languages."""
        languages = {language for analysis in self.analyses for language in analysis.languages}
        return f"<LanguageComparison: {len(self.analyses):,} analyses of {len(languages):,} languages>"

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as a dictionary for JSON."""
        return {
            "sentence": self.sentence,
            "analyses": [analysis.to_dict() for analysis in self.analyses],
            "correlations": [asdict(correlation) for correlation in self.correlations],
            "over_protocols": self.over_protocols,
            "notes": self.notes,
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row for each analysis and language."""
        return pd.DataFrame([escape_row(row) for analysis in self.analyses for row in _list_rows(analysis)])

    def _repr_html_(self) -> str:
        """Return the language means as an HTML table for notebooks."""
        return str(self.to_frame().to_html(index=False, border=0, float_format="{:.4g}".format, notebook=True))


def _list_rows(analysis: LanguageAnalysis) -> list[dict[str, Any]]:
    like = {mean.language: mean for mean in analysis.like.means}
    rows = []
    for mean in analysis.these.means:
        other = like.get(mean.language)
        rows.append(
            {
                "subject": analysis.subject,
                "part": analysis.part,
                "protocol": analysis.protocol,
                "measure": analysis.quantity.name,
                "language": mean.language,
                "models": mean.models,
                "mean": mean.value,
                "low": mean.low,
                "high": mean.high,
                "mean of models like these": other.value if other else None,
                "low of models like these": other.low if other else None,
                "high of models like these": other.high if other else None,
                "n": analysis.items,
            }
        )
    return rows
