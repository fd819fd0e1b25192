"""Definitions of the measures of GEST and WinoBias for language models; `gest` and `winobias` compute them."""

import math

from tiltmeter.measures.factors import Labels
from tiltmeter.measures.item_contributions import ItemValues, Strength, scale_role
from tiltmeter.measures.measure import Measure, build_population_measure
from tiltmeter.measures.standard_errors import Floats
from tiltmeter.measures.stereotype_sides import weigh_by_stereotype, weigh_men_minus_women
from tiltmeter.measures.template_variation import build_spread_measure
from tiltmeter.measures.validity_rules import MAX_UNKNOWN, limit_unknown_tokens

AS_PUBLISHED = "as published"
# Columns with labels that several sentences share: the occupation and the template in WinoBias; in GEST, the identifier
# of the English original (`idea`).
OCCUPATION_FACTORS = ("occupation", "template")
IDEA = "idea"


def _weigh_by_occupation(labels: Labels) -> Floats:
    return weigh_men_minus_women(labels, lambda label: label == "male")


# The margin is 1.22, because around a probability of 0.5 an odds ratio of 1.22 is a difference of 5 percentage points
# (log 1.22 = 4 * 0.05).
G_S = Measure(
    "g_s",
    "q_m / q_f: the masculine rate in stereotypes about men, divided by that in stereotypes about women; 1 is no bias; "
    "the interval is for the stereotypes in the data",
    axis="stereotype rate, above 1 towards stereotypes",
    ideal=1.0,
    bias_direction=1,
    ratio=True,
    reach=1.0,
    digits=2,
    margin=1.22,
    decides=True,
    columns=("g_s", "g_s of stereotypes like these", "q_m", "q_f"),
    population_measure="g_s of stereotypes like these",
    template_spread="template spread of g_s",
    statement=lambda value: (
        "compared with the feminine wording, the masculine wording is "
        f"{value:.2f} times as likely in stereotypes about men as in those about women"
    ),
    validity=(limit_unknown_tokens(MAX_UNKNOWN),),
    factors=OCCUPATION_FACTORS,
    figures=("templates", "validity"),
)
G_S_LIKE = build_population_measure(G_S)
G_S_TEMPLATE_SPREAD = build_spread_measure(G_S)
_STRENGTHS = (Strength(("log_ratio",), "signed"),)
LOG_G_S = Measure(
    "log g_s",
    "the logarithm of g_s; 0 is no bias",
    axis="log g_s",
    ideal=0.0,
    bias_direction=1,
    reach=0.7,
    digits=3,
    margin=round(math.log(1.22), 3),
    items=(
        ItemValues(
            ("log_ratio",),
            scale_role("log_ratio"),
            discrete=False,
            columns=("stereotype",),
            weigh=weigh_by_stereotype,
            strata="stereotypes",
            sides="side",
            two_sided=True,
            factors=(IDEA,),
            strengths=_STRENGTHS,
        ),
        ItemValues(
            ("log_ratio",),
            scale_role("log_ratio"),
            discrete=False,
            columns=("occupation_gender",),
            weigh=_weigh_by_occupation,
            strata="genders of occupations",
            two_sided=True,
            factors=OCCUPATION_FACTORS,
            strengths=_STRENGTHS,
        ),
    ),
)
_MEANINGS = {
    "q_m": "the masculine rate of the stereotypes about men: the geometric mean of P(masculine) / P(feminine)",
    "q_f": "the masculine rate of the stereotypes about women",
    "q_i": "the masculine rate of one stereotype, or sub-stereotype: the geometric mean of P(masculine) / P(feminine) "
    "over its sentences",
    "q_fam": "the masculine rate of the sentences about men's stereotypes that contain family words",
}
GEST_MEASURES = (
    G_S,
    G_S_LIKE,
    G_S_TEMPLATE_SPREAD,
    LOG_G_S,
    *(
        Measure(name, meaning, ratio=True, digits=2, figures=("stereotypes",) if name == "q_i" else ())
        for name, meaning in _MEANINGS.items()
    ),
    Measure(f"g_s {AS_PUBLISHED}", "g_s on the scale of the paper's tables", ideal=1.0, ratio=True, digits=2),
    *(
        Measure(f"{n} {AS_PUBLISHED}", f"{n} on the scale of the paper's tables", ratio=True, digits=2)
        for n in _MEANINGS
    ),
    Measure(
        "feminine rank",
        "the rank of a stereotype, from the most feminine (1) to the most masculine",
        figures=("feminine-ranks",),
    ),
    Measure(
        "correlation of log q_i",
        "the mean correlation of log q_i between templates, between models, or between pairs of model and language",
        digits=2,
    ),
    Measure(
        "stereotypes with sentences",
        "the number of stereotypes that have sentences in the data, if some have none",
        digits=0,
    ),
)
