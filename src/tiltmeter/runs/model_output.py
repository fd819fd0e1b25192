"""The output of one model in a run, before measures are computed."""

from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from tiltmeter.runs.manifest import FlaggedItem, RefusedPart, UnscoredItem
from tiltmeter.runs.measurement_conditions import MeasurementConditions


@dataclass(slots=True)
class ModelOutput:
    """The scores of a model, the conditions of their measurement, and entries for the manifest.

    `answers` are tables of a chat model's replies. `tokens` are tables of token log-probabilities. The manifest gets
    `refused`, `skipped`, `flagged`, `notes` and the model's description `model`.
    """

    scores: list[pd.DataFrame] = field(default_factory=list)
    answers: list[pd.DataFrame] = field(default_factory=list)
    tokens: list[pd.DataFrame] = field(default_factory=list)
    conditions: list[MeasurementConditions] = field(default_factory=list)
    refused: list[RefusedPart] = field(default_factory=list)
    skipped: list[UnscoredItem] = field(default_factory=list)
    flagged: list[FlaggedItem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    model: dict[str, Any] = field(default_factory=dict)
