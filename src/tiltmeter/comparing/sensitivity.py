"""How much a result moves under changes that should not matter: punctuation, case, quotation marks, names, templates.

The run's models are asked again about changed items. A difference is paired by item, with its interval; what counts in
the end is whether the verdict stays.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tiltmeter.benchmarks import get_benchmark
from tiltmeter.comparing.cells import Cell, build_cells
from tiltmeter.comparing.chat_wordings import split_by_wording
from tiltmeter.comparing.comparison import compute_differences
from tiltmeter.errors import UsageError
from tiltmeter.measures.estimates import Interval
from tiltmeter.measures.measure import get_measure, select_deciding_record
from tiltmeter.measures.records import OVERALL, Record
from tiltmeter.runs.evaluate import evaluate
from tiltmeter.runs.language_model_run import Watch
from tiltmeter.runs.notebook_progress import show_notebook_bar
from tiltmeter.runs.portions import Portion, load_portions
from tiltmeter.runs.preparation import limit_items
from tiltmeter.runs.result import Result

NOTE = "Sensitivity: "
TEMPLATES = "templates"


@dataclass(frozen=True, slots=True)
class Variation:
    """A result under one change. `difference` is that to the unchanged items, on the items that both have.

    `changed` is the share of the items whose texts the change alters; None for templates and wordings of the run.
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
    """One result of a run, and what becomes of it."""

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
    def range(self) -> Interval:
        """The lowest and highest value, the unchanged one included."""
        values = [self.value, *(variation.value for variation in self.variations)]
        return min(values), max(values)

    @property
    def other_verdicts(self) -> tuple[Variation, ...]:
        """The variations in which the verdict is another one."""
        return tuple(variation for variation in self.variations if variation.verdict != self.verdict)

    @property
    def sentence(self) -> str:
        """What moves, in a sentence."""
        number = get_measure(self.measure).number
        low, high = map(number, self.range)
        part = "" if self.part in ("all", OVERALL) else f"/{self.part}"
        where = f"{self.benchmark}{part}:{self.language}"
        changes = ", ".join(variation.name for variation in self.variations)
        others = "; ".join(f"{variation.name}: {variation.verdict}" for variation in self.other_verdicts)
        verdict = f"changes ({others})" if others else "stays"
        return (
            f"{self.measure} of {self.model} on {where} is {number(self.value)}, and from {low} to {high} under "
            f"changes that should not matter ({changes}); the verdict, {self.verdict}, {verdict}."
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {**asdict(self), "range": self.range, "sentence": self.sentence}


def measure_sensitivity(
    result: Result,
    *,
    only: Sequence[str] = (),
    limit: int | None = None,
    watch: Watch = show_notebook_bar,
    tell: Callable[[str], None] = lambda _sentence: None,
) -> list[SensitivityRow]:
    """Ask the models of a run again about changed items; `only` names the changes, `limit` takes a sample of the items.

    A UsageError says why a run's models cannot be asked again.
    """
    if result.answers is not None:
        return _measure_wordings(result)
    options = _get_run_options(result)
    given = {spec: list(load_portions(spec)) for spec in options["on"]}
    chosen = [limit_items(portion, options["limit"]) for found in given.values() for portion in found]
    known = list(dict.fromkeys(name for portion in chosen for name in get_benchmark(portion.form).perturbations))
    if missing := [name for name in only if name not in known]:
        raise UsageError(f"There is no change {missing[0]!r} for these items; there is {', '.join(known) or 'none'}.")
    sampled = limit is not None and (options["limit"] is None or limit < options["limit"])
    if sampled:
        options["limit"] = limit
        chosen = [limit_items(portion, limit) for portion in chosen]
    changed = {name: _compute_changed_shares(chosen, name) for name in only or known}
    base = evaluate(**options, watch=watch, tell=tell) if sampled else result
    varied = []
    for name, shares in changed.items():
        specs = [
            spec
            for spec, found in given.items()
            if all(name in get_benchmark(portion.form).perturbations for portion in found)
        ]
        if specs and any(shares.values()):
            tell(f"Asking again with {name}.")
            again = evaluate(**options | {"on": specs, "perturb": name}, watch=watch, tell=tell)
            varied.append((name, again, shares))
    rows = list(build_sensitivity_rows(base, varied))
    if not rows:
        raise UsageError("Nothing that should not matter can be changed in the items of this run.")
    return rows


def with_sensitivity_notes(manifest: Mapping[str, Any], rows: Sequence[SensitivityRow]) -> dict[str, Any]:
    """A manifest whose notes, which are printed with the numbers, say how sensitive they are."""
    kept = [note for note in manifest.get("notes", ()) if not str(note).startswith(NOTE)]
    return {**manifest, "notes": [*kept, *(f"{NOTE}{row.sentence}" for row in rows)]}


def _get_run_options(result: Result) -> dict[str, Any]:
    """The arguments of `evaluate` that made a run; a UsageError if it cannot be made again."""
    request = result.manifest["request"]
    if "models" not in request:
        what = "published predictions" if "predictions" in request else "translations"
        raise UsageError(f"The run was made of {what}, so there is no model that could be asked again.")
    if request.get("fingerprints"):
        names = ", ".join(request["fingerprints"])
        raise UsageError(f"{names} was given as an object in Python, so it cannot be opened again by its name.")
    if request.get("perturb"):
        raise UsageError(f"The run is itself one of changed items ({request['perturb']}); give the unchanged one.")
    taken = ("models", "on", "protocol", "limit", "kind", "dtype", "tokenizer", "quantize", "chat_template", "margins")
    return {"limit": None} | {name: request[name] for name in taken if request.get(name) is not None}


def _measure_wordings(result: Result) -> list[SensitivityRow]:
    """Of chat models, whose wordings are varied in every run."""
    places: dict[tuple[str, str], float | None] = dict.fromkeys(
        (record.benchmark, record.language) for record in result.records
    )
    rows = list(build_sensitivity_rows(result, [(name, again, places) for name, again in split_by_wording(result)]))
    if not rows:
        raise UsageError(
            "The run asked its chat models with one wording only; --full-design asks with all of them, in all orders."
        )
    return rows


def _compute_changed_shares(chosen: Sequence[Portion], name: str) -> dict[tuple[str, str], float | None]:
    """The share of the items of each benchmark and language that a perturbation changes."""
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
    """The results of a run beside those on changed items, with the share of items changed by data set and language."""
    cells = {_get_place(cell): cell for cell in build_cells("unchanged", base)}
    others = [
        (name, _index_deciding_records(again), {_get_place(cell): cell for cell in build_cells(name, again)}, changed)
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
    """The parts of a result over all parts, if these are templates of the same items."""
    if record.part != OVERALL:
        return
    for (model, benchmark, part, language), found in decided.items():
        same = (model, benchmark, language) == (record.model, record.benchmark, record.language)
        if same and part != OVERALL and part.startswith("template") and found.measure == record.measure:
            yield Variation(part, found.value, found.interval, _format_verdict(found))


def _index_deciding_records(result: Result) -> dict[tuple[str, ...], Record]:
    """The record that decides the verdict of all items, by model, benchmark, part and language."""
    groups: dict[tuple[str, ...], dict[str, Record]] = {}
    for record in result.records:
        if record.view == "all":
            place = (record.model, record.benchmark, record.part, record.language)
            groups.setdefault(place, {})[record.measure] = record
    found = {place: select_deciding_record(row) for place, row in groups.items()}
    return {place: record for place, record in found.items() if record is not None}


def _get_place(cell: Cell) -> tuple[str, ...]:
    return (cell.model, cell.benchmark, cell.part, cell.language)


def _format_verdict(record: Record) -> str:
    return record.verdict.short if record.verdict is not None else "no verdict"
