"""Method and provenance: measures, statistics, limits of the data sets, settings and versions of the runs."""

from collections.abc import Iterator, Sequence
from typing import Any

from markupsafe import Markup

from tiltmeter.measures import Measure, deciding, measure_named
from tiltmeter.measures.measure import name_clusters
from tiltmeter.reports import provenance
from tiltmeter.reports.gather import Gathered
from tiltmeter.reports.record_rows import rows_of
from tiltmeter.reports.sections.report_section import RenderedSection, ReportContent, ReportSection
from tiltmeter.reports.templating import page_template
from tiltmeter.runs.file_digests import on_changed
from tiltmeter.runs.manifest import Manifest, Statistics
from tiltmeter.runs.result import Result
from tiltmeter.runs.samples import sample_notes


def render(content: ReportContent) -> Iterator[RenderedSection]:
    """The section on method and provenance."""
    gathered = content.gathered
    manifests = [manifest for _, manifest in gathered.runs]
    samples = (note for manifest in manifests for note in sample_notes(manifest.data, None, gathered.benchmarks))
    html = page_template("method.html.jinja").render(
        definitions=provenance.definitions(gathered.records),
        statistics=manifests[0].statistics if manifests else Statistics(),
        clusters=_list_clusters(gathered),
        violations=_list_violations(gathered),
        samples=list(dict.fromkeys(samples)),
        data_sets=provenance.data_set_facts((section.name for section in content.benchmarks), manifests),
        runs=[
            _describe_run(name, manifest, result)
            for (name, manifest), (_, result) in zip(gathered.runs, content.runs, strict=True)
        ],
    )
    yield RenderedSection("method", "Method", Markup(html))


def _describe_run(name: str, manifest: Manifest, result: Result) -> dict[str, Any]:
    return {
        "name": name,
        "facts": provenance.facts(manifest),
        "files": provenance.data_files(manifest),
        "omissions": provenance.omissions(manifest),
        "flags": provenance.flags(manifest),
        "notes": [*on_changed(result.changed), *provenance.notes(manifest)],
        "models": provenance.model_table(manifest),
    }


def _primary_measures(gathered: Gathered) -> list[Measure]:
    """The measures that decide the verdicts of a report."""
    found = (deciding(row) for row in rows_of(gathered.records))
    return [measure_named(name) for name in dict.fromkeys(record.measure for record in found if record is not None)]


def _list_clusters(gathered: Gathered) -> list[str]:
    """The nouns of the clusters of items whose correlation the intervals account for."""
    columns = dict.fromkeys(
        name
        for measure in _primary_measures(gathered)
        for name in measure.cluster_columns
        if name in gathered.scores and gathered.scores[name].nunique() > 1
    )
    return [name_clusters([name], 1) for name in columns]


def _list_violations(gathered: Gathered) -> Sequence[str]:
    """Why a result of these measures may not be interpretable."""
    return list(dict.fromkeys(rule.violation for m in _primary_measures(gathered) for rule in m.validity))


SECTION = ReportSection("method", render, order=90)
