"""A run in a notebook: its summary as a table, and its figures as charts."""

import altair as alt
import pandas as pd

from tiltmeter.datasets.suggest import did_you_mean
from tiltmeter.errors import UsageError
from tiltmeter.measures import measure_named
from tiltmeter.printable import visible_values
from tiltmeter.reports.figures import Figure, FigureData, build_figures
from tiltmeter.reports.formatting import format_interval, reported_p
from tiltmeter.reports.gather import gather
from tiltmeter.reports.page import models_of
from tiltmeter.reports.record_rows import rows_of
from tiltmeter.reports.words import row_verdicts
from tiltmeter.runs.result import Result


def summary_table(result: Result) -> pd.DataFrame:
    """A row for each model, benchmark, language and part: the number that decides, its interval, n, p and verdict."""
    rows = [
        {
            "model": verdict.record.model,
            "benchmark": verdict.record.benchmark,
            "language": verdict.record.language,
            "part": verdict.record.part,
            "measure": verdict.record.measure,
            "value": measure_named(verdict.record.measure).number(verdict.record.value),
            "95% interval": format_interval(verdict.record),
            "n": verdict.record.n,
            "p": reported_p(verdict.record),
            "verdict": verdict.verdict.words,
        }
        for verdict in row_verdicts(rows_of(result.records))
    ]
    return pd.DataFrame([visible_values(row) for row in rows])


def chart_of(result: Result, benchmark: str | None = None, figure: str | None = None) -> alt.TopLevelMixin:
    """One figure of the report as an Altair chart: by default the first of the first benchmark."""
    gathered = gather([("run", result)])
    names = list(dict.fromkeys(record.benchmark for record in gathered.records))
    name = names[0] if benchmark is None else benchmark
    if name not in names:
        raise UsageError(f"The run has no benchmark {name}{did_you_mean(name, names)}; it has {', '.join(names)}.")
    data = FigureData.select(name, gathered.records, gathered.scores, models_of(gathered.records))
    found: dict[str, Figure] = {one.slug: one for one in build_figures(data)}
    if not found:
        raise UsageError(f"There is no figure of {name} for this run; `summary()` has its numbers.")
    slug = next(iter(found)) if figure is None else figure
    if slug not in found:
        raise UsageError(f"There is no figure {slug}{did_you_mean(slug, list(found))}; there is {', '.join(found)}.")
    return alt.Chart.from_dict(found[slug].paper())
