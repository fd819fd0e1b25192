"""The display of a run in a notebook: a summary table, and figures as Altair charts."""

import altair as alt
import pandas as pd

from tiltmeter.datasets.name_suggestions import suggest_name
from tiltmeter.errors import UsageError
from tiltmeter.measures import get_measure
from tiltmeter.printable_text import escape_row
from tiltmeter.reports.benchmark_sections import list_models
from tiltmeter.reports.combined_runs import combine_runs
from tiltmeter.reports.figures import Figure, FigureData, build_figures
from tiltmeter.reports.formatting import format_interval, format_reported_p
from tiltmeter.reports.record_rows import build_rows
from tiltmeter.reports.verdict_text import list_verdicts
from tiltmeter.runs.result import Result


def build_summary_table(result: Result) -> pd.DataFrame:
    """Return a table of the primary measure, with interval, n, p and verdict.

    The table has a row for each model, benchmark, language and part.
    """
    rows = [
        {
            "model": verdict.record.model,
            "benchmark": verdict.record.benchmark,
            "language": verdict.record.language,
            "part": verdict.record.part,
            "measure": verdict.record.measure,
            "value": get_measure(verdict.record.measure).number(verdict.record.value),
            "95% interval": format_interval(verdict.record),
            "n": verdict.record.n,
            "p": format_reported_p(verdict.record),
            "verdict": verdict.verdict.words,
        }
        for verdict in list_verdicts(build_rows(result.records))
    ]
    return pd.DataFrame([escape_row(row) for row in rows])


def build_summary_frame(result: Result) -> pd.DataFrame:
    """Return the table of the primary measures with numbers instead of formatted texts, for computations.

    `low` and `high` are the ends of the 95% interval, and `p` is corrected; values that do not exist are NaN.
    """
    rows = [
        {
            "model": verdict.record.model,
            "benchmark": verdict.record.benchmark,
            "language": verdict.record.language,
            "part": verdict.record.part,
            "measure": verdict.record.measure,
            "value": verdict.record.value,
            "low": verdict.record.low,
            "high": verdict.record.high,
            "n": verdict.record.n,
            "p": verdict.record.p_adjusted,
            "verdict": verdict.verdict.words,
        }
        for verdict in list_verdicts(build_rows(result.records))
    ]
    numbers = dict.fromkeys(("value", "low", "high", "p"), float)
    return pd.DataFrame([escape_row(row) for row in rows]).astype(numbers)


def build_chart(result: Result, benchmark: str | None = None, figure: str | None = None) -> alt.TopLevelMixin:
    """Return one figure of the report as an Altair chart; the default is the first figure of the first benchmark."""
    combined = combine_runs([("run", result)])
    names = list(dict.fromkeys(record.benchmark for record in combined.records))
    name = names[0] if benchmark is None else benchmark
    if name not in names:
        raise UsageError(f"The run has no benchmark {name}{suggest_name(name, names)}; it has {', '.join(names)}.")
    data = FigureData.select(name, combined.records, combined.scores, list_models(combined.records))
    figures: dict[str, Figure] = {one.slug: one for one in build_figures(data)}
    if not figures:
        raise UsageError(f"There is no figure of {name} for this run; use `summary()` for its numbers.")
    slug = next(iter(figures)) if figure is None else figure
    if slug not in figures:
        raise UsageError(
            f"There is no figure {slug}{suggest_name(slug, list(figures))}; available: {', '.join(figures)}."
        )
    return alt.Chart.from_dict(figures[slug].build_combined_spec())
