"""Sensitivity of results to changes that should not matter: punctuation, case, quotation marks, names, templates.

The models of a run are measured again on changed items. The differences between changed and unchanged items are paired
by item and have intervals. The main result is whether the verdict changes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from tiltmeter.benchmarks import get_benchmark
from tiltmeter.comparing.cells import Cell, build_cells
from tiltmeter.comparing.chat_wordings import split_by_wording
from tiltmeter.comparing.comparison import compute_differences
from tiltmeter.comparing.frame_sensitivity import FRAME, measure_frames
from tiltmeter.errors import UsageError
from tiltmeter.measures.estimates import Interval
from tiltmeter.measures.measure import get_measure, select_deciding_record
from tiltmeter.measures.records import OVERALL, Record
from tiltmeter.options import ModelOptions, RunSettings, build_options
from tiltmeter.progress.notebook_progress import show_in_notebook
from tiltmeter.progress.progress import ShowProgress
from tiltmeter.runs.evaluate import measure_models
from tiltmeter.runs.manifest import Manifest
from tiltmeter.runs.portions import Portion, load_portions
from tiltmeter.runs.result import Result
from tiltmeter.runs.run_preparation import limit_items

NOTE = "Sensitivity: "
TEMPLATES = "templates"
_WORDING = "wording"


@dataclass(frozen=True, slots=True)
class Variation:
    """The result on items with one change, such as other quotation marks.

    `difference` is this result minus the result on the unchanged items. `changed` is the share of items whose text was
    changed; it is None for templates and wordings.
    """

    name: str
    value: float
    interval: Interval | None
    verdict: str
    difference: float | None = None
    difference_interval: Interval | None = None
    changed: float | None = None


@dataclass(frozen=True, slots=True)
class SensitivityRow:
    """One result of a run, and the results after each change (variations)."""

    model: str
    benchmark: str
    part: str
    language: str
    measure: str
    value: float
    interval: Interval | None
    verdict: str
    variations: tuple[Variation, ...]

    @property
    def value_range(self) -> Interval:
        """The lowest and the highest value of the variations and the unchanged items."""
        values = [self.value, *(variation.value for variation in self.variations)]
        return min(values), max(values)

    @property
    def other_verdicts(self) -> tuple[Variation, ...]:
        """The variations whose verdict differs from that of the unchanged items."""
        return tuple(variation for variation in self.variations if variation.verdict != self.verdict)

    @property
    def summary_sentence(self) -> str:
        """A sentence that summarises the row."""
        number = get_measure(self.measure).number
        low, high = map(number, self.value_range)
        part = "" if self.part in ("all", OVERALL) else f"/{self.part}"
        where = f"{self.benchmark}{part}:{self.language}"
        changes = ", ".join(variation.name for variation in self.variations)
        others = "; ".join(f"{variation.name}: {variation.verdict}" for variation in self.other_verdicts)
        verdict = f"changes ({others})" if others else "stays the same"
        return (
            f"{self.measure} of {self.model} on {where} is {number(self.value)}, and between {low} and {high} with "
            f"changes that should not matter ({changes}); the verdict ({self.verdict}) {verdict}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the row as a dictionary for JSON."""
        return {**asdict(self), "range": self.value_range, "sentence": self.summary_sentence}


def measure_sensitivity(
    result: Result,
    *,
    only: Sequence[str] = (),
    limit: int | None = None,
    watch: ShowProgress = show_in_notebook,
    tell: Callable[[str], None] = lambda _sentence: None,
) -> list[SensitivityRow]:
    """Measure the models of a run again on changed items.

    `only` selects changes by name. Chat models are asked again only with the change `frame`, which puts a year, place
    or audience before each message; otherwise the wordings of the run are compared. `limit` is the maximum number of
    items of each part and language.

    Raise a UsageError with the reason if the models cannot be measured again.
    """
    if result.answers is not None:
        return _measure_chat_model(result, only, limit, watch, tell)
    request = _get_request(result)
    settings, options = build_options(RunSettings, request), build_options(ModelOptions, request)
    portions = {spec: list(load_portions(spec)) for spec in request["on"]}
    chosen = [limit_items(portion, settings.limit) for of_spec in portions.values() for portion in of_spec]
    known = list(dict.fromkeys(name for portion in chosen for name in get_benchmark(portion.form).perturbations))
    if missing := [name for name in only if name not in known]:
        raise UsageError(
            f"There is no change {missing[0]!r} for these items; the changes are {', '.join(known) or 'none'}."
        )
    sampled = limit is not None and (settings.limit is None or limit < settings.limit)
    if sampled:
        settings = replace(settings, limit=limit)
        chosen = [limit_items(portion, limit) for portion in chosen]
    changed = {name: _compute_changed_shares(chosen, name) for name in only or known}
    measure = partial(measure_models, request["models"], options=options, watch=watch, tell=tell)
    base = measure(request["on"], settings) if sampled else result
    varied = []
    for name, shares in changed.items():
        specs = [
            spec
            for spec, of_spec in portions.items()
            if all(name in get_benchmark(portion.form).perturbations for portion in of_spec)
        ]
        if specs and any(shares.values()):
            tell(f"Measuring again with the change {name}.")
            varied.append((name, measure(specs, replace(settings, perturb=name)), shares))
    rows = list(build_sensitivity_rows(base, varied))
    if not rows:
        raise UsageError("No change, such as other quotation marks, can be made to the items of this run.")
    return rows


def add_sensitivity_notes(manifest: Manifest, rows: Sequence[SensitivityRow]) -> Manifest:
    """Return a copy of the manifest with sentences on sensitivity in its notes, which are printed with the results."""
    kept = [note for note in manifest.notes if not note.startswith(NOTE)]
    return replace(manifest, notes=(*kept, *(f"{NOTE}{row.summary_sentence}" for row in rows)))


def _get_request(result: Result) -> Mapping[str, Any]:
    """Return the options with which a run was started; raise an error if the run cannot be repeated."""
    request = result.manifest.request
    if "models" not in request:
        source = "published predictions" if "predictions" in request else "translations"
        raise UsageError(f"The run was made from {source}, so there is no model to measure again.")
    if request.get("fingerprints"):
        names = ", ".join(request["fingerprints"])
        raise UsageError(f"{names} was given as a Python object, so it cannot be loaded again by its name.")
    if request.get("perturb"):
        raise UsageError(
            f"The run already has changed items ({request['perturb']}); give the run with unchanged items."
        )
    return {name: value for name, value in request.items() if name != "keep_tokens"}


def _measure_chat_model(
    result: Result, only: Sequence[str], limit: int | None, watch: ShowProgress, tell: Callable[[str], None]
) -> list[SensitivityRow]:
    if missing := [name for name in only if name not in (_WORDING, FRAME)]:
        raise UsageError(
            f"There is no change {missing[0]!r} for chat models; the changes are {_WORDING} (the default) and {FRAME}."
        )
    rows = _measure_wordings(result) if FRAME not in only or _WORDING in only else []
    if FRAME in only:
        (_, base), *framed = measure_frames(result, _get_request(result), limit=limit, watch=watch, tell=tell)
        places: dict[tuple[str, str], float | None] = dict.fromkeys(
            (record.benchmark, record.language) for record in base.records
        )
        rows += build_sensitivity_rows(base, [(name, again, places) for name, again in framed])
    return rows


def _measure_wordings(result: Result) -> list[SensitivityRow]:
    """Return the sensitivity of chat models to the wordings of a run; the models are not measured again."""
    places: dict[tuple[str, str], float | None] = dict.fromkeys(
        (record.benchmark, record.language) for record in result.records
    )
    rows = list(build_sensitivity_rows(result, [(name, again, places) for name, again in split_by_wording(result)]))
    if not rows:
        raise UsageError(
            "The run used only one wording for its chat models; use --full-design for all wordings and orders."
        )
    return rows


def _compute_changed_shares(chosen: Sequence[Portion], name: str) -> dict[tuple[str, str], float | None]:
    """Return the share of items that the perturbation `name` changes, for each benchmark and language."""
    shares: dict[tuple[str, str], float | None] = {}
    for portion in chosen:
        perturb = get_benchmark(portion.form).perturbations.get(name)
        if perturb is not None and portion.items:
            count = sum(perturb(item) != item for item in portion.items)
            shares[portion.name, portion.language] = count / len(portion.items)
    return shares


def build_sensitivity_rows(
    base: Result, varied: Sequence[tuple[str, Result, Mapping[tuple[str, str], float | None]]]
) -> Iterator[SensitivityRow]:
    """Yield a row for each result of a run.

    `base` is the result on the unchanged items. `varied` has for each change its name, the result on the changed items,
    and the share of changed items for each benchmark and language.
    """
    cells = {_get_location(cell): cell for cell in build_cells("unchanged", base)}
    others = [
        (
            name,
            _index_deciding_records(again),
            {_get_location(cell): cell for cell in build_cells(name, again)},
            changed,
        )
        for name, again, changed in varied
    ]
    decided = _index_deciding_records(base)
    for place, record in decided.items():
        variations = []
        for name, records, other_cells, changed in others:
            share = changed.get((record.benchmark, record.language), 0.0)
            found = records.get(place)
            if share != 0.0 and found is not None and found.measure == record.measure:
                pair = cells.get(place), other_cells.get(place)
                variations.append(_build_variation(name, found, *pair, share))
        variations += _list_template_variations(record, decided)
        if variations:
            yield SensitivityRow(
                record.model,
                record.benchmark,
                record.part,
                record.language,
                record.measure,
                record.value,
                record.interval,
                _format_verdict(record),
                tuple(variations),
            )


def _build_variation(
    name: str, record: Record, base: Cell | None, other: Cell | None, share: float | None
) -> Variation:
    difference, ends = None, None
    if base is not None and other is not None:
        for found in compute_differences(other, base, [record.measure], ["protocols"]):
            difference, ends = found.contrast.difference, (found.contrast.low, found.contrast.high)
    return Variation(name, record.value, record.interval, _format_verdict(record), difference, ends, share)


def _list_template_variations(record: Record, decided: Mapping[tuple[str, ...], Record]) -> Iterator[Variation]:
    """Yield the result of each single template, if `record` is a result over all templates."""
    if record.part != OVERALL:
        return
    for (model, benchmark, part, language), found in decided.items():
        same = (model, benchmark, language) == (record.model, record.benchmark, record.language)
        if same and part != OVERALL and part.startswith("template") and found.measure == record.measure:
            yield Variation(part, found.value, found.interval, _format_verdict(found))


def _index_deciding_records(result: Result) -> dict[tuple[str, ...], Record]:
    """Return the record of the primary measure over all items, for each model, benchmark, part and language."""
    groups: dict[tuple[str, ...], dict[str, Record]] = {}
    for record in result.records:
        if record.view == "all":
            place = (record.model, record.benchmark, record.part, record.language)
            groups.setdefault(place, {})[record.measure] = record
    selected = {place: select_deciding_record(row) for place, row in groups.items()}
    return {place: record for place, record in selected.items() if record is not None}


def _get_location(cell: Cell) -> tuple[str, ...]:
    return (cell.model, cell.benchmark, cell.part, cell.language)


def _format_verdict(record: Record) -> str:
    return record.verdict.short if record.verdict is not None else "no verdict"
