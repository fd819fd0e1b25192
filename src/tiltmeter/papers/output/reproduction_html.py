"""A reproduction as one self-contained HTML file."""

from tiltmeter.papers.consistency_checks import check_consistency
from tiltmeter.papers.output.reproduction_tables import (
    LEGEND,
    SIGNS,
    build_grids,
    describe_contradiction,
    format_recomputed,
    get_reason,
    group_by_reason,
    list_evidence,
    summarize_tables,
)
from tiltmeter.papers.printed_numbers import format_table_title
from tiltmeter.papers.reproduction import ReproducedNumber, Reproduction, ReproductionStatus
from tiltmeter.reports.page_templates import load_template

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_CLASSES = {
    ReproductionStatus.AGREES: "agrees",
    ReproductionStatus.KNOWN: "known",
    ReproductionStatus.DIFFERS: "differs",
    ReproductionStatus.ABSENT: "absent",
}


def to_html(reproduction: Reproduction) -> str:
    """The page."""
    return load_template("reproduction.html.jinja", __package__).render(
        policy=_POLICY,
        papers=[(paper, list(build_grids(reproduction, paper))) for paper in reproduction.list_papers()],
        lines=summarize_tables(reproduction),
        reasons=[
            (paper, get_reason(outcomes).summary, list_evidence(outcomes), len(outcomes))
            for (paper, _), outcomes in group_by_reason(reproduction).items()
        ],
        remarks=reproduction.list_remarks(),
        checks=check_consistency([outcome.printed for outcome in reproduction.outcomes]),
        legend=LEGEND.format(SIGNS[ReproductionStatus.DIFFERS][0]),
        holds=reproduction.holds,
        sign=lambda outcome: SIGNS[outcome.status][0],
        shade=lambda outcome: _CLASSES[outcome.status],
        ours=format_recomputed,
        difference_of=describe_contradiction,
        table_title=format_table_title,
        tooltip=_format_tooltip,
    )


def _format_tooltip(outcome: ReproducedNumber) -> str:
    """The status of a number, the reason for a difference, and the source."""
    reason = outcome.reason.summary if outcome.reason else ""
    return " ".join(filter(None, (f"{outcome.status}.", reason, outcome.source)))
