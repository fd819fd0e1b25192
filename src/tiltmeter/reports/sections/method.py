"""The report section on method and provenance: measures, statistics, limits of data sets, settings, versions."""

from collections.abc import Iterator, Sequence
from typing import Any

from markupsafe import Markup

from tiltmeter.comparing.cells import list_common_fixed_factors
from tiltmeter.measures import Measure, get_measure, select_deciding_record
from tiltmeter.measures.measure import name_clusters
from tiltmeter.measures.verdict_rule import count_test_families
from tiltmeter.reports import provenance
from tiltmeter.reports.combined_runs import CombinedRuns
from tiltmeter.reports.error_rates import describe_family_count, list_look_notes
from tiltmeter.reports.factor_notes import describe_dominant_factors
from tiltmeter.reports.page_templates import load_template
from tiltmeter.reports.record_rows import build_rows, group_records
from tiltmeter.reports.sections.report_section import RenderedSection, ReportContent, ReportSection
from tiltmeter.runs.file_digests import describe_changed_files
from tiltmeter.runs.fixed_factors import describe_fixed_factors, list_fixed_columns
from tiltmeter.runs.manifest import Manifest, Statistics
from tiltmeter.runs.measurement import read_families
from tiltmeter.runs.result import Result
from tiltmeter.runs.sample_notes import list_sample_notes


def render(content: ReportContent) -> Iterator[RenderedSection]:
    """Yield the section on method and provenance."""
    combined = content.gathered
    manifests = [manifest for _, manifest in combined.runs]
    samples = (note for manifest in manifests for note in list_sample_notes(manifest.data, None, combined.benchmarks))
    looks = (note for manifest in manifests for note in list_look_notes(manifest.looks, combined.benchmarks))
    fixed = (describe_fixed_factors(manifest.statistics.fixed) for manifest in manifests)
    html = load_template("method.html.jinja").render(
        definitions=provenance.list_definitions(combined.records),
        statistics=manifests[0].statistics if manifests else Statistics(),
        factors=_list_factors(content),
        dominant=_describe_dominant_factors(combined),
        violations=_list_violations(combined),
        samples=list(dict.fromkeys(filter(None, [*samples, *looks, *fixed]))),
        error_rate=_describe_error_rate(content),
        data_sets=provenance.describe_data_sets((section.name for section in content.benchmarks), manifests),
        runs=[
            _describe_run(name, manifest, result)
            for (name, manifest), (_, result) in zip(combined.runs, content.runs, strict=True)
        ],
    )
    yield RenderedSection("method", "Method", Markup(html))


def _describe_run(name: str, manifest: Manifest, result: Result) -> dict[str, Any]:
    return {
        "name": name,
        "facts": provenance.list_facts(manifest),
        "files": provenance.list_data_files(manifest),
        "omissions": provenance.list_omissions(manifest),
        "flags": provenance.list_flagged_items(manifest),
        "notes": [*describe_changed_files(result.changed), *provenance.list_notes(manifest)],
        "models": provenance.build_model_table(manifest),
    }


def _list_primary_measures(combined: CombinedRuns) -> list[Measure]:
    """Return the primary measures: those that decide the verdicts of the report."""
    records = (select_deciding_record(row) for row in build_rows(combined.records))
    return [get_measure(name) for name in dict.fromkeys(record.measure for record in records if record is not None)]


def _describe_dominant_factors(combined: CombinedRuns) -> list[str]:
    """Return a sentence for each model, benchmark and factor (shared property of items) that widens intervals most."""
    groups = group_records(combined.records, "model", "benchmark")
    return [
        f"{model} on {benchmark}: {note}"
        for (model, benchmark), records in groups
        for note in describe_dominant_factors(records)
    ]


def _list_factors(content: ReportContent) -> list[str]:
    """Return a noun for each factor (shared property of items) that intervals account for."""
    fixed = list_fixed_columns(list_common_fixed_factors(content.runs))
    columns = dict.fromkeys(
        name
        for measure in _list_primary_measures(content.gathered)
        for name in measure.factor_columns
        if name in content.gathered.scores and name not in fixed and content.gathered.scores[name].nunique() > 1
    )
    return [name_clusters([name], 1) for name in columns]


def _describe_error_rate(content: ReportContent) -> str:
    """Return a sentence with the number of test families in all runs and the maximum rate of false claims."""
    return describe_family_count(
        sum(
            count_test_families(result.records, read_families(result.manifest.statistics.families))
            for _, result in content.runs
        )
    )


def _list_violations(combined: CombinedRuns) -> Sequence[str]:
    """Return the reasons that can make a result of the primary measures not interpretable."""
    return list(dict.fromkeys(rule.violation for m in _list_primary_measures(combined) for rule in m.validity))


SECTION = ReportSection("method", render, order=90)
