"""A run made of predictions that somebody published, without the model."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from tiltmeter.benchmarks import benchmark_for
from tiltmeter.data.hashing import hashed_once, sha256_of
from tiltmeter.errors import UsageError
from tiltmeter.forms.association import AssociationItem
from tiltmeter.runs import gest_predictions
from tiltmeter.runs.evaluate import measure_all
from tiltmeter.runs.imports import FORMS, Predictions, read_predictions
from tiltmeter.runs.items import item_table
from tiltmeter.runs.manifest import make_manifest
from tiltmeter.runs.portions import Portion, portions
from tiltmeter.runs.result import Result, refuse_other_run


@hashed_once()
def score_predictions(
    predictions: Path | str,
    *,
    form: str,
    on: str,
    model: str | None = None,
    out: Path | str | None = None,
    force: bool = False,
) -> Result:
    """Score a file of published predictions of the kind `form` on what they predict, such as `stereoset:de`.

    The result is the same as that of a run, and with `out` it is written there as well.
    """
    began = time.monotonic()
    path = Path(predictions)
    request = {"predictions": path.name, "as": form, "on": [on], "model": model}
    if out is not None:
        refuse_other_run(Path(out), request, force=force)
    predicted = list(portions(on))
    if len({portion.language for portion in predicted}) > 1:
        raise UsageError(f"Predictions are for one language, but {on} is for several; name one, as in stereoset:de.")
    if form == gest_predictions.FORM:
        found = gest_predictions.read_gest_predictions(path, predicted, model=model)
        name = model or gest_predictions.model_of(path)
    else:
        found = _association_predictions(path, form, on, predicted, model)
        name = model or path.stem
    label = {portion.part: portion.label() for portion in predicted}
    part_of = {item.id: portion.part for portion in predicted for item in portion.items}
    result = Result(
        scores=found.scores,
        records=measure_all(
            found.scores, {portion.name: benchmark_for(portion.form).measures for portion in predicted}
        ),
        manifest=make_manifest(
            request,
            models=[{"name": name, "predictions": {file.name: sha256_of(file) for file in found.files or (path,)}}],
            data=[portion.describe() for portion in predicted],
            refused=[
                {"model": name, **label[part], "reason": f"{path.name} has no predictions for it."}
                for part in found.absent
            ],
            skipped=[
                {"model": name, **label[part_of[skip.item]], "item": skip.item, "reason": skip.reason}
                for skip in found.skipped
            ],
            seconds=time.monotonic() - began,
        ),
        items=item_table(predicted),
    )
    if out is not None:
        result.save(out, force=force)
    return result


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
