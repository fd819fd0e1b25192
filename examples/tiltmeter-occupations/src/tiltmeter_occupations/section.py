"""A section of the report: the occupations with the strongest preference for either pronoun."""

from collections.abc import Iterator

from markupsafe import Markup

from tiltmeter.reports.sections import RenderedSection, ReportContent, ReportSection
from tiltmeter_occupations.benchmark import ROLE


def render(content: ReportContent) -> Iterator[RenderedSection]:
    """Yield a list of the two most extreme occupations of each model, if the report contains this benchmark."""
    scores = content.gathered.scores
    own = scores[scores["role"] == ROLE]
    if not len(own):
        return
    lines = Markup()
    for model, rows in own.groupby("model", observed=True, sort=False):
        means = rows.groupby("occupation")["score"].mean()
        lines += Markup("<li><bdi>{}</bdi>: strongest preference for she: {}; for he: {}</li>\n").format(
            model, means.idxmax(), means.idxmin()
        )
    html = Markup('<section id="extremes">\n<h2>Most extreme occupations</h2>\n<ul>\n{}</ul>\n</section>\n').format(
        lines
    )
    yield RenderedSection("extremes", "Extreme occupations", html)


SECTION = ReportSection("occupation-extremes", render, order=60)
