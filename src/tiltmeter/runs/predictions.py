"""A run made of predictions that somebody published, without the model."""

import time
from pathlib import Path
from typing import cast

from tiltmeter.benchmarks import benchmark_for
from tiltmeter.data.items import AssociationItem
from tiltmeter.errors import UsageError
from tiltmeter.runs.evaluate import measure_all
from tiltmeter.runs.imports import read_predictions
from tiltmeter.runs.manifest import make_manifest
from tiltmeter.runs.portions import portions, sha256_of
from tiltmeter.runs.result import Result, refuse_other_run


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
    items = [item for portion in predicted for item in portion.items]
    found = read_predictions(path, form, cast(list[AssociationItem], items), model=model, benchmark=predicted[0].name)
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
            models=[{"name": name, "predictions": {path.name: sha256_of(path)}}],
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
    )
    if out is not None:
        result.save(out, force=force)
    return result
