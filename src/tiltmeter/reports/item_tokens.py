"""The tokens of items with their log-probabilities, for the list of items in the report."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from tiltmeter.reports.display_text import format_label

_DIGITS = 2  # decimals of log-probabilities

# For each (model, item, role of a sentence), a list of [token, log-probability or None, whether it begins a word].
ItemTokens = Mapping[tuple[str, str, str], list[list[Any]]]


def group_tokens(tokens: pd.DataFrame | None, benchmark: str, part: str, language: str) -> ItemTokens:
    """Return the tokens of one benchmark, part and language, grouped by model, item and side (role of a sentence)."""
    if tokens is None:
        return {}
    here = (tokens["benchmark"] == benchmark) & (tokens["part"] == part) & (tokens["language"] == language)
    grouped: dict[tuple[str, str, str], list[list[Any]]] = {}
    columns = ("model", "item", "side", "token", "log_prob", "begins")
    for model, item, side, token, log_prob, begins in zip(*(tokens[here][name] for name in columns), strict=True):
        value = None if pd.isna(log_prob) else round(float(log_prob), _DIGITS)
        grouped.setdefault((str(model), format_label(str(item)), str(side)), []).append(
            [format_label(str(token)), value, bool(begins)]
        )
    return grouped


def select_tokens(tokens: ItemTokens, models: Sequence[str], item: str, sides: Sequence[str]) -> list[Any]:
    """Return, for each model, a list of the tokens of each sentence of an item, or 0 if a sentence has no tokens.

    `sides` are the roles of the sentences.
    """
    return [
        [tokens[model, item, side] for side in sides] if all((model, item, side) in tokens for side in sides) else 0
        for model in models
    ]
