"""What is exported of a run: the numbers over all items, of one model."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tiltmeter.datasets.suggest import did_you_mean
from tiltmeter.errors import UsageError
from tiltmeter.measures.records import Record
from tiltmeter.runs.result import Result
from tiltmeter.runs.samples import sample_of

SOURCE = "https://github.com/tiltmeter/tiltmeter"


@dataclass(frozen=True, slots=True)
class Options:
    """What an export may be told: which model, and the hub's id of the data set."""

    model: str | None = None
    dataset_id: str | None = None


@dataclass(frozen=True, slots=True)
class Chosen:
    """A model, what the manifest says of it, and its records over all items that have an interval."""

    model: str
    about: Mapping[str, Any]
    records: list[Record]


def choose(result: Result, model: str | None) -> Chosen:
    """The model that was asked for, or the only one there is."""
    about = {str(entry["name"]): entry for entry in result.manifest.get("models", [])}
    there = [name for name in dict.fromkeys(record.model for record in result.records) if name in about or not about]
    if model is None:
        if len(there) != 1:
            raise UsageError(f"The run has {len(there)} models; choose one with --model: {', '.join(there)}.")
        model = there[0]
    if model not in there:
        raise UsageError(f"The run has no model {model!r}{did_you_mean(model, there)}; it has {', '.join(there)}.")
    records = [
        record
        for record in result.records
        if record.model == model and record.view == "all" and record.low is not None and record.high is not None
    ]
    if not records:
        raise UsageError(f"The run has no number over all items of {model}; there is nothing to export.")
    return Chosen(model, about.get(model, {}), records)


def slug(*words: str) -> str:
    """A name that other tools take: lower case letters, digits and underscores.

    >>> slug("gender-pairs", "de", "S_JSD x 1e3")
    'gender_pairs_de_s_jsd_x_1e3'
    """
    return re.sub(r"\W+", "_", "_".join(words)).strip("_").lower()


def in_words(record: Record, manifest: Mapping[str, Any]) -> str:
    """What a number is, how sure it is, and what is said of it.

    >>> in_words(Record(model="m", benchmark="b", part="all", language="en", view="all", group="all", measure="SS",
    ...     value=57.0, low=55.5, high=58.5, n=4229, ideal=50.0, protocol="published"), {})
    'SS (ideal 50), 95% interval 55.5 to 58.5, n=4229, protocol published'
    """
    ideal = "" if record.ideal is None else f" (ideal {record.ideal:g})"
    ends = f"95% interval {record.low:.4g} to {record.high:.4g}"
    sample = sample_of(manifest, record.benchmark, record.part, record.language)
    verdict = record.verdict.words if record.verdict else ""
    words = [f"{record.measure}{ideal}", ends, f"n={record.n}", sample, f"protocol {record.protocol}", verdict]
    return ", ".join(filter(None, words))
