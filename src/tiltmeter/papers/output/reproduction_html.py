"""A reproduction as one self-contained HTML file."""

from tiltmeter.papers.crosschecks import cross_check
from tiltmeter.papers.output.layout import (
    LEGEND,
    SIGNS,
    by_reason,
    difference_of,
    evidence,
    grids,
    ours,
    reason_of,
    summary,
)
from tiltmeter.papers.printed import table_title
from tiltmeter.papers.reproduction import ReproducedNumber, Reproduction, Status
from tiltmeter.reports.templating import page_template

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_CLASSES = {Status.AGREES: "agrees", Status.KNOWN: "known", Status.DIFFERS: "differs", Status.ABSENT: "absent"}


def to_html(reproduction: Reproduction) -> str:
    """The page."""
    return page_template("reproduction.html.jinja", __package__).render(
        policy=_POLICY,
        papers=[(paper, list(grids(reproduction, paper))) for paper in reproduction.papers()],
        lines=summary(reproduction),
        reasons=[
            (paper, reason_of(outcomes).summary, evidence(outcomes), len(outcomes))
            for (paper, _), outcomes in by_reason(reproduction).items()
        ],
        remarks=reproduction.remarks(),
        checks=cross_check([outcome.printed for outcome in reproduction.outcomes]),
        legend=LEGEND.format(SIGNS[Status.DIFFERS][0]),
        holds=reproduction.holds,
        sign=lambda outcome: SIGNS[outcome.status][0],
        shade=lambda outcome: _CLASSES[outcome.status],
        ours=ours,
        difference_of=difference_of,
        table_title=table_title,
        tooltip=_tooltip,
    )


def _tooltip(outcome: ReproducedNumber) -> str:
    """The status of a number, the reason for a difference, and the source."""
    reason = outcome.reason.summary if outcome.reason else ""
    return " ".join(filter(None, (f"{outcome.status}.", reason, outcome.source)))
