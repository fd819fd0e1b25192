"""The part of a run that is exported: the results of one model over all items."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tiltmeter.datasets.catalogue import DATASETS
from tiltmeter.datasets.name_suggestions import suggest_name
from tiltmeter.datasets.upstream_files import UpstreamFile
from tiltmeter.errors import UsageError
from tiltmeter.measures import get_measure
from tiltmeter.measures.pooled_rows import find_rows_judged_by_part, find_unreliable_verdict, get_pooling_key
from tiltmeter.measures.records import OVERALL, Record
from tiltmeter.models.scheme import find_scheme
from tiltmeter.reports.formatting import format_four_digits, format_interval
from tiltmeter.runs.manifest import DataEntry, ModelEntry, build_model_entry
from tiltmeter.runs.result import Result
from tiltmeter.runs.sample_notes import describe_sample

SOURCE = "https://github.com/tiltmeter/tiltmeter"


@dataclass(frozen=True, slots=True)
class ExportedModel:
    """A model, its entry in the run's manifest, and its records over all items that have an interval.

    Web sites rank models by exported numbers. Therefore a measure of bias is exported without its value over all parts
    if these parts contradict each other, and a record whose value cannot be ranked has a verdict that says so.
    """

    model: str
    entry: ModelEntry
    records: list[Record]


def select_model(result: Result, model: str | None) -> ExportedModel:
    """Return the results to export of the model named `model`; if `model` is None, of the only model of the run."""
    entries = {entry.name: entry for entry in result.manifest.models}
    names = dict.fromkeys(record.model for record in result.records)
    models = [name for name in names if name in entries or not entries]
    if model is None:
        if len(models) != 1:
            raise UsageError(f"The run has {len(models)} models; choose one with --model: {', '.join(models)}.")
        model = models[0]
    if model not in models:
        raise UsageError(f"The run has no model {model!r}{suggest_name(model, models)}; it has {', '.join(models)}.")
    records = [
        record
        for record in result.records
        if record.model == model and record.view == "all" and record.low is not None and record.high is not None
    ]
    divided = find_rows_judged_by_part(result.records)
    records = [
        replace(record, verdict=find_unreliable_verdict(record, result.records) or record.verdict)
        for record in records
        if not (record.part == OVERALL and get_measure(record.measure).is_about_bias)
        or get_pooling_key(record) not in divided
    ]
    if not records:
        raise UsageError(f"The run has no results with intervals over all items for {model}; nothing can be exported.")
    return ExportedModel(model, entries.get(model) or build_model_entry({"name": model}), records)


def build_slug(*words: str) -> str:
    """Return the words as one name of lower-case letters, digits and underscores, which other tools accept.

    >>> build_slug("gender-pairs", "de", "S_JSD x 1e3")
    'gender_pairs_de_s_jsd_x_1e3'
    """
    return re.sub(r"\W+", "_", "_".join(words)).strip("_").lower()


def list_data_urls(entry: DataEntry) -> list[str]:
    """Return the addresses of the repositories that have the items of a data set; empty for a user's own file."""
    data_set = DATASETS.get(entry.benchmark) or DATASETS.get(entry.source or "")
    files = [file for file in (data_set.files if data_set else ()) if isinstance(file, UpstreamFile)]
    return list(dict.fromkeys(f"https://github.com/{file.repository}/tree/{file.commit}" for file in files))


def build_model_id(name: str) -> str:
    """Return the name of a model without its scheme and without the address of its server.

    >>> build_model_id("chat:some/model@http://localhost:8000/v1"), build_model_id("bert-base-cased")
    ('some/model', 'bert-base-cased')
    """
    name = re.sub(r"@[a-z]+://.*", "", name)
    return name.partition(":")[2] if find_scheme(name) else name


def describe_record(record: Record, data: Sequence[DataEntry]) -> str:
    """Return a text with a record's measure, ideal, interval, number of items (n), sample, protocol and verdict.

    `data` are the entries of the data sets in the run's manifest.

    >>> describe_record(Record(
    ...     model="m", benchmark="b", part="all", language="en", view="all", group="all", measure="SS",
    ...     value=57.0, low=55.5, high=58.5, n=4229, ideal=50.0, protocol="published"), [])
    'SS (ideal 50), 95% interval 55.5 to 58.5, n=4229, protocol published'
    """
    ideal = "" if record.ideal is None else f" (ideal {record.ideal:g})"
    interval = format_interval(record, "95% interval {} to {}", format_four_digits)
    sample = describe_sample(data, record.benchmark, record.part, record.language)
    verdict = record.verdict.words if record.verdict else ""
    words = [f"{record.measure}{ideal}", interval, f"n={record.n}", sample, f"protocol {record.protocol}", verdict]
    return ", ".join(filter(None, words))
