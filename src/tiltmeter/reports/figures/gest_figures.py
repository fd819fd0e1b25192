"""The figures that only GEST-form data have: templates, stereotypes, ranks, and GEST against WinoBias."""

from collections.abc import Iterator, Sequence

from tiltmeter.benchmarks.gest import TEMPLATES
from tiltmeter.errors import DataError
from tiltmeter.forms.gest import STEREOTYPES
from tiltmeter.measures.records import OVERALL, Record
from tiltmeter.measures.winobias import COMPARED, compute_validity, pair_validity_records
from tiltmeter.reports.figures.chart_elements import (
    MOST_PANELS,
    Domain,
    build_model_legend,
    format_panel_title,
    get_comparison_key,
)
from tiltmeter.reports.figures.figure import Figure, LegendEntry, Panel
from tiltmeter.reports.figures.ranks import draw_feminine_ranks
from tiltmeter.reports.figures.stereotypes import StereotypeSides, draw_stereotypes
from tiltmeter.reports.figures.template_rates import build_template_legend, draw_template_rates
from tiltmeter.reports.figures.validity_map import draw_validity_map
from tiltmeter.reports.language_names import get_language_name
from tiltmeter.reports.record_rows import group_records
from tiltmeter.reports.style import MEN, WOMEN

_KINDS = (LegendEntry("stereotypes about women", WOMEN), LegendEntry("stereotypes about men", MEN))


def build_template_figures(records: Sequence[Record], models: Domain) -> Iterator[Figure]:
    """g_s in each template, where a model was asked in several (Pikuliak et al. 2024, Figures 9 and 10)."""
    rates = [r for r in records if r.measure == "g_s" and r.view == "all" and r.part in TEMPLATES]
    if len({r.part for r in rates}) < 2:
        return
    # Numbers that are not comparable are in different panels.
    by_panel: dict[tuple[str, ...], list[Record]] = {}
    for r in rates:
        by_panel.setdefault((get_language_name(r.language), *get_comparison_key(r)), []).append(r)
    ends = [1.0, *(end for r in rates for end in (r.value, r.low, r.high) if end is not None)]
    yield Figure(
        "templates",
        "g_s by template",
        "How much g_s depends on the template that quotes the sentences, with 95% intervals; the dotted line is no "
        "bias. The word for a man is compared with that for a woman in its place.",
        tuple(
            Panel(
                format_panel_title(key, list(by_panel)),
                draw_template_rates(panel, models, (min(ends) / 1.1, max(ends) * 1.05)),
            )
            for key, panel in by_panel.items()
        ),
        legend=build_template_legend(r.part for r in rates),
        wide=False,
    )


def build_validity_figures(records: Sequence[Record], models: Domain) -> Iterator[Figure]:
    """g_s of GEST against that of WinoBias, where several models have both (Pikuliak et al. 2024, Figure 8).

    `records` are those of one GEST-form benchmark and of WinoBias.
    """
    by_panel: dict[tuple[str, ...], list[Record]] = {}
    for r in records:
        # Models of one kind are asked alike; kinds are not comparable.
        by_panel.setdefault((r.kind or "unknown kind",), []).append(r)
    points = {key: pair_validity_records(panel) for key, panel in by_panel.items()}
    points = {key: pairs for key, pairs in points.items() if len(pairs) > 1}
    if not points:
        return
    sentences = [_describe_correlation(key[0], by_panel[key], len(points) > 1) for key in points]
    yield Figure(
        "validity",
        "GEST against WinoBias",
        "g_s of GEST (the mean over templates) and of WinoBias "
        f"({COMPARED}), with 95% intervals; the dotted lines are no bias. If g_s measures a property of models, those "
        f"with a higher one on GEST have a higher one on WinoBias. {' '.join(sentences)}",
        tuple(
            Panel(format_panel_title(key, list(points)), draw_validity_map(pairs, models))
            for key, pairs in points.items()
        ),
        legend=build_model_legend(models, (model for pairs in points.values() for model in pairs)),
    )


def _describe_correlation(kind: str, records: Sequence[Record], several: bool) -> str:
    """A sentence with the correlation over models, or why there is none; it names the kind if there are several."""
    where = f" ({kind})" if several else ""
    try:
        found = compute_validity(records)
    except DataError:
        return f"Fewer than four models{where}: too few for a correlation."
    ends = f"[{found.low:.2f}, {found.high:.2f}]"
    return f"Over {len(found.models)} models{where} Pearson's r is {found.correlation:.2f} {ends}."


def build_stereotype_figures(records: Sequence[Record], kinds: StereotypeSides) -> Iterator[Figure]:
    """The masculine rates of the stereotypes, a panel for each model and language."""
    rates = [r for r in records if r.view == "stereotype" and r.measure in ("q_i", "p_i") and r.part != OVERALL]
    if not rates:
        return
    rate = rates[0].measure
    ends = [end for r in rates for end in (r.value, r.low, r.high) if end]
    scale = (0.0, 1.0) if rate == "p_i" else (min(ends) * 0.95, max(ends) * 1.05)
    several = len({r.language for r in rates}) > 1
    several_parts = len({r.part for r in rates}) > 1
    panels = [
        Panel(f"{model}, {get_language_name(language)}" if several else model, draw_stereotypes(group, kinds, scale))
        for (model, language), group in group_records(rates, "model", "language")
    ]
    caveat = (
        "Only comparisons between stereotypes are meaningful, since one of the two words is more frequent. "
        if rate == "q_i"
        else ""
    )
    order = "In a model biased towards stereotypes, those about men are to the right of those about women. "
    if len({kinds[r.group] for r in rates}) < 2:
        order = ""
    yield Figure(
        "stereotypes",
        f"The {_describe_count(rates)} stereotypes",
        f"{order}{caveat}The lines are 95% intervals{', one for each template' if several_parts else ''}.",
        tuple(panels),
        legend=(*_KINDS, *build_template_legend(r.part for r in rates)),
        wide=False,
        folded=len(panels) > MOST_PANELS,
    )


def _describe_count(records: Sequence[Record]) -> str:
    """The number of stereotypes; GEST's in words."""
    groups = {r.group for r in records}
    return "sixteen" if len(groups) == len(STEREOTYPES) else str(len(groups))


def build_rank_figures(records: Sequence[Record], kinds: StereotypeSides) -> Iterator[Figure]:
    """The feminine ranks of the stereotypes, where there are several."""
    ranks = [r for r in records if r.measure == "feminine rank" and r.part != OVERALL]
    if len({(r.model, r.part, r.language) for r in ranks}) > 1:
        yield Figure(
            "feminine-ranks",
            "Feminine ranks",
            f"The rank of each stereotype among the {_describe_count(ranks)}, "
            "from the most feminine to the most masculine, "
            "over all models, languages and templates. Boxes span the quartiles.",
            (Panel("", draw_feminine_ranks(ranks, kinds)),),
            legend=_KINDS,
        )
