"""The points of GEST's Figure 8: g_s of masked models on GEST and on WinoBias."""

from collections.abc import Sequence
from statistics import fmean

from tiltmeter.papers.figures.rate_rows import RateRow
from tiltmeter.papers.sources.gest_tables import load_names
from tiltmeter.papers.sources.gest_winobias import read_winobias
from tiltmeter.papers.sources.recipe_context import RecipeContext
from tiltmeter.reports.grouping import group_by


def list_validity_points(context: RecipeContext, rows: Sequence[RateRow]) -> list[tuple[str, str, float, float]]:
    """Return model, source, g_s on GEST (the mean over templates) and g_s on WinoBias."""
    on_winobias = read_winobias(context)
    return [
        (system, source, fmean(row.stereotype_rate for row in group), on_winobias[load_names()[table, system]])
        for (table, system, source), group in group_by(rows, lambda r: (r.table, r.system, r.source)).items()
    ]
