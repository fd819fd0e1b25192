"""Read the scores released with GEST: one text file per template, with one number per item.

The number is the log10 of the ratio of two probabilities, of the masculine and of the feminine wording.
"""

import math
import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from tiltmeter.benchmarks.gender_log_ratios import PROTOCOL, ROLE
from tiltmeter.benchmarks.gest import BENCHMARK, TEMPLATES, list_parts
from tiltmeter.errors import DataError, UsageError
from tiltmeter.runs.portions import UNDIVIDED, Portion
from tiltmeter.runs.prediction_files import Predictions
from tiltmeter.runs.score_tables import build_score_table
from tiltmeter.text_files import read_text

FORM = "gest"
_NAME = re.compile(r"_template-\d+$")


def read_gest_predictions(path: Path, predicted: Sequence[Portion], *, model: str | None = None) -> Predictions:
    """Read the GEST scores of a model: from the file of one template, or from the files of all templates.

    The released files of a model are called `NAME_template-0.txt` and so on. A masked model has four files; a causal
    model has two, for the last two templates. `path` is the path of one file, or `FOLDER/NAME` for all files.
    """
    if len(predicted) != 1 or predicted[0].form != BENCHMARK.form:
        raise UsageError(
            "Predictions in the format gest need the data set gest or gest-1.0; select one of the two with --on."
        )
    (portion,) = predicted
    files = _find_files(path, portion.part)
    name = model or infer_model_name(path)
    tables = []
    for part, file in files.items():
        (template_portion,) = portion.split_into_parts([part])
        ratios = read_log_ratios(file)
        if len(ratios) != len(portion.items):
            raise DataError(
                f"{file} has {len(ratios)} lines, but {portion.name} has {len(portion.items)} sentences; select the "
                "data set of the predictions with --on."
            )
        words = TEMPLATES[part].words
        rows = ((item, words, ROLE, ratio) for item, ratio in zip(portion.items, ratios, strict=True))
        tables.append(build_score_table(name, template_portion, PROTOCOL, rows))
    return Predictions(pd.concat(tables, ignore_index=True), [], [], tuple(files.values()))


def infer_model_name(path: Path) -> str:
    """Return the name of the model, from the path of one file or from `FOLDER/NAME`.

    >>> paths = Path("english_mlm/bert-base-uncased_template-0.txt"), Path("english_glm/phi-1.5")
    >>> tuple(infer_model_name(path) for path in paths)
    ('bert-base-uncased', 'phi-1.5')
    """
    return _NAME.sub("", path.name.removesuffix(".txt"))


def _find_files(path: Path, part: str) -> dict[str, Path]:
    if path.is_file():
        if part == UNDIVIDED:
            raise UsageError(
                f"{path.name} has the scores of one template; name it, as in --on gest-1.0/template-1:en, or pass "
                f"{path.with_name(infer_model_name(path))} to read all files of the model."
            )
        return {part: path}
    candidates = sorted(path.parent.glob(f"{path.name}_template-*.txt"))
    for parts in (tuple(TEMPLATES), list_parts("causal")):
        if [file.name for file in candidates] == [f"{path.name}_template-{number}.txt" for number in range(len(parts))]:
            files = dict(zip(parts, candidates, strict=True))
            if part != UNDIVIDED and part not in files:
                raise UsageError(f"{path.name} has no predictions for {part}, only for {', '.join(files)}.")
            return files if part == UNDIVIDED else {part: files[part]}
    raise DataError(
        f"{path} is not a file, and {path.parent} does not contain the two or four files of a model, which are called "
        f"{path.name}_template-0.txt and so on."
    )


def read_log_ratios(file: Path) -> list[float]:
    """Return the log ratios of a file, converted from log10 to natural logarithms."""
    try:
        lines = read_text(file).split()
        ratios = [float(line) * math.log(10) for line in lines]
    except ValueError as error:
        raise DataError(f"{file} should contain one number on each line: {error}.") from error
    for number, ratio in enumerate(ratios, start=1):
        if not math.isfinite(ratio):
            raise DataError(f"{file}, line {number}: {lines[number - 1]} is not a finite number.")
    return ratios
