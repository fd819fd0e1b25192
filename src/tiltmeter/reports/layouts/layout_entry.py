"""Entries of a layout: the records of runs, with the fields by which a table arranges them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tiltmeter.comparing.attributes import DescribedModel, ModelAttributes
from tiltmeter.measures.gest import AS_PUBLISHED
from tiltmeter.measures.records import Record
from tiltmeter.reports.combined_runs import label_records
from tiltmeter.reports.layouts.layout import Layout, RowModels
from tiltmeter.runs.manifest import ModelEntry
from tiltmeter.runs.result import Result


@dataclass(frozen=True, slots=True)
class LayoutEntry:
    """A record with its fields; `run` and `record` identify the scores, `name` is the display name of the model."""

    run: str
    name: str
    record: Record
    fields: Mapping[str, str]

    @property
    def measure(self) -> str:
        """The measure without "as published": papers print measures as they defined them."""
        return self.record.measure.removesuffix(f" {AS_PUBLISHED}")


def list_entries(
    runs: Sequence[tuple[str, Result]], layout: Layout, attributes: ModelAttributes
) -> Iterator[LayoutEntry]:
    """Yield the records of all runs with their fields."""
    languages: dict[str, set[str]] = {}
    for _, result in runs:
        for record in result.records:
            languages.setdefault(record.model, set()).add(record.language)
    labelled = iter(label_records([(name, result.records) for name, result in runs]))
    for run, result in runs:
        models = {entry.name: entry for entry in result.manifest.models}
        for record in result.records:
            entry = models.get(record.model, ModelEntry(name=record.model))
            described = attributes.describe_model(record.model, entry)
            row = _find_row_models(layout, entry, described, several=len(languages[record.model]) > 1)
            name = next(labelled).model
            yield LayoutEntry(run, name, record, _build_fields(layout, record, described, row, name))


def _find_row_models(layout: Layout, entry: ModelEntry, described: DescribedModel, *, several: bool) -> RowModels:
    """Return the row of a model: by its name, else by its type and by whether it is multilingual.

    A model whose attributes do not tell this is multilingual if it was measured in `several` languages.
    """
    names = [name.replace("/", "_") for name in (entry.base, entry.name) if name]
    for row in layout.models:
        if any(fnmatchcase(name, pattern.replace("/", "_")) for name in names for pattern in row.names):
            return row
    multilingual = described.attributes.get("multilingual", several)
    for row in layout.models:
        if row.multilingual == multilingual and entry.type in row.types:
            return row
    return RowModels("", multilingual=bool(multilingual))


def _build_fields(
    layout: Layout, record: Record, described: DescribedModel, row: RowModels, name: str
) -> dict[str, str]:
    given = described.attributes.get("row")
    return {
        "model": str(given) if given is not None else row.row or name,
        "language": record.language,
        "part": record.part,
        "group": record.group,
        "kind": record.kind or "",
        "method": _describe_method(layout, record),
        "case": _get_case(record),
        "multilingual": "true" if row.multilingual else "false",
    }


def _describe_method(layout: Layout, record: Record) -> str:
    """Return the label of the answer type and the scoring case; for pooled parts, those of the last part are used."""
    family = (record.family or "").split(" + ")[-1]
    case = _get_case(record)
    labels = layout.labels.get("method", {})
    keys = [f"{family}/{record.kind}/{case}" if case else f"{family}/{record.kind}", family]
    return next((labels[key] for key in keys if key in labels), " ".join(filter(None, (family, case))))


def _get_case(record: Record) -> str:
    """Return the scoring case or the perturbation, such as `orig` or `drop-final-character`."""
    return record.protocol.split(" + ")[-1].partition("/")[2]
