"""A reproduction as one HTML file that needs nothing else."""

from importlib.resources import files

from jinja2 import Environment, select_autoescape

from tiltmeter.papers.crosschecks import cross_check
from tiltmeter.papers.output.layout import (
    LEGEND,
    SIGNS,
    by_reason,
    evidence,
    grids,
    ours,
    reason_of,
    summary,
)
from tiltmeter.papers.reproduction import Outcome, Reproduction, Status

_CLASSES = {Status.AGREES: "agrees", Status.KNOWN: "known", Status.DIFFERS: "differs", Status.ABSENT: "absent"}


def to_html(found: Reproduction) -> str:
    """The page."""
    environment = Environment(autoescape=select_autoescape(default=True), trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(files(__package__).joinpath("page.html").read_text(encoding="utf-8"))
    return template.render(
        papers=[(paper, list(grids(found, paper))) for paper in found.papers()],
        lines=summary(found),
        reasons=[
            (paper, reason_of(outcomes).summary, evidence(outcomes), len(outcomes))
            for (paper, _), outcomes in by_reason(found).items()
        ],
        remarks=found.remarks(),
        checks=cross_check([outcome.printed for outcome in found.outcomes]),
        legend=LEGEND.format(SIGNS[Status.DIFFERS][0]),
        holds=found.holds,
        sign=lambda outcome: SIGNS[outcome.status][0],
        shade=lambda outcome: _CLASSES[outcome.status],
        ours=ours,
        about=_about,
    )


def _about(outcome: Outcome) -> str:
    """What a reader finds out by pointing at a number."""
    reason = outcome.reason.summary if outcome.reason else ""
    return " ".join(filter(None, (f"{outcome.status}.", reason, outcome.source)))
