"""The statement on a run: one page for managers and auditors, with an annex on rules that ask for such evidence.

The findings are the headlines of the report, so the same rule decides them. The texts of the annex are in the file
`statement_annex.toml`.
"""

import hashlib
import json
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from markupsafe import Markup

import tiltmeter
from tiltmeter.errors import UsageError
from tiltmeter.files import reject_unwritable_file, write_text
from tiltmeter.reports.display_text import clip_text, format_label
from tiltmeter.reports.page_templates import load_template, read_template_file
from tiltmeter.reports.provenance import DataSetFacts, describe_data_sets, list_data_files, list_omissions
from tiltmeter.reports.record_rows import build_rows
from tiltmeter.reports.report_page import build_content_policy
from tiltmeter.reports.verdict_text import RowVerdict, build_headlines, format_measure_value, list_verdicts
from tiltmeter.runs.result import Result
from tiltmeter.runs.run_files import MANIFEST
from tiltmeter.runs.sample_notes import list_sample_notes

STATEMENT = "statement.html"
_DECIDED = ("significant", "no bias")  # the kinds of verdicts that are a result
_LONGEST_NAME = 200  # maximum number of characters of the name after --by


@dataclass(frozen=True, slots=True)
class StatedResult:
    """One row of the table of results: location, value with its interval, number of items and verdict."""

    model: str
    location: str
    value: str
    n: int
    verdict: str


@dataclass(frozen=True, slots=True)
class AnnexEntry:
    """A provision of a law or framework: what it asks for, and what this statement can contribute as evidence."""

    provision: str
    asks: str
    evidence: str


@dataclass(frozen=True, slots=True)
class AnnexPart:
    """The entries of one law or framework, with the date of the text that was read and its source."""

    name: str
    as_of: str
    source: str
    note: str
    entries: tuple[AnnexEntry, ...]


def get_statement_path(folder: Path | None, out: Path | None) -> Path:
    """Return the path of the statement: `out`, or statement.html in the run's folder; it must be writable."""
    if out is not None and out.is_dir():
        raise UsageError(f"{out} is a folder; pass a file to --out, such as {out / STATEMENT}.")
    if out is not None:
        path = out
    elif folder is not None:
        path = folder / STATEMENT
    else:
        raise UsageError("A result that was not saved has no folder for its statement; name a file with `out`.")
    reject_unwritable_file(path)
    return path


def write_statement(result: Result, path: Path, *, by: str, folder: Path | None = None) -> None:
    """Write the statement on a run to an HTML file.

    `by` is the person or organisation that made the run. `folder` is the folder of the run; without it, the statement
    has no hash of the manifest.
    """
    write_text(path, make_statement(result, by, folder))


def make_statement(result: Result, by: str, folder: Path | None = None) -> str:
    """Return the statement on a run as HTML; the parameters are those of `write_statement`."""
    name = " ".join(by.split())
    if not name:
        raise UsageError("--by is empty; name the person or organisation that made the run.")
    if len(name) > _LONGEST_NAME:
        raise UsageError(f"--by has {len(name)} characters; use at most {_LONGEST_NAME}.")
    rows = build_rows(result.records)
    headlines = build_headlines(rows)
    if not headlines:
        raise UsageError("The run has no result of a measure of bias, so there is nothing to state.")
    manifest, verdicts = result.manifest, list_verdicts(rows)
    style = read_template_file("statement.css")
    return load_template("statement.html.jinja").render(
        policy=build_content_policy(style, []),
        style=Markup(style),
        models=[format_label(entry.name, 100) for entry in manifest.models],
        by=name,
        finished=manifest.finished or "not recorded",
        headlines=headlines,
        findings=[_build_stated_result(verdict) for verdict in verdicts],
        limits=list(_list_limits(result, verdicts)),
        data_sets=_describe_data(result),
        samples=list_sample_notes(manifest.data),
        omissions=list_omissions(manifest),
        protocols=sorted({f"{record.benchmark}: {record.protocol}" for record in result.records}),
        files=list_data_files(manifest),
        weights=[(format_label(m.name, 100), m.revision or "", m.weights or "") for m in manifest.models],
        versions=manifest.versions,
        manifest_hash=_hash_manifest(folder),
        is_edited=manifest.is_edited,
        request=clip_text(json.dumps(dict(manifest.request), ensure_ascii=False), 1_000),
        annex=load_annex(),
        version=tiltmeter.__version__,
    )


def load_annex() -> tuple[AnnexPart, ...]:
    """Return the laws and frameworks of the annex."""
    text = (files("tiltmeter.reports") / "statement_annex.toml").read_text(encoding="utf-8")
    return tuple(
        AnnexPart(
            part["name"], part["as_of"], part["source"], part["note"], tuple(AnnexEntry(**e) for e in part["entries"])
        )
        for part in tomllib.loads(text)["parts"]
    )


def _build_stated_result(verdict: RowVerdict) -> StatedResult:
    record = verdict.record
    return StatedResult(
        model=format_label(record.model),
        location=format_label(f"{record.benchmark}, {record.part}, {record.language}", 100),
        value=format_measure_value(record),
        n=record.n,
        verdict=verdict.verdict.words,
    )


def _describe_data(result: Result) -> list[DataSetFacts]:
    return describe_data_sets((entry.benchmark for entry in result.manifest.data), [result.manifest])


def _list_limits(result: Result, verdicts: Sequence[RowVerdict]) -> Iterator[str]:
    """Yield the sentences on what the results do not show: for every run, and for this one."""
    yield "It does not show that a model is free of bias: it is about the groups and stereotypes in these data sets."
    yield "It does not show how an application that uses the model treats people; that depends on its task and prompts."
    yield "It says nothing about groups without items in the data sets, such as non-binary people in most of them."
    if any(verdict.verdict.kind not in _DECIDED for verdict in verdicts):
        yield "Some results are unreliable or undecided (see the verdicts): no evidence for the absence of bias."
    if any(entry.is_sample for entry in result.manifest.data):
        yield "Only a sample of the items was measured, so smaller biases remain undetected."
    if result.manifest.refused or result.manifest.skipped:
        yield "Some parts or items could not be measured; they are listed below."
    languages = {entry.language for entry in result.manifest.data}
    yield (
        f"It is about {len(languages)} language{'s' if len(languages) != 1 else ''}: {', '.join(sorted(languages))}. "
        + ("Results in other languages can differ.")
    )


def _hash_manifest(folder: Path | None) -> str:
    if folder is None:
        return ""
    return hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()
