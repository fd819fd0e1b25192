"""Runs from published predictions, without the model."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from tiltmeter.benchmarks import benchmark_for
from tiltmeter.datasets.hashing import hashed_once, sha256_of
from tiltmeter.errors import UsageError
from tiltmeter.forms.association import AssociationItem
from tiltmeter.questions import Kind
from tiltmeter.reading import home_path
from tiltmeter.runs import gest_predictions
from tiltmeter.runs.asking import Asking
from tiltmeter.runs.imports import FORMS, Predictions, read_predictions
from tiltmeter.runs.items import item_table
from tiltmeter.runs.manifest import RefusedPart, SkippedItem, make_manifest, model_entry
from tiltmeter.runs.measuring import measure_scores, measuring_notes, read_margins
from tiltmeter.runs.portions import Portion, portions
from tiltmeter.runs.prediction_names import PROTOCOL, ScoringMethod, gest_kind, scoring_methods
from tiltmeter.runs.result import Result, refuse_other_run


@hashed_once()
def score_predictions(
    predictions: Path | str,
    *,
    form: str,
    on: str,
    model: str | None = None,
    kind: Kind | None = None,
    protocol: str | None = None,
    margins: Mapping[str, float] | None = None,
    out: Path | str | None = None,
    force: bool = False,
) -> Result:
    """Score a file of published predictions in the format `form` for a data set such as `stereoset:de`.

    `kind` and `protocol` default to what the file name implies (see `prediction_names`). The result has the same format
    as that of `evaluate`; `out` is a folder to write it to.
    """
    began = time.monotonic()
    path = Path(predictions)
    request: dict[str, Any] = {"predictions": path.name, "as": form, "on": [on], "model": model}
    request |= {"kind": kind, "protocol": protocol} if kind or protocol else {}
    if margins := read_margins(margins):
        request["margins"] = margins
    if out is not None:
        refuse_other_run(home_path(out), request, force=force)
    predicted = list(portions(on))
    if len({portion.language for portion in predicted}) > 1:
        raise UsageError(f"Predictions are for one language, but {on} is for several; name one, as in stereoset:de.")
    if form == gest_predictions.FORM:
        read = gest_predictions.read_gest_predictions(path, predicted, model=model)
        name = model or gest_predictions.model_of(path)
        templates = int(read.scores["part"].nunique())
        method = ScoringMethod(kind or gest_kind(path.parent.name, templates), "likelihood", protocol or PROTOCOL)
        by_part = dict.fromkeys(read.scores["part"].unique(), method)
    else:
        read = _association_predictions(path, form, on, predicted, model)
        name = model or path.stem
        by_part = scoring_methods(path.stem, kind, protocol)
    scores = read.scores.assign(protocol=[by_part[part].protocol for part in read.scores["part"]])
    askings = [
        Asking(name, benchmark, part, language, by_part[part].protocol, by_part[part].family, by_part[part].kind)
        for benchmark, part, language in scores[["benchmark", "part", "language"]].drop_duplicates().to_numpy().tolist()
    ]
    label = {portion.part: portion.label() for portion in predicted}
    families = {portion.name: benchmark_for(portion.form).measures for portion in predicted}
    digests = {file.name: sha256_of(file) for file in read.files or (path,)}
    part_of = {item.id: portion.part for portion in predicted for item in portion.items}
    result = Result(
        scores=scores,
        records=measure_scores(scores, families, askings, margins),
        manifest=make_manifest(
            request,
            models=[model_entry({"name": name, "predictions": digests})],
            data=[portion.describe(len(portion.items)) for portion in predicted],
            asked=askings,
            margins=margins,
            notes=[*_notes(path, askings), *measuring_notes(scores, families)],
            refused=[
                RefusedPart(name, **label[part], reason=f"{path.name} has no predictions for it.")
                for part in read.absent
            ],
            skipped=[
                SkippedItem(name, **label[part_of[skip.item]], item=skip.item, reason=skip.reason)
                for skip in read.skipped
            ],
            seconds=time.monotonic() - began,
        ),
        texts=item_table(predicted),
    )
    if out is not None:
        result.save(out, force=force)
    return result


def _notes(path: Path, askings: Sequence[Asking]) -> list[str]:
    """Notes on how the predictions are assumed to have been made."""
    methods = dict.fromkeys(
        f"{asking.part}: {asking.kind or 'unknown'} model, {asking.family}, protocol {asking.protocol}"
        for asking in askings
    )
    notes = [f"Read from the name {path.name}, or as given: {'; '.join(methods)}."]
    if any(asking.kind is None for asking in askings):
        notes.append("What kind of model it was is not known; name it with --kind, so that it can be compared.")
    return notes


def _association_predictions(
    path: Path, form: str, on: str, predicted: Sequence[Portion], model: str | None
) -> Predictions:
    if form not in FORMS:
        raise UsageError(
            f"{form!r} is not a form of predictions; there are {', '.join((*FORMS, gest_predictions.FORM))}."
        )
    if any(portion.form != "association" for portion in predicted):
        raise UsageError(f"Predictions of the form {form} are for StereoSet, but {on} is something else.")
    items = [item for portion in predicted for item in portion.items]
    return read_predictions(path, form, cast(list[AssociationItem], items), model=model, benchmark=predicted[0].name)
