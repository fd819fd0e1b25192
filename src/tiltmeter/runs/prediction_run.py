"""Runs that score published predictions; the model itself is not needed."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from tiltmeter.datasets.file_hashes import cache_hashes, get_sha256
from tiltmeter.errors import UsageError
from tiltmeter.forms.association import AssociationItem
from tiltmeter.measures.verdict_rule import PORTION
from tiltmeter.questions import Kind
from tiltmeter.runs import gest_pair_predictions, gest_predictions, harness_predictions
from tiltmeter.runs.fixed_factors import read_fixed_factors
from tiltmeter.runs.manifest import RefusedPart, UnscoredItem, build_manifest, build_model_entry
from tiltmeter.runs.measurement import collect_measure_notes, measure_scores, read_families, read_margins
from tiltmeter.runs.measurement_conditions import MeasurementConditions
from tiltmeter.runs.portions import UNDIVIDED, Portion, load_portions, select_measure_module
from tiltmeter.runs.prediction_files import FORMS, Predictions, read_predictions
from tiltmeter.runs.result import Result, reject_other_run
from tiltmeter.runs.run_items import build_item_table
from tiltmeter.runs.scoring_methods import PROTOCOL, ScoringMethod, infer_gest_kind, infer_scoring_methods
from tiltmeter.text_files import expand_home


@cache_hashes()
def score_predictions(
    predictions: Path | str,
    *,
    form: str,
    on: str,
    model: str | None = None,
    kind: Kind | None = None,
    protocol: str | None = None,
    margins: Mapping[str, float] | None = None,
    family: str = "portion",
    fixed: Sequence[str] = (),
    out: Path | str | None = None,
    force: bool = False,
) -> Result:
    """Score a file of published predictions in the format `form` for a data set such as `stereoset:de`.

    By default, `kind` and `protocol` are inferred from the file name (see `scoring_methods`). `family` is `portion` or
    `run`: which tests are corrected together. `fixed` are factors over which results do not generalise, for example
    `["words"]`. The result has the same format as a result of `evaluate`. `out` is the
    folder to write the run to.
    """
    began = time.monotonic()
    path = Path(predictions)
    request: dict[str, Any] = {"predictions": path.name, "as": form, "on": [on], "model": model}
    request |= {"kind": kind, "protocol": protocol} if kind or protocol else {}
    if margins := read_margins(margins):
        request["margins"] = margins
    families = read_families(family)
    if families != PORTION:
        request["family"] = families
    if fixed:
        request["fixed"] = list(fixed)
    if out is not None:
        reject_other_run(expand_home(out), request, force=force)
    predicted = list(load_portions(on))
    if len({portion.language for portion in predicted}) > 1:
        raise UsageError(
            f"Predictions are for one language, but {on} has several; select one, for example stereoset:de."
        )
    fixed = read_fixed_factors(fixed, {portion.form for portion in predicted})
    available = {(portion.part, portion.language): len(portion.items) for portion in predicted}
    label = {portion.part: portion.get_key_columns() for portion in predicted}
    is_chat, notes = False, []
    if form in harness_predictions.PROTOCOLS:
        logged = harness_predictions.read_harness_log(path, form, predicted, model=model, kind=kind, protocol=protocol)
        read, name, predicted, notes = logged.read, logged.model, logged.portions, logged.notes
        is_chat = logged.method.answer_type == "prompted"
        by_part = dict.fromkeys(read.scores["part"].unique(), logged.method)
    elif form == gest_predictions.FORM:
        read = gest_predictions.read_gest_predictions(path, predicted, model=model)
        name = model or gest_predictions.infer_model_name(path)
        templates = int(read.scores["part"].nunique())
        method = ScoringMethod(kind or infer_gest_kind(path.parent.name, templates), "likelihood", protocol or PROTOCOL)
        by_part = dict.fromkeys(read.scores["part"].unique(), method)
    elif form == gest_pair_predictions.FORM:
        name = model or path.stem
        read = gest_pair_predictions.read_pair_predictions(path, predicted, model=name)
        by_part = {UNDIVIDED: ScoringMethod(kind or "masked", "likelihood", protocol or PROTOCOL)}
    else:
        read = _read_association_predictions(path, form, on, predicted, model)
        name = model or path.stem
        by_part = infer_scoring_methods(path.stem, kind, protocol)
    scores = read.scores.assign(protocol=[by_part[part].protocol for part in read.scores["part"]])
    conditions = [
        MeasurementConditions(
            name, benchmark, part, language, by_part[part].protocol, by_part[part].answer_type, by_part[part].kind
        )
        for benchmark, part, language in scores[["benchmark", "part", "language"]].drop_duplicates().to_numpy().tolist()
    ]
    measure_modules = {portion.name: select_measure_module(portion, is_chat=is_chat) for portion in predicted}
    digests = {file.name: get_sha256(file) for file in read.files or (path,)}
    part_of = {item.id: portion.part for portion in predicted for item in portion.items}
    skipped = [
        UnscoredItem(name, **label[part_of[skip.item]], item=skip.item, reason=skip.reason) for skip in read.skipped
    ]
    result = Result(
        scores=scores,
        records=measure_scores(scores, measure_modules, conditions, margins, skipped, families=families, fixed=fixed),
        manifest=build_manifest(
            request,
            models=[build_model_entry({"name": name, "predictions": digests})],
            data=[
                portion.describe(available[portion.part, portion.language], is_chat=is_chat) for portion in predicted
            ],
            asked=conditions,
            margins=margins,
            families=families,
            fixed=fixed,
            notes=[*notes, *_describe_assumptions(path, conditions), *collect_measure_notes(scores, measure_modules)],
            refused=[
                RefusedPart(name, **label[part], reason=f"{path.name} has no predictions for this part.")
                for part in read.absent
            ],
            skipped=skipped,
            seconds=time.monotonic() - began,
        ),
        texts=build_item_table(predicted),
    )
    if out is not None:
        result.save(out, force=force)
    return result


def _describe_assumptions(path: Path, conditions: Sequence[MeasurementConditions]) -> list[str]:
    """Return notes on Tiltmeter's assumptions about how the predictions were made."""
    methods = dict.fromkeys(
        f"{entry.part}: {entry.kind or 'unknown'} model, {entry.family}, protocol {entry.protocol}"
        for entry in conditions
    )
    notes = [f"How the scores were computed, by options or the file name {path.name}: {'; '.join(methods)}."]
    if any(entry.kind is None for entry in conditions):
        notes.append("The kind of model is unknown; set it with --kind, so that the run can be compared.")
    return notes


def _read_association_predictions(
    path: Path, form: str, on: str, predicted: Sequence[Portion], model: str | None
) -> Predictions:
    if form not in FORMS:
        raise UsageError(
            f"{form!r} is not a format of predictions; choose "
            f"{', '.join((*FORMS, gest_predictions.FORM, gest_pair_predictions.FORM, *harness_predictions.PROTOCOLS))}."
        )
    if any(portion.form != "association" for portion in predicted):
        raise UsageError(
            f"Predictions in the format {form} are for StereoSet, not for {on}; select a StereoSet data set with --on."
        )
    items = [item for portion in predicted for item in portion.items]
    return read_predictions(path, form, cast(list[AssociationItem], items), model=model, benchmark=predicted[0].name)
