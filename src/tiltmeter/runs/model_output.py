"""What asking one model gives, before anything is measured."""

from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from tiltmeter.runs.conditions import MeasurementConditions


@dataclass(slots=True)
class ModelOutput:
    """The scores of a model, how it was asked, and what the manifest says of it.

    `answers` are tables of a chat model's replies, `tokens` of what a model says of each token. `refused`, `skipped`,
    `flagged` and `notes` are as in the manifest, `model` is its entry there.
    """

    scores: list[pd.DataFrame] = field(default_factory=list)
    answers: list[pd.DataFrame] = field(default_factory=list)
    tokens: list[pd.DataFrame] = field(default_factory=list)
    askings: list[MeasurementConditions] = field(default_factory=list)
    refused: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[dict[str, Any]] = field(default_factory=list)
    flagged: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    model: dict[str, Any] = field(default_factory=dict)
