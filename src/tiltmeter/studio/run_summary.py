"""The summary of a run for the list of runs; it is read from manifest.json and measures.json."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from tiltmeter.errors import DataError, TiltmeterError
from tiltmeter.measures import Record, get_measure
from tiltmeter.measures.records import OVERALL, from_dicts
from tiltmeter.printable_text import escape_unsafe
from tiltmeter.reports.combined_runs import label_records
from tiltmeter.reports.display_text import clip_text, format_label, shorten_names
from tiltmeter.reports.record_rows import ALL_MODELS, build_rows
from tiltmeter.reports.ruler_svg import Ruler
from tiltmeter.reports.summary_rows import SummaryRow, build_summary_rows
from tiltmeter.reports.verdict_text import Tone, build_headlines, list_summary_verdicts
from tiltmeter.runs.manifest import Manifest
from tiltmeter.runs.manifest_file import parse_manifest
from tiltmeter.runs.run_files import ANSWERS, ITEMS, MANIFEST, MEASURES, SCORES
from tiltmeter.runs.sample_notes import list_sample_notes

# The tones (kinds of verdict) of headlines, with the texts of the filter "Verdict" of the list of runs.
TONES: dict[Tone, str] = {
    "towards": "bias towards stereotypes",
    "against": "bias against stereotypes",
    "none": "no significant bias",
    "doubt": "contradictory, not interpretable, one-sided refusals, or a difference between groups",
}
_FILES = (MANIFEST, MEASURES, SCORES, ITEMS, ANSWERS)
# The list of runs shows at most this many rulers (drawn values) for each benchmark; the report shows all rulers.
MOST_RULERS = 6


@dataclass(frozen=True, slots=True)
class RunRuler:
    """A value of the primary measure, with a drawing of its interval (a ruler); `words` is the text of the verdict."""

    subject: str
    measure: str
    value: str
    interval: str
    words: str
    ruler: Ruler


@dataclass(frozen=True, slots=True)
class RunBenchmark:
    """The summary of one benchmark of a run: the headline (`lead`), and rulers (drawn values) of the primary measure.

    `tone` is the kind of verdict, empty if there is no verdict. `more` is the number of rulers that are not shown.
    """

    name: str
    tone: Tone | Literal[""]
    lead: str
    rulers: tuple[RunRuler, ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class RunSummary:
    """The summary of a run. If the run is damaged or not finished, `problem` is a sentence about the reason.

    `models` are the display names of the models; `measured` are the names of the models in the files of the run.
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
        """Return the finish time as a Unix timestamp; None if the time is unknown."""
        return datetime.fromisoformat(self.finished).timestamp() if self.finished else None

    @property
    def tones(self) -> set[str]:
        """Return the tones (kinds of verdict) of the headlines of all benchmarks."""
        return {benchmark.tone for benchmark in self.benchmarks if benchmark.tone}

    def to_json(self) -> str:
        """Return the summary as JSON."""
        return json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "RunSummary":
        """Return the summary from a text that `to_json` returned."""
        fields = json.loads(text)
        benchmarks = tuple(
            RunBenchmark(**{**entry, "rulers": tuple(_parse_ruler(ruler) for ruler in entry["rulers"])})
            for entry in fields["benchmarks"]
        )
        names = {name: tuple(fields[name]) for name in ("models", "measured", "languages")}
        return cls(**{**fields, **names, "benchmarks": benchmarks})


def _parse_ruler(fields: Mapping[str, Any]) -> RunRuler:
    return RunRuler(**{**fields, "ruler": Ruler(**fields["ruler"])})


def summarize_run(folder: Path) -> RunSummary:
    """Return the summary of the run in a folder; if the run is damaged or not finished, `problem` is set."""
    if link := next((name for name in _FILES if (folder / name).is_symlink()), None):
        return RunSummary(
            problem=f"{link} is a symbolic link, which the studio does not follow; replace it by the file."
        )
    if not (folder / MANIFEST).is_file():
        return RunSummary(
            problem=f"{MANIFEST} is missing, so the run did not finish; start the run again, or delete it."
        )
    try:
        manifest = _read_manifest(folder)
    except TiltmeterError as error:
        return RunSummary(problem=clip_text(str(error), 300))
    try:
        return _build_summary(manifest, _validate_rows(_read_json(folder / MEASURES)))
    except (TiltmeterError, OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        return RunSummary(
            finished=_format_finish_time(manifest), models=_list_models(manifest, ()), problem=_describe_problem(error)
        )


def _read_manifest(folder: Path) -> Manifest:
    values = _read_json(folder / MANIFEST)
    try:
        return parse_manifest(values)
    except DataError as error:
        raise DataError(f"{MANIFEST} is not valid: {error} Repeat the run.") from None


def _read_json(path: Path) -> Any:
    if not path.exists():
        raise DataError(f"{path.name} is missing; repeat the run.")
    if not path.is_file():
        # The path may be, for example, a named pipe; reading it would block.
        raise DataError(f"{path.name} is not a regular file; repeat the run.")
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path.name} cannot be read ({clip_text(str(error), 120)}); repeat the run.") from None


def _validate_rows(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise DataError(f"{MEASURES} is not valid; repeat the run.")
    return value


def _describe_problem(error: Exception) -> str:
    if isinstance(error, TiltmeterError):
        return clip_text(str(error), 300)
    words = clip_text(f"{type(error).__name__}: {error}", 120)
    return f"{MEASURES} is incomplete ({words}); repeat the run."


def _build_summary(manifest: Manifest, rows: Sequence[Mapping[str, Any]]) -> RunSummary:
    try:
        over_all = from_dicts(row for row in rows if row.get("view") == "all" and row.get("model") != ALL_MODELS)
    except DataError as error:
        raise DataError(f"{MEASURES} cannot be read ({clip_text(str(error), 120)}); repeat the run.") from None
    records = label_records([("", over_all)])
    names = shorten_names(record.benchmark for record in over_all)
    return RunSummary(
        finished=_format_finish_time(manifest),
        models=_list_models(manifest, records),
        measured=tuple(escape_unsafe(name) for name in dict.fromkeys(record.model for record in over_all)),
        benchmarks=tuple(_list_benchmarks(manifest, records, names)),
        languages=tuple(dict.fromkeys(record.language for record in records)),
        items=_count_items(manifest, records),
    )


def _format_finish_time(manifest: Manifest) -> str:
    """Return the finish time in UTC as a text that can be sorted; empty if the time is unknown."""
    try:
        return datetime.fromisoformat(manifest.finished).astimezone(UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        return ""


def _list_models(manifest: Manifest, records: Sequence[Record]) -> tuple[str, ...]:
    if records:
        return tuple(dict.fromkeys(record.model for record in records))
    return tuple(shorten_names(entry.name for entry in manifest.models).values())


def _count_items(manifest: Manifest, records: Iterable[Record]) -> int:
    """Return the number of items in the manifest; if the manifest has no number, compute it from the records."""
    if count := sum(entry.items for entry in manifest.data):
        return count
    measured: dict[tuple[str, ...], int] = {}
    for record in records:
        if record.part != OVERALL:
            key = (record.benchmark, record.part, record.language)
            measured[key] = max(record.n, measured.get(key, 0))
    return sum(measured.values())


def _list_benchmarks(manifest: Manifest, records: Sequence[Record], names: Mapping[str, str]) -> Iterable[RunBenchmark]:
    for name in dict.fromkeys(record.benchmark for record in records):
        rows = build_rows(record for record in records if record.benchmark == name)
        samples = list(dict.fromkeys(list_sample_notes(manifest.data, name, names)))
        headline = next(iter(build_headlines(rows, samples)), None)
        lines = build_summary_rows(list_summary_verdicts(rows))
        several = len({line.verdict.record.model for line in lines}) > 1
        yield RunBenchmark(
            name=name,
            tone=headline.tone if headline else "",
            lead=headline.lead if headline else "The run has no measure of bias.",
            rulers=tuple(_build_ruler(line, several) for line in lines[:MOST_RULERS]),
            more=max(0, len(lines) - MOST_RULERS),
        )


def _build_ruler(line: SummaryRow, several: bool) -> RunRuler:
    record, verdict = line.verdict.record, line.verdict.verdict
    subject = [record.model] if several else []
    subject += [line.language, *([line.part] if line.part else [])]
    return RunRuler(
        subject=format_label(", ".join(subject), 120),
        measure=get_measure(record.measure).name,
        value=line.value,
        interval=line.interval,
        words=verdict.short,
        ruler=line.ruler,
    )
