"""What the list of runs shows of one run, from its manifest.json and measures.json; its tables are not read."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from tiltmeter.errors import DataError, TiltmeterError
from tiltmeter.measures import Record, measure_named
from tiltmeter.measures.records import OVERALL, from_dicts
from tiltmeter.printable import visible
from tiltmeter.reports.clean import clip, label, short_names
from tiltmeter.reports.gather import shown_records
from tiltmeter.reports.record_rows import ALL_MODELS, rows_of
from tiltmeter.reports.ruler_svg import Ruler
from tiltmeter.reports.summary_rows import SummaryRow, summary_rows
from tiltmeter.reports.words import Tone, headlines, verdicts
from tiltmeter.runs.manifest import Manifest
from tiltmeter.runs.manifest_file import parse_manifest
from tiltmeter.runs.run_files import ANSWERS, ITEMS, MANIFEST, MEASURES, SCORES
from tiltmeter.runs.samples import sample_notes

# The tones of headlines, in words.
TONES: dict[Tone, str] = {
    "towards": "bias towards stereotypes",
    "against": "bias against stereotypes",
    "none": "no significant bias",
    "doubt": "contradictory or not interpretable",
}
_FILES = (MANIFEST, MEASURES, SCORES, ITEMS, ANSWERS)
# Rulers of one benchmark in the list; the report has all.
MOST_RULERS = 6


@dataclass(frozen=True, slots=True)
class RunRuler:
    """A value of the deciding measure, and where it is drawn."""

    subject: str
    measure: str
    value: str
    interval: str
    words: str
    ruler: Ruler


@dataclass(frozen=True, slots=True)
class RunBenchmark:
    """One benchmark of a run: its headline, and rulers on the measure that decides. `more` rulers are not shown.

    `tone` is empty if there is no verdict.
    """

    name: str
    tone: Tone | Literal[""]
    lead: str
    rulers: tuple[RunRuler, ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run in the list. `problem` is what is wrong with it, in a sentence; empty for most.

    `models` are the names that reports show, `measured` those in its files.
    """

    finished: str = ""
    models: tuple[str, ...] = ()
    measured: tuple[str, ...] = ()
    benchmarks: tuple[RunBenchmark, ...] = ()
    languages: tuple[str, ...] = ()
    items: int = 0
    problem: str = ""

    @property
    def finished_at(self) -> float | None:
        """When it was finished, in seconds; None if that is not known."""
        return datetime.fromisoformat(self.finished).timestamp() if self.finished else None

    @property
    def tones(self) -> set[str]:
        """The tones of its benchmarks."""
        return {benchmark.tone for benchmark in self.benchmarks if benchmark.tone}

    def to_json(self) -> str:
        """The summary as text."""
        return json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "RunSummary":
        """Read a summary that `to_json` wrote."""
        fields = json.loads(text)
        benchmarks = tuple(
            RunBenchmark(**{**entry, "rulers": tuple(_ruler(ruler) for ruler in entry["rulers"])})
            for entry in fields["benchmarks"]
        )
        names = {name: tuple(fields[name]) for name in ("models", "measured", "languages")}
        return cls(**{**fields, **names, "benchmarks": benchmarks})


def _ruler(fields: Mapping[str, Any]) -> RunRuler:
    return RunRuler(**{**fields, "ruler": Ruler(**fields["ruler"])})


def summarize(folder: Path) -> RunSummary:
    """The summary of a run's folder; of one that is broken or not finished, with the problem."""
    if link := next((name for name in _FILES if (folder / name).is_symlink()), None):
        return RunSummary(problem=f"Its {link} is a link, which the studio does not follow; put the file there.")
    if not (folder / MANIFEST).is_file():
        return RunSummary(problem=f"It has no {MANIFEST}, so it was not finished; start it again, or delete it.")
    try:
        manifest = _manifest(folder)
    except TiltmeterError as error:
        return RunSummary(problem=clip(str(error), 300))
    try:
        return _summary(manifest, _rows(_read(folder / MEASURES)))
    except (TiltmeterError, OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        return RunSummary(finished=_finished(manifest), models=_models(manifest, ()), problem=_problem(error))


def _manifest(folder: Path) -> Manifest:
    values = _read(folder / MANIFEST)
    try:
        return parse_manifest(values)
    except DataError as error:
        raise DataError(f"Its {MANIFEST} is not that of a run: {error} Make the run again.") from None


def _read(path: Path) -> Any:
    if not path.exists():
        raise DataError(f"It has no {path.name}; make the run again.")
    if not path.is_file():  # to read a pipe would take for ever
        raise DataError(f"Its {path.name} is no regular file; make the run again.")
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"Its {path.name} cannot be read ({clip(str(error), 120)}); make the run again.") from None


def _rows(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise DataError(f"Its {MEASURES} is not that of a run; make the run again.")
    return value


def _problem(error: Exception) -> str:
    if isinstance(error, TiltmeterError):
        return clip(str(error), 300)
    words = clip(f"{type(error).__name__}: {error}", 120)
    return f"Its {MEASURES} lacks something ({words}); make the run again."


def _summary(manifest: Manifest, rows: Sequence[Mapping[str, Any]]) -> RunSummary:
    try:
        over_all = from_dicts(row for row in rows if row.get("view") == "all" and row.get("model") != ALL_MODELS)
    except DataError as error:
        raise DataError(f"Its {MEASURES} cannot be read ({clip(str(error), 120)}); make the run again.") from None
    records = shown_records([("", over_all)])
    names = short_names(record.benchmark for record in over_all)
    return RunSummary(
        finished=_finished(manifest),
        models=_models(manifest, records),
        measured=tuple(visible(name) for name in dict.fromkeys(record.model for record in over_all)),
        benchmarks=tuple(_benchmarks(manifest, records, names)),
        languages=tuple(dict.fromkeys(record.language for record in records)),
        items=_items(manifest, records),
    )


def _finished(manifest: Manifest) -> str:
    """When the run was finished, as a UTC time that can be sorted; empty if it does not say so."""
    try:
        return datetime.fromisoformat(manifest.finished).astimezone(UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        return ""


def _models(manifest: Manifest, records: Sequence[Record]) -> tuple[str, ...]:
    if records:
        return tuple(dict.fromkeys(record.model for record in records))
    return tuple(short_names(entry.name for entry in manifest.models).values())


def _items(manifest: Manifest, records: Iterable[Record]) -> int:
    """The items that were asked, or for a manifest without their number those that have a value."""
    if asked := sum(entry.items for entry in manifest.data):
        return asked
    measured: dict[tuple[str, ...], int] = {}
    for record in records:
        if record.part != OVERALL:
            key = (record.benchmark, record.part, record.language)
            measured[key] = max(record.n, measured.get(key, 0))
    return sum(measured.values())


def _benchmarks(manifest: Manifest, records: Sequence[Record], names: Mapping[str, str]) -> Iterable[RunBenchmark]:
    for name in dict.fromkeys(record.benchmark for record in records):
        rows = rows_of(record for record in records if record.benchmark == name)
        samples = list(dict.fromkeys(sample_notes(manifest.data, name, names)))
        headline = next(iter(headlines(rows, samples)), None)
        lines = summary_rows(verdicts(rows))
        several = len({line.verdict.record.model for line in lines}) > 1
        yield RunBenchmark(
            name=name,
            tone=headline.tone if headline else "",
            lead=headline.lead if headline else "No measure of bias.",
            rulers=tuple(_run_ruler(line, several) for line in lines[:MOST_RULERS]),
            more=max(0, len(lines) - MOST_RULERS),
        )


def _run_ruler(line: SummaryRow, several: bool) -> RunRuler:
    record, verdict = line.verdict.record, line.verdict.verdict
    subject = [record.model] if several else []
    subject += [line.language, *([line.part] if line.part else [])]
    return RunRuler(
        subject=label(", ".join(subject), 120),
        measure=measure_named(record.measure).name,
        value=line.value,
        interval=line.interval,
        words=verdict.short,
        ruler=line.ruler,
    )
