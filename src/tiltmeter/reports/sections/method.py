"""Method and provenance: measures, statistics, limits of the data sets, settings and versions of the runs."""

from collections.abc import Iterator, Sequence
from typing import Any

from markupsafe import Markup

from tiltmeter.measures import Measure, get_measure, select_deciding_record
from tiltmeter.measures.measure import name_clusters
from tiltmeter.reports import provenance
from tiltmeter.reports.combined_runs import CombinedRuns
from tiltmeter.reports.page_templates import load_template
from tiltmeter.reports.record_rows import build_rows
from tiltmeter.reports.sections.report_section import RenderedSection, ReportContent, ReportSection
from tiltmeter.runs.file_digests import describe_changed_files
from tiltmeter.runs.manifest import Manifest, Statistics
from tiltmeter.runs.result import Result
from tiltmeter.runs.sample_notes import list_sample_notes


def render(content: ReportContent) -> Iterator[RenderedSection]:
    """The section on method and provenance."""
    gathered = content.gathered
    manifests = [manifest for _, manifest in gathered.runs]
    samples = (note for manifest in manifests for note in list_sample_notes(manifest.data, None, gathered.benchmarks))
    html = load_template("method.html.jinja").render(
        definitions=provenance.list_definitions(gathered.records),
        statistics=manifests[0].statistics if manifests else Statistics(),
        clusters=_list_clusters(gathered),
        violations=_list_violations(gathered),
        samples=list(dict.fromkeys(samples)),
        data_sets=provenance.describe_data_sets((section.name for section in content.benchmarks), manifests),
        runs=[
            _describe_run(name, manifest, result)
            for (name, manifest), (_, result) in zip(gathered.runs, content.runs, strict=True)
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


def _list_primary_measures(gathered: CombinedRuns) -> list[Measure]:
    """The measures that decide the verdicts of a report."""
    found = (select_deciding_record(row) for row in build_rows(gathered.records))
    return [get_measure(name) for name in dict.fromkeys(record.measure for record in found if record is not None)]


def _list_clusters(gathered: CombinedRuns) -> list[str]:
    """The nouns of the clusters of items whose correlation the intervals account for."""
    columns = dict.fromkeys(
        name
        for measure in _list_primary_measures(gathered)
        for name in measure.cluster_columns
        if name in gathered.scores and gathered.scores[name].nunique() > 1
    )
    return [name_clusters([name], 1) for name in columns]


def _list_violations(gathered: CombinedRuns) -> Sequence[str]:
    """Why a result of these measures may not be interpretable."""
    return list(dict.fromkeys(rule.violation for m in _list_primary_measures(gathered) for rule in m.validity))


SECTION = ReportSection("method", render, order=90)
