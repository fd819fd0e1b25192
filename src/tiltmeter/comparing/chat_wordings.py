"""Results of chat models for each wording of the instruction, computed from the stored answers of a run."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from tiltmeter.benchmarks.forced_choice.choice_scores import ItemAnswer, compute_item_scores
from tiltmeter.benchmarks.forced_choice.option_orders import Arrangement
from tiltmeter.runs.measurement import remeasure_scores
from tiltmeter.runs.result import Result

_ITEM = ["model", "benchmark", "part", "language", "protocol", "item"]
_REFUSAL = "refusal"


def split_by_wording(result: Result) -> Iterator[tuple[str, Result]]:
    """Yield the name of each wording, and the result computed from only the answers to this wording."""
    answers = result.answers
    if answers is None or answers["wording"].nunique() < 2:
        return
    for wording, chosen in answers.groupby("wording"):
        scores = _build_scores(chosen, result.scores)
        yield f"wording {wording}", replace(result, scores=scores, records=remeasure_scores(scores, result.manifest))


def _build_scores(answers: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    """Build the score table of answers; the attributes of items are taken from the score table `known`."""
    rows = []
    for key, asked in answers.groupby(_ITEM, sort=False):
        for role, score in compute_item_scores([_parse_answer(row) for row in asked.to_dict("records")]):
            rows.append({**dict(zip(_ITEM, key, strict=True)), "candidate": role, "role": role, "score": score})
    attributes = known.drop(columns=["candidate", "role", "score"]).drop_duplicates(_ITEM)
    return pd.DataFrame(rows).merge(attributes, on=_ITEM, how="left")


def _parse_answer(row: Mapping[Any, Any]) -> ItemAnswer:
    roles = tuple(str(row["order"]).split(", "))
    order = tuple(sorted(roles).index(role) for role in roles)
    shares = tuple(float(share) for share in row["shares"])
    arrangement = Arrangement(int(row["wording"]) - 1, order, bool(row["neutral"]))
    return ItemAnswer(arrangement, roles, shares, row["outcome"] == _REFUSAL)
