"""Read published predictions into a table of scores."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from tiltmeter.benchmarks.benchmark import SkippedItem
from tiltmeter.errors import DataError, UsageError
from tiltmeter.forms.association import AssociationItem
from tiltmeter.runs.portions import Portion
from tiltmeter.runs.score_tables import build_score_table
from tiltmeter.runs.scoring_methods import PROTOCOL
from tiltmeter.text_files import read_json

# Maps each part in a file, such as "intrasentence", to its scores by candidate id.
Scores = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Predictions:
    """The contents of a file of predictions.

    `skipped` are the items for which the score of a candidate is missing; `scores` contains none of their candidates.
    `absent` are the parts without predictions. `files` are the files that were read, if there are several.
    """

    scores: pd.DataFrame
    skipped: list[SkippedItem]
    absent: list[str]
    files: tuple[Path, ...] = ()


def read_predictions(
    path: Path, form: str, items: Iterable[AssociationItem], *, model: str | None = None, benchmark: str = "stereoset"
) -> Predictions:
    """Read a file of predictions for `items`, which must be all items of one or more parts; `form` is its format.

    The model's name defaults to the file name. Translated data sets have the same candidate ids as the original, so the
    language of a file cannot be checked.
    """
    if form not in FORMS:
        raise UsageError(f"{form!r} is not a format of predictions; choose {' or '.join(FORMS)}.")
    by_part: dict[str, list[AssociationItem]] = {}
    for item in items:
        by_part.setdefault(item.part, []).append(item)
    by_candidate = FORMS[form](path)
    absent = [part for part in by_part if part not in by_candidate]
    if len(absent) == len(by_part):
        raise DataError(
            f"{path} has no predictions for {' or '.join(by_part)}, only for {', '.join(by_candidate) or 'nothing'}."
        )
    tables: list[pd.DataFrame] = []
    skipped: list[SkippedItem] = []
    for part, part_items in by_part.items():
        if part in absent:
            continue
        scores = by_candidate[part]
        known = {candidate.id for item in part_items for candidate in item.candidates}
        unknown = [identifier for identifier in scores if identifier not in known]
        if unknown:
            raise DataError(
                f"{path}: {len(unknown)} of the {len(scores)} ids in {part!r} are not candidates of {benchmark}, for "
                f"example {unknown[0]!r}; select the data set of the predictions with --on."
            )
        rows: list[tuple[AssociationItem, str, str, float]] = []
        for item in part_items:
            missing = [candidate.id for candidate in item.candidates if candidate.id not in scores]
            if missing:
                skipped.append(SkippedItem(item.id, "the file has no score for some of its candidates"))
                continue
            rows += [(item, candidate.id, candidate.role, scores[candidate.id]) for candidate in item.candidates]
        if rows:
            portion = Portion(benchmark, "association", part, part_items[0].language, part_items, {})
            tables.append(build_score_table(model or path.stem, portion, PROTOCOL, rows))
    if not tables:
        raise DataError(
            f"{path} has no item with scores for all candidates; the first incomplete item is {skipped[0].item}."
        )
    return Predictions(pd.concat(tables, ignore_index=True), skipped, absent)


def _read_stereotypes_multi(path: Path) -> Scores:
    """Return the scores from {"intrasentence": [{"id": …, "score": …}, …], "intersentence": […]}.

    The code of StereoSet writes the same format.
    """
    content = read_json(path)
    if not isinstance(content, dict) or not all(isinstance(entries, list) for entries in content.values()):
        raise DataError(f"{path} should contain an object with a list of predictions for each part.")
    return {part: _parse_scores(f"{path}, {part}", entries) for part, entries in content.items()}


def _parse_scores(location: str, entries: list[Any]) -> dict[str, float]:
    scores: dict[str, float] = {}
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, dict) or not isinstance(entry.get("id"), str) or "score" not in entry:
            raise DataError(
                f'{location}, prediction {number} should be an object with "id" and "score", but is {entry!r:.80}.'
            )
        identifier, score = entry["id"], entry["score"]
        if not _is_finite(score):
            raise DataError(f"{location}, prediction {number} ({identifier}): {score!r:.80} is not a finite number.")
        if identifier in scores:
            raise DataError(f"{location}, prediction {number}: the id {identifier} occurs twice.")
        scores[identifier] = float(score)
    return scores


def _is_finite(score: object) -> bool:
    if isinstance(score, bool) or not isinstance(score, int | float):
        return False
    try:
        return math.isfinite(score)
    except OverflowError:  # an integer with more digits than a float can hold
        return False


FORMS: dict[str, Callable[[Path], Scores]] = {"stereotypes-multi": _read_stereotypes_multi}
