"""Error rates, coverage and power if items share several crossed factors, on the structures of real data sets.

Bias is attached to factors in two ways: the preferences of a released model are mirrored in whole clusters, or the
probits of preferences have normal effects of factors. Without TILTMETER_MIRROR, only made items are simulated.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

import numpy as np
from scipy.special import ndtri

from perf.simulations.comparisons import quantity
from perf.simulations.gates import result
from perf.simulations.populations import Shape
from perf.simulations.runner import Rng, Setting, Simulate, Table, each
from perf.simulations.structures import (
    Structure,
    draw_effects,
    draw_preferences,
    flip,
    get_mirror,
    load_gest,
    load_structure,
    load_words,
    make_words,
)
from perf.simulations.verdicts import Case, Row, power, record
from tiltmeter.comparing import check, parse_rule
from tiltmeter.forms.geneval import FEMININE, MASCULINE
from tiltmeter.forms.winomt import ANTI, PRO
from tiltmeter.measures import geneval, winobias, winomt
from tiltmeter.measures.association import SS
from tiltmeter.measures.contrasts import compute_contrast
from tiltmeter.measures.estimates import Estimate, Share, compute_two_sided_p
from tiltmeter.measures.factors import Codes, Factors, Labels
from tiltmeter.measures.gest_parts import GestPart, estimate_fixed_rate
from tiltmeter.measures.multiple_choice import estimate_net_share
from tiltmeter.measures.standard_errors import Floats

ALPHA = 0.05
# How a structure is loaded; the function is called in the process that simulates.
Load = Callable[[], Structure]
Effects = Mapping[str, float]
EstimateGap = Callable[[Floats, Floats, Factors | None], Estimate]
# The standard deviation of the probit effects of one factor, and of each of several factors together.
ALONE, TOGETHER = 0.7, 0.4
# Weaker effects, with which models can pass gates.
WEAK = (0.3, 0.2)
# In CrowS-Pairs a single word can be in a quarter of the pairs.
WORDS_OF_PAIRS = (0.5, 0.4)
TYPE_I, FORMER, COVERAGE = "type I", "type I, one factor", "coverage"

TABLES = (
    Table(
        "crossed",
        "Crossed factors: type I error of verdicts with all factors and with one factor, and coverage",
        ("measure", "bias is attached to"),
        (TYPE_I, FORMER, COVERAGE),
    ),
    Table(
        "crossed differences",
        "Crossed factors: differences of two models",
        ("answers", "models differ by"),
        (TYPE_I, FORMER, COVERAGE),
    ),
    Table(
        "crossed gates",
        "Crossed factors: the gate `SS distance 5`, models that pass",
        ("items", "bias is attached to"),
        ("50", "printed for an even model", "55"),
    ),
    Table(
        "crossed power",
        "Crossed factors: power at the detectable effect that is printed",
        ("items", "bias is attached to"),
        ("effect", "power"),
        ("effect",),
    ),
)


def list_nulls(factors: Sequence[str], alone: float = ALONE, together: float = TOGETHER) -> dict[str, Effects]:
    """Return where bias can be attached: to single items, to each factor, to all factors."""
    nulls: dict[str, Effects] = {"single items": {}}
    nulls |= {factor: {factor: alone} for factor in factors}
    return nulls | ({"all factors": dict.fromkeys(factors, together)} if len(factors) > 1 else {})


def rejects(estimate: Estimate, null: float) -> bool:
    """Return whether the test of an estimate is significant."""
    return compute_two_sided_p(estimate, null) < ALPHA


def share_with_effects(load: Load, effects: Effects) -> Simulate:
    """Simulate a percentage whose probits have effects of factors, with true values of 50 and 60."""

    def draw_and_count(rng: Rng) -> dict[str, float | None]:
        structure = load()
        even = draw_preferences(rng, structure, effects)
        biased = draw_preferences(rng, structure, effects, 0.6)
        return {
            TYPE_I: rejects(Share.from_values(even, structure.factors), 50.0),
            FORMER: rejects(Share.from_values(even, structure.former_factors), 50.0),
            COVERAGE: not rejects(Share.from_values(biased, structure.factors), 60.0),
        }

    return each(draw_and_count)


def share_of_flips(load: Load, factors: Sequence[str]) -> Simulate:
    """Simulate SS of a released model whose preferences are mirrored in random clusters."""

    def draw_and_count(rng: Rng) -> dict[str, float | None]:
        structure = load()
        values = flip(rng, structure, structure.answers[0], factors)
        return {
            TYPE_I: rejects(Share.from_values(values, structure.factors), 50.0),
            FORMER: rejects(Share.from_values(values, structure.former_factors), 50.0),
        }

    return each(draw_and_count)


def questions(load: Load, effects: Effects) -> Simulate:
    """Simulate the bias of BBQ in ambiguous contexts; 40% of the answers are "unknown"."""

    def draw_and_count(rng: Rng) -> dict[str, float | None]:
        structure = load()
        unknown = rng.random(structure.n) < 0.4
        correct = np.full(structure.n, "unknown", dtype=object)

        def estimate(preferences: Floats, factors: Factors | None) -> Estimate:
            sign = np.where(unknown, 0.0, preferences / 50 - 1)
            return estimate_net_share(sign, correct, factors, ambiguous=True)

        even, biased = draw_preferences(rng, structure, effects), draw_preferences(rng, structure, effects, 0.6)
        return {
            TYPE_I: rejects(estimate(even, structure.factors), 0.0),
            FORMER: rejects(estimate(even, structure.former_factors), 0.0),
            COVERAGE: not rejects(estimate(biased, structure.factors), 0.6 * 20),
        }

    return each(draw_and_count)


def occupations(load: Load, effects: Effects) -> Simulate:
    """Simulate g_s of WinoBias: standard normal log ratios plus effects of factors, without and with a true bias."""

    def draw_and_count(rng: Rng) -> dict[str, float | None]:
        structure = load()
        genders = structure.get_labels("occupation_gender")
        score = draw_effects(rng, structure, effects) + rng.normal(size=structure.n)
        bias = np.where(genders == winobias.GENDERS[0], 0.25, -0.25)
        return {
            TYPE_I: rejects(winobias.estimate_rate(score, genders, structure.factors), 1.0),
            FORMER: rejects(winobias.estimate_rate(score, genders, structure.former_factors), 1.0),
            COVERAGE: not rejects(winobias.estimate_rate(score + bias, genders, structure.factors), math.exp(0.5)),
        }

    return each(draw_and_count)


def translations(load: Load, effects: Effects) -> Simulate:
    """Simulate ΔS of WinoMT: 70% of the genders are right; with a true bias 75% and 65%, so that ΔS is 10."""

    @cache
    def load_strata() -> Labels:
        return winomt.get_strata(load().get_columns())

    def draw_and_count(rng: Rng) -> dict[str, float | None]:
        structure = load()
        casting = structure.get_labels("stereotypical")
        strata = load_strata()
        means = np.where(casting == PRO, 0.75, np.where(casting == ANTI, 0.65, 0.7))
        even = draw_preferences(rng, structure, effects, 0.7)
        biased = draw_preferences(rng, structure, effects, means)
        return {
            TYPE_I: rejects(winomt.estimate_delta_s(even, casting, structure.factors, strata), 0.0),
            FORMER: rejects(winomt.estimate_delta_s(even, casting, structure.former_factors, strata), 0.0),
            COVERAGE: not rejects(winomt.estimate_delta_s(biased, casting, structure.factors, strata), 10.0),
        }

    return each(draw_and_count)


def genders_of_sources(load: Load, effects: Effects) -> Simulate:
    """Simulate the acc gap of MT-GenEval: 70% of the genders are right; with a true gap 75% of men, 65% of women.

    An effect of a word favours the translation of men and lowers that of women, or the reverse.
    """

    @cache
    def load_sides() -> tuple[Structure, Codes, Codes, Factors, bool]:
        """Return the items, the indexes of masculine and of feminine items, their factors, and whether they are pairs.

        The items of pairs are in the order of pairs, and the factors are those of pairs.
        """
        structure = load()
        genders = structure.get_labels("gender")
        men, women = (np.flatnonzero(genders == gender) for gender in (MASCULINE, FEMININE))
        is_paired = "pair" in structure.get_columns()
        if is_paired:
            pairs = structure.get_labels("pair")
            men, women = (side[np.argsort(pairs[side])] for side in (men, women))
            assert (pairs[men] == pairs[women]).all()
        rows = men if is_paired else np.concatenate([men, women])
        return structure, men, women, Factors.from_labels(structure.factors.select_rows(rows).labels), is_paired

    def draw_and_count(rng: Rng) -> dict[str, float | None]:
        structure, men, women, factors, is_paired = load_sides()
        scale = np.sqrt(1 + sum(deviation**2 for deviation in effects.values()))
        estimate: EstimateGap = geneval.estimate_paired_gap if is_paired else geneval.estimate_gap

        def draw(rate_of_men: float, rate_of_women: float) -> tuple[Floats, Floats]:
            effect, noise = draw_effects(rng, structure, effects), rng.normal(size=structure.n)
            right_men = noise[men] < scale * ndtri(rate_of_men) + effect[men]
            right_women = noise[women] < scale * ndtri(rate_of_women) - effect[women]
            return right_men.astype(np.float64), right_women.astype(np.float64)

        even, uneven = draw(0.7, 0.7), draw(0.75, 0.65)
        return {
            TYPE_I: rejects(estimate(*even, factors), 0.0),
            FORMER: rejects(estimate(*even, None), 0.0),
            COVERAGE: not rejects(estimate(*uneven, factors), 10.0),
        }

    return each(draw_and_count)


def ideas(per: int | None) -> Simulate:
    """Simulate g_s of GEST: the log ratios of a released model around their stereotype's mean, mirrored by idea."""

    @cache
    def load() -> tuple[Structure, np.ndarray, np.ndarray, Floats]:
        scores = load_gest()
        if per:
            scores = scores.groupby("stereotype").head(per)
        numbers, values = scores["stereotype"].to_numpy(dtype=int), scores["score"].to_numpy(dtype=float)
        centred = values - scores.groupby("stereotype")["score"].transform("mean").to_numpy(dtype=float)
        structure = Structure("GEST", Factors.from_labels({"idea": scores["idea"].to_numpy(dtype=object)}))
        return structure, numbers, scores["item"].to_numpy(dtype=object), centred

    def draw_and_count(rng: Rng) -> dict[str, float | None]:
        structure, numbers, items, centred = load()
        values = flip(rng, structure, centred, ("idea",), ideal=0.0)
        labels = dict(zip(map(str, items), structure.factors.labels["idea"], strict=True))
        ids = {number: [str(item) for item in items[numbers == number]] for number in range(1, 17)}

        def estimate(ratios_of_items: Floats, known: Mapping[str, str]) -> Estimate | None:
            ratios = {number: ratios_of_items[numbers == number] for number in ids}
            return estimate_fixed_rate([GestPart("template", ratios, ids, [], 0, ideas=known)])

        # Stereotypes 8 to 16 are about men, so g_s is exp(0.3).
        shifted = estimate(values + np.where(numbers >= 8, 0.15, -0.15), labels)
        even, former = estimate(values, labels), estimate(values, {})
        return {
            TYPE_I: even and rejects(even, 1.0),
            FORMER: former and rejects(former, 1.0),
            COVERAGE: shifted and not rejects(shifted, math.exp(0.3)),
        }

    return each(draw_and_count)


def differences_with_effects(load: Load, effects: Effects) -> Simulate:
    """Simulate differences of SS of two models with own effects of factors; half of the item variance is shared."""
    ss = quantity("SS")

    def draw_and_count(rng: Rng) -> dict[str, float | None]:
        structure = load()
        item = rng.normal(size=structure.n)
        scale = np.sqrt(2 + sum(deviation**2 for deviation in effects.values()))

        def draw(shift: float) -> Floats:
            own = draw_effects(rng, structure, effects) + rng.normal(size=structure.n)
            return 100.0 * (own + item + shift > 0)[np.newaxis]

        # A shift of 0.2533 standard deviations is a share of 60%.
        left, right, biased = draw(0.0), draw(0.0), draw(0.253347 * scale)
        even = compute_contrast(ss, left, right, factors=structure.factors)
        uneven = compute_contrast(ss, biased, right, factors=structure.factors)
        former = compute_contrast(ss, left, right, factors=structure.former_factors)
        return {
            TYPE_I: even.p_value < ALPHA,
            FORMER: former.p_value < ALPHA,
            COVERAGE: uneven.low <= 10.0 <= uneven.high,
        }

    return each(draw_and_count)


def differences_of_swaps(load: Load, factors: Sequence[str]) -> Simulate:
    """Simulate differences of SS of two released models that are swapped in random clusters."""
    ss = quantity("SS")

    def draw_and_count(rng: Rng) -> dict[str, float | None]:
        structure = load()
        middle = (structure.answers[0] + structure.answers[1]) / 2
        left = flip(rng, structure, structure.answers[0] - middle, factors, ideal=0.0)
        sides = (middle + left)[np.newaxis], (middle - left)[np.newaxis]
        found, former = (
            compute_contrast(ss, *sides, factors=used) for used in (structure.factors, structure.former_factors)
        )
        return {TYPE_I: found.p_value < ALPHA, FORMER: former.p_value < ALPHA}

    return each(draw_and_count)


def gate(load: Load, effects: Effects) -> Simulate:
    """Simulate how often models with a true SS of 50 and 55 pass a rule, and the printed probability."""
    rule = parse_rule("max", "stereoset.SS distance 5")

    def draw_and_count(rng: Rng) -> dict[str, float | None]:
        structure = load()
        row = Row(Case(), "intrasentence", "all", "all", Shape("", structure.n), 50.0)

        def judge(mean: float) -> tuple[bool, float | None]:
            share = Share.from_values(draw_preferences(rng, structure, effects, mean), structure.factors)
            (verdict,) = check(result([record(row, SS, share)]), [rule])
            return verdict.passed, verdict.even

        (even, printed), (biased, _) = judge(0.5), judge(0.55)
        return {"50": even, "printed for an even model": printed, "55": biased}

    return each(draw_and_count)


def power_with_effects(load: Load, effects: Effects) -> Simulate:
    """Simulate the power at the detectable effect, and that effect."""

    def make(rng: Rng, effect: float) -> Estimate:
        structure = load()
        return Share.from_values(
            draw_preferences(rng, structure, effects, min(0.999, 0.5 + effect / 100)), structure.factors
        )

    return power(make, 50.0)


def select(load: Load, kind: str | None = None, n: int | None = None) -> Load:
    """Return the items of one bias type, or a random sample of n items."""

    @cache
    def load_selected() -> Structure:
        structure = load()
        rows = np.arange(structure.n)
        if kind is not None:
            assert structure.columns is not None
            rows = rows[structure.columns["bias_type"].to_numpy(dtype=object) == kind]
        if n is not None:
            rows = np.sort(np.random.default_rng(n).choice(rows, n, replace=False))
        return structure.where(rows)

    return load_selected


WORD_FACTORS = ("target", "stereotype_word", "anti_stereotype_word")


def _load_german() -> Structure:
    return load_words("de")


def _load_english() -> Structure:
    return load_words("en")


def list_words() -> dict[str, Load]:
    """Return items of StereoSet within sentences: all, of one bias type, and samples."""
    kinds = {f"de, {kind}": select(_load_german, kind) for kind in ("race", "profession", "gender")}
    samples = {f"de, n={n}": select(_load_german, n=n) for n in (100, 400)}
    return {"de": _load_german, "en": _load_english, **kinds, **samples}


def _load_pairs() -> Structure:
    return load_structure("crows-pairs", None, "en", None)


def list_pairs() -> dict[str, Load]:
    """Return items of CrowS-Pairs: all, of one bias type, and samples."""
    kinds = {kind: select(_load_pairs, kind) for kind in ("race-color", "socioeconomic", "gender")}
    return {"all": _load_pairs, **kinds, **{f"n={n}": select(_load_pairs, n=n) for n in (100, 400)}}


def settings() -> Iterator[Setting]:
    """Yield all settings."""
    made: Load = cache(lambda: make_words(800))
    for name, effects in list_nulls(WORD_FACTORS).items():
        yield Setting("crossed", ("SS, made items", name, "n=800"), share_with_effects(made, effects))
    words = list_words() if get_mirror() is not None else {}
    for items, load in words.items():
        yield from list_word_settings(items, load)
    if words:
        yield from list_other_settings()
    weak = {"made": made, **{name: words[name] for name in ("de", "de, n=400") if words}}
    for items, load in weak.items():
        for name, effects in list_nulls(WORD_FACTORS, *WEAK).items():
            yield Setting("crossed gates", (items, name), gate(load, effects))
            yield Setting("crossed power", (items, name), power_with_effects(load, effects))


def list_word_settings(items: str, load: Load) -> Iterator[Setting]:
    """Yield the settings of verdicts and differences on items of StereoSet."""
    for factors in (("item",), *((name,) for name in WORD_FACTORS), WORD_FACTORS):
        name = factors[0] if len(factors) == 1 else "one of all factors"
        yield Setting("crossed", ("SS, real preferences mirrored", name, items), share_of_flips(load, factors))
        swaps = differences_of_swaps(load, factors)
        yield Setting("crossed differences", ("real models swapped", name, items), swaps)
    for name, effects in list_nulls(WORD_FACTORS).items():
        yield Setting("crossed", ("SS", name, items), share_with_effects(load, effects))
        if "," not in items:
            drawn = differences_with_effects(load, effects)
            yield Setting("crossed differences", ("made preferences", name, items), drawn)


def list_other_settings() -> Iterator[Setting]:
    """Yield the settings of verdicts on other data sets."""
    for items, load in list_pairs().items():
        for name, effects in list_nulls(("more_terms", "less_terms"), *WORDS_OF_PAIRS).items():
            yield Setting("crossed", ("CPS", name, items), share_with_effects(load, effects))
    for name, effects in list_nulls(("template", "names")).items():
        load = _load("kobbq", "ko", "template")
        yield Setting("crossed", ("bias of BBQ (KoBBQ)", name, "all"), questions(load, effects))
    for name, effects in list_nulls(("occupation", "template")).items():
        load = _load("winobias", "en", "occupation")
        yield Setting("crossed", ("g_s of WinoBias", name, "all"), occupations(load, effects))
    for name, effects in list_nulls(("entity", "template")).items():
        load = _load("winomt", "en", "entity")
        yield Setting("crossed", ("ΔS of WinoMT", name, "all"), translations(load, effects))
    for part in ("sentences", "context"):
        for name, effects in list_nulls(("gendered_words",)).items():
            row = (f"acc gap of MT-GenEval in Spanish, {part}", name, "all")
            yield Setting("crossed", row, genders_of_sources(_load_geneval(part), effects))
    for per in (20, None):
        row = ("g_s of GEST, real log ratios mirrored", "idea", f"{per or 'all'} sentences a stereotype")
        yield Setting("crossed", row, ideas(per))


def _load_geneval(part: str) -> Load:
    return lambda: load_structure("mt-geneval", part, "es", None)


def _load(name: str, language: str, former: str) -> Load:
    return lambda: load_structure(name, None, language, former)
