"""What the list of runs shows of one run, from its manifest.json and measures.json; its tables are not read."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from tiltmeter.errors import DataError, TiltmeterError
from tiltmeter.measures import Record, get_measure, select_deciding_record
from tiltmeter.measures.records import OVERALL, from_dicts
from tiltmeter.measures.verdict import Verdict
from tiltmeter.printable_text import escape_unsafe
from tiltmeter.reports.combined_runs import label_records
from tiltmeter.reports.display_text import clip, format_label, shorten_names
from tiltmeter.reports.record_rows import ALL_MODELS, build_rows, select_summary_rows
from tiltmeter.reports.ruler_svg import Ruler
from tiltmeter.reports.summary_rows import SummaryRow, build_summary_rows
from tiltmeter.reports.verdict_text import Headline, RowVerdict, Tone, build_headlines, list_summary_verdicts
from tiltmeter.runs.over_all import only_over_all
from tiltmeter.runs.run_files import ANSWERS, ITEMS, MANIFEST, MEASURES, SCORES
from tiltmeter.runs.sample_notes import list_sample_notes

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
# The verdict of numbers that were written before there were verdicts.
_NO_VERDICT = Verdict("inconclusive", reason="made by an earlier version; its report has the verdict")


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
            RunBenchmark(**{**entry, "rulers": tuple(_parse_ruler(ruler) for ruler in entry["rulers"])})
            for entry in fields["benchmarks"]
        )
        names = {name: tuple(fields[name]) for name in ("models", "measured", "languages")}
        return cls(**{**fields, **names, "benchmarks": benchmarks})


def _parse_ruler(fields: Mapping[str, Any]) -> RunRuler:
    return RunRuler(**{**fields, "ruler": Ruler(**fields["ruler"])})


def summarize_run(folder: Path) -> RunSummary:
    """The summary of a run's folder; of one that is broken or not finished, with the problem."""
    if link := next((name for name in _FILES if (folder / name).is_symlink()), None):
        return RunSummary(problem=f"Its {link} is a link, which the studio does not follow; put the file there.")
    if not (folder / MANIFEST).is_file():
        return RunSummary(problem=f"It has no {MANIFEST}, so it was not finished; start it again, or delete it.")
    manifest: dict[str, Any] = {}
    try:
        manifest = _validate_mapping(_read_json(folder / MANIFEST), MANIFEST)
        return _build_summary(manifest, _validate_rows(_read_json(folder / MEASURES, only_over_all)))
    except (TiltmeterError, OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        return RunSummary(
            finished=_format_finish_time(manifest), models=_list_models(manifest, ()), problem=_describe_problem(error)
        )


def _read_json(path: Path, shorten: Callable[[bytes], bytes] = bytes) -> Any:
    if not path.exists():
        raise DataError(f"It has no {path.name}; make the run again.")
    if not path.is_file():  # to read a pipe would take for ever
        raise DataError(f"Its {path.name} is no regular file; make the run again.")
    try:
        return json.loads(shorten(path.read_bytes()))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"Its {path.name} cannot be read ({clip(str(error), 120)}); make the run again.") from None


def _validate_mapping(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DataError(f"Its {name} is not that of a run; make the run again.")
    return value


def _validate_rows(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise DataError(f"Its {MEASURES} is not that of a run; make the run again.")
    return value


def _describe_problem(error: Exception) -> str:
    if isinstance(error, TiltmeterError):
        return clip(str(error), 300)
    words = clip(f"{type(error).__name__}: {error}", 120)
    return f"Its {MANIFEST} or {MEASURES} lacks something ({words}); make the run again."


def _build_summary(manifest: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> RunSummary:
    try:
        over_all = from_dicts(row for row in rows if row.get("view") == "all" and row.get("model") != ALL_MODELS)
    except DataError as error:
        raise DataError(f"Its {MEASURES} cannot be read ({clip(str(error), 120)}); make the run again.") from None
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


def _format_finish_time(manifest: Mapping[str, Any]) -> str:
    """When the run was finished, as a UTC time that can be sorted; empty if it does not say so."""
    try:
        return datetime.fromisoformat(str(manifest.get("finished"))).astimezone(UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        return ""


def _list_models(manifest: Mapping[str, Any], records: Sequence[Record]) -> tuple[str, ...]:
    if records:
        return tuple(dict.fromkeys(record.model for record in records))
    entries = manifest.get("models")
    listed = entries if isinstance(entries, list) else []
    named = [str(entry["name"]) for entry in listed if isinstance(entry, dict) and "name" in entry]
    return tuple(shorten_names(named).values())


def _count_items(manifest: Mapping[str, Any], records: Iterable[Record]) -> int:
    """The items that were asked, or for imported predictions those that have a number."""
    asked = [int(entry["items"]) for entry in manifest.get("data", ()) if entry.get("items") is not None]
    if asked:
        return sum(asked)
    measured: dict[tuple[str, ...], int] = {}
    for record in records:
        if record.part != OVERALL:
            key = (record.benchmark, record.part, record.language)
            measured[key] = max(record.n, measured.get(key, 0))
    return sum(measured.values())


def _list_benchmarks(
    manifest: Mapping[str, Any], records: Sequence[Record], names: Mapping[str, str]
) -> Iterable[RunBenchmark]:
    for name in dict.fromkeys(record.benchmark for record in records):
        rows = build_rows(record for record in records if record.benchmark == name)
        samples = list(dict.fromkeys(list_sample_notes(manifest, name, names)))
        headline = next(iter(build_headlines(rows, samples)), None)
        judged = list_summary_verdicts(rows) if headline else _build_unjudged_rows(rows)
        lines = build_summary_rows(judged)
        several = len({line.verdict.record.model for line in lines}) > 1
        yield RunBenchmark(
            name=name,
            tone=headline.tone if headline else "",
            lead=_format_lead(headline, judged),
            rulers=tuple(_build_ruler(line, several) for line in lines[:MOST_RULERS]),
            more=max(0, len(lines) - MOST_RULERS),
        )


def _build_unjudged_rows(rows: Sequence[dict[str, Record]]) -> list[RowVerdict]:
    """The summary rows of a run of an earlier version, whose records have no verdicts."""
    return [
        RowVerdict(row, record, _NO_VERDICT)
        for row in select_summary_rows(rows)
        if (record := select_deciding_record(row)) is not None
    ]


def _format_lead(headline: Headline | None, judged: Sequence[RowVerdict]) -> str:
    if headline:
        return headline.lead
    return "Made by an earlier version, without a verdict; its report has one." if judged else "No measure of bias."


def _build_ruler(line: SummaryRow, several: bool) -> RunRuler:
    record, verdict = line.verdict.record, line.verdict.verdict
    subject = [record.model] if several else []
    subject += [line.language, *([line.part] if line.part else [])]
    return RunRuler(
        subject=format_label(", ".join(subject), 120),
        measure=get_measure(record.measure).name,
        value=line.value,
        interval=line.interval,
        words="no verdict" if verdict is _NO_VERDICT else verdict.short,
        ruler=line.ruler,
    )
