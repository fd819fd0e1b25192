"""Comparisons of languages over several models: error rates, coverage, variance components and invariance.

Models and items are drawn anew for each data set, with known components. Answers are preferences (0 or 100) whose
probits have normal effects, or normal numbers, for which all components are known exactly.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pandas as pd
from scipy.special import fdtrc, ndtr, stdtr

from perf.simulations.runner import Counts, Rng, Setting, Simulate, Table, each
from perf.simulations.structures import get_mirror
from tiltmeter.comparing.language_inference import build_language_design, infer_from_fit, infer_these_models
from tiltmeter.comparing.language_variance import LANGUAGE
from tiltmeter.datasets.dataset_loader import load
from tiltmeter.forms import get_item_form
from tiltmeter.measures.answer_variance import compute_answer_moments, list_item_components
from tiltmeter.measures.crossed_answers import CrossedAnswers
from tiltmeter.measures.differential_items import screen_items
from tiltmeter.measures.estimates import Mean, compute_two_sided_p
from tiltmeter.measures.factors import Factors
from tiltmeter.measures.item_effect_correlations import correlate_item_effects
from tiltmeter.measures.joint_test import estimate_spread
from tiltmeter.measures.measure import get_measure
from tiltmeter.measures.random_models import MODEL, MODEL_BY_LANGUAGE, fit_random_models
from tiltmeter.measures.standard_errors import Floats

ALPHA = 0.05
Answer = Mapping[str, float | bool | None]


@dataclass(frozen=True)
class Population:
    """A population of models, items and languages; the numbers are standard deviations of effects.

    `several` models are measured in all languages, and `single` models in each language only there. `word` is the
    effect of the words of each language, which differ between languages.
    """

    languages: int = 3
    several: int = 3
    single: int = 3
    items: int = 400
    item: float = 0.3
    by_language: float = 0.4
    by_model: float = 0.2
    target: float = 0.0
    word: float = 0.0
    model: float = 0.0
    model_by_language: float = 0.0
    language: float = 0.0
    noise: float = 1.0
    binary: bool = True
    targets: int = 79
    words: int = 300

    def list_cells(self) -> tuple[list[str], list[str]]:
        """Return the model and the language of each cell."""
        names = [chr(ord("a") + number) for number in range(self.languages)]
        cells = [(f"several {number}", name) for name in names for number in range(self.several)]
        cells += [(f"{name} {number}", name) for name in names for number in range(self.single)]
        cells.sort(key=lambda cell: cell[1])
        return [model for model, _ in cells], [language for _, language in cells]


@dataclass(frozen=True)
class Sample:
    """A data set with the true value of each cell, given its model, and the effects of the languages."""

    crossed: CrossedAnswers
    truth: Floats
    of_languages: Floats


def draw_sample(rng: Rng, population: Population, shift: Floats | None = None) -> Sample:
    """Draw the answers of all cells; `shift` is added to the effects of items by language."""
    models, languages = (np.array(names, dtype=object) for names in population.list_cells())
    _, of_model = np.unique(models, return_inverse=True)
    _, of_language = np.unique(languages, return_inverse=True)
    n, count = population.items, population.languages
    factors, shared, own = _draw_factors(rng, population)
    by_item = population.item * rng.normal(size=n) + shared
    by_language = population.by_language * rng.normal(size=(count, n)) + own
    by_language += 0.0 if shift is None else shift
    by_model = population.by_model * rng.normal(size=(of_model.max() + 1, n))
    effects = population.model * rng.normal(size=of_model.max() + 1)[of_model]
    effects = effects + population.model_by_language * rng.normal(size=len(models))
    of_languages = population.language * rng.normal(size=count) if population.language else np.zeros(count)
    effects = effects + of_languages[of_language]
    rates = effects[:, None] + by_item + by_language[of_language] + by_model[of_model]
    answers = rates + population.noise * rng.normal(size=rates.shape)
    if population.binary:
        answers = 100.0 * (answers > 0)
    variance = sum(
        value**2
        for value in (
            *(population.item, population.by_language, population.by_model),
            *(population.target, population.word, population.noise),
        )
    )
    truth = 100.0 * ndtr(effects / np.sqrt(variance)) if population.binary else effects
    crossed = CrossedAnswers.from_answers(answers, models.tolist(), languages.tolist(), factors)
    return Sample(crossed, truth, of_languages)


def _draw_factors(rng: Rng, population: Population) -> tuple[dict[str, Factors], Floats, Floats]:
    """Return the factors of each language, the effects of targets, and those of words in each language."""
    targets = np.arange(population.items) % population.targets
    shares = 1 / np.arange(2, population.words + 2)
    factors, own = {}, []
    for number in range(population.languages):
        words = rng.choice(population.words, population.items, p=shares / shares.sum())
        labels = {"target": targets.astype(object), "word": words.astype(object)}
        factors[chr(ord("a") + number)] = Factors.from_labels(labels)
        own.append(population.word * rng.normal(size=population.words)[words])
    return factors, population.target * rng.normal(size=population.targets)[targets], np.array(own)


def misses(mean: Mean, truth: float) -> bool:
    """Return whether the test of the true value is significant, so that its interval does not contain the value."""
    return compute_two_sided_p(mean, truth) < ALPHA


def list_these(sample: Sample) -> Answer:
    """Return the errors of the comparison of these models."""
    crossed = sample.crossed
    averages = crossed.average_languages()
    contrast = averages[0] - averages[1]
    truths = averages @ sample.truth
    found = infer_these_models(crossed, get_measure("SS")) if np.ptp(truths) < 1e-9 else None
    group = _contrast_groups(crossed)
    return {
        "these: difference": misses(crossed.estimate_combination(contrast), float(contrast @ sample.truth)),
        "these: joint": None if found is None or found.joint is None else found.joint.significant,
        "these: answer": None if found is None else found.differs,
        "these: group": None
        if group is None
        else misses(crossed.estimate_combination(group), float(group @ sample.truth)),
    }


def _contrast_groups(crossed: CrossedAnswers) -> Floats | None:
    """Return the contrast of models measured in several languages with the others, within languages."""
    several = np.array([model.startswith("several") for model in crossed.models])
    if several.all() or not several.any():
        return None
    rows = []
    for language in crossed.language_names:
        inside = crossed.languages == language
        rows.append((several & inside) / (several & inside).sum() - (~several & inside) / (~several & inside).sum())
    return np.mean(rows, axis=0)


def list_like(sample: Sample) -> Answer:
    """Return the errors of the comparison for models like these; all true differences are 0."""
    crossed = sample.crossed
    design = build_language_design(crossed)
    count = design.shape[1]
    fitted = fit_random_models(crossed, design)
    units = np.eye(count)
    found = infer_from_fit(fitted, get_measure("SS"))
    several = np.array([model.startswith("several") for model in crossed.models], dtype=float)
    group: bool | None = None
    if 0 < several.sum() < len(several):
        grouped = fit_random_models(crossed, np.column_stack([design, several]))
        group = misses(grouped.estimate_contrast(np.eye(count + 1)[-1]), 0.0)
    return {
        "like: difference": misses(fitted.estimate_contrast(units[0] - units[1]), 0.0),
        "like: joint": found.joint is not None and found.joint.significant,
        "like: answer": found.differs,
        "like: group": group,
    }


def list_errors(population: Population) -> Simulate:
    """Simulate the errors of both comparisons."""

    def draw_and_count(rng: Rng) -> Answer:
        sample = draw_sample(rng, population)
        return {**list_these(sample), **list_like(sample)}

    return each(draw_and_count)


def estimate_variances(population: Population) -> Simulate:
    """Simulate the estimates of variance components of normal answers, relative to their true values."""
    truths = {
        "item": population.item**2 + population.target**2,
        "item × language": population.by_language**2 + population.word**2,
        "item × model": population.by_model**2,
        "residual": population.noise**2,
        LANGUAGE: population.language**2,
        MODEL: population.model**2,
        MODEL_BY_LANGUAGE: population.model_by_language**2,
    }
    if not population.several:  # effects of models and of their languages are not distinguishable
        truths[MODEL] += truths[MODEL_BY_LANGUAGE]
        truths["residual"] += truths["item × model"]

    def draw_and_count(rng: Rng) -> Answer:
        sample = draw_sample(rng, population)
        crossed = sample.crossed
        counts: dict[str, float | bool | None] = {}
        for name, values in list_item_components(compute_answer_moments(crossed)).items():
            mean = crossed.estimate_item_mean(values)
            counts[f"{name}, ratio"] = mean.value / truths[name] if truths[name] else None
            counts[f"{name}, coverage"] = not misses(mean, truths[name])
        fitted = fit_random_models(crossed, build_language_design(crossed))
        for name, variance in zip(fitted.structures, fitted.variances, strict=True):
            low, high = fitted.estimate_variance_interval(name)
            counts[f"{name}, ratio"] = variance / truths[name] if truths[name] else None
            counts[f"{name}, coverage"] = low <= truths[name] <= high
        found = infer_from_fit(fitted, get_measure("SS"))
        spread = estimate_spread([mean.value for mean in found.means], found.joint)
        if spread is not None:
            truth = float(np.var(sample.of_languages, ddof=1))
            counts[f"{LANGUAGE}, ratio"] = spread.value / truths[LANGUAGE] if truths[LANGUAGE] else None
            counts[f"{LANGUAGE}, coverage"] = spread.low <= truth <= spread.high
        return counts

    return each(draw_and_count)


def assess_invariance(population: Population, planted: int) -> Simulate:
    """Simulate correlations of item effects and the screening of items; `planted` items differ in one language."""
    correlation = (population.item**2 + population.target**2) / (
        population.item**2 + population.target**2 + population.by_language**2 + population.word**2
    )

    def draw_and_count(rng: Rng) -> Answer:
        shift = np.zeros((population.languages, population.items))
        chosen = rng.permutation(population.items)[:planted]
        shift[0, chosen] = 3.0 * rng.choice([-1.0, 1.0], planted)
        crossed = draw_sample(rng, population, shift).crossed
        pair = correlate_item_effects(crossed, compute_answer_moments(crossed))[-1]
        tests = screen_items(crossed)
        assert tests is not None
        flagged = np.flatnonzero(tests.p_adjusted < ALPHA)
        found = np.isin(flagged, chosen).sum() if len(flagged) else 1  # without flagged items no discovery is false
        known = pair.correlation is not None and not population.binary
        return {
            "correlation": pair.correlation if known else None,
            "coverage": (pair.low or 0.0) <= correlation <= (pair.high or 0.0) if known else None,
            "false discoveries": None if population.by_language else 1 - found / max(1, len(flagged)),
            "found": np.isin(chosen, flagged).mean() if planted else None,
        }

    return each(draw_and_count)


def count_answers(languages: int, df: int) -> Simulate:
    """Simulate the answer "the languages differ": the joint test or, after Holm's correction, a pair is significant.

    The language means are independent and normal with equal errors, so the tests are exact.
    """

    def simulate(rng: Rng, data_sets: int) -> Counts:
        means = rng.normal(size=(data_sets, languages))
        variances = rng.chisquare(df, data_sets) / df
        joint = fdtrc(languages - 1, df, np.var(means, axis=1, ddof=1) / variances) < ALPHA
        # A pair is significant after Holm's correction if the largest difference is significant after Bonferroni's.
        pairs = languages * (languages - 1) / 2
        pair = 2 * stdtr(df, -np.ptp(means, axis=1) / np.sqrt(2 * variances)) * pairs < ALPHA
        columns = {"joint": joint, "pair": pair, "answer": joint | pair}
        return {name: (float(errors.sum()), data_sets) for name, errors in columns.items()}

    return simulate


@cache
def load_pair(first: str, second: str) -> dict[str, Factors]:
    """Return the factors of the same items of StereoSet, within sentences, in two languages."""
    of_language = {}
    for language in (first, second):
        items = load("stereoset", "intrasentence", language)
        form = get_item_form(items[0])
        table = pd.DataFrame([form.attributes(item) for item in items], index=[item.id for item in items])
        names = [name for group in form.factors.values() for name in group if name in table]
        of_language[language] = table[names]
    shared = of_language[first].index.intersection(of_language[second].index)
    return {
        language: Factors.from_labels({name: table.loc[shared, name].to_numpy(dtype=object) for name in table})
        for language, table in of_language.items()
    }


def compare_factor_rules(pair: tuple[str, str], words_of: Sequence[int], models: int = 3) -> Simulate:
    """Simulate the difference of two languages whose words have effects, with three rules for the factors.

    The rules are: the factors of the first language for both parts of the difference, those of the language with the
    larger standard error, those of both languages for both parts, and those of each language for its part, which is
    the rule of Tiltmeter. `words_of` are the positions of the languages whose words have effects.
    """

    def draw_and_count(rng: Rng) -> Answer:
        crossed = _draw_pair(rng, load_pair(*pair), words_of, models)
        averages = crossed.average_languages()
        difference = (averages[0] - averages[1]) @ crossed.answers
        rules = _estimate_by_rules(difference, [one for one in crossed.factors.values() if one is not None])
        rules["each for its part"] = crossed.estimate_combination(averages[0] - averages[1])
        return {name: misses(mean, 0.0) for name, mean in rules.items()}

    return each(draw_and_count)


def _draw_pair(rng: Rng, factors: Mapping[str, Factors], words_of: Sequence[int], models: int) -> CrossedAnswers:
    """Draw preferences of other models in each of two languages."""
    n = len(next(iter(next(iter(factors.values())).labels.values())))
    by_item = 0.3 * rng.normal(size=n)
    rows = []
    for place, one in enumerate(factors.values()):
        own = by_item + 0.3 * rng.normal(size=n)
        for codes in one.codes.values() if place in words_of else ():
            own = own + 0.3 * rng.normal(size=int(codes.max()) + 1)[codes]
        rows += [own + rng.normal(size=n) for _ in range(models)]
    names = [f"{language} {number}" for language in factors for number in range(models)]
    languages = [language for language in factors for _ in range(models)]
    return CrossedAnswers.from_answers(100.0 * (np.array(rows) > 0), names, languages, factors)


def _estimate_by_rules(difference: Floats, factors: Sequence[Factors]) -> dict[str, Mean]:
    """Estimate a difference with the factors of the first language, the widest ones, and those of both languages."""
    both = {f"{name} {place}": labels for place, one in enumerate(factors) for name, labels in one.labels.items()}
    alone = [Mean.from_values(difference, one) for one in factors]
    return {
        "first language": alone[0],
        "widest": max(alone, key=lambda mean: mean.standard_error.value),
        "both": Mean.from_values(difference, Factors.from_labels(both)),
    }


_ERRORS = tuple(
    f"{scope}: {test}" for scope in ("these", "like") for test in ("difference", "joint", "answer", "group")
)
_NAMES = ("item", "item × language", "item × model", "residual", LANGUAGE, MODEL, MODEL_BY_LANGUAGE)

TABLES = (
    Table(
        "languages",
        "Languages: type I error, for these models (given their effects) and for models like these",
        ("models in all languages, in one", "effects"),
        _ERRORS,
    ),
    Table(
        "few models",
        "Languages: type I error for models like these, with few models",
        ("models in all languages, in one", "languages", "effects"),
        _ERRORS[4:],
    ),
    Table(
        "language answers",
        "Languages: type I error of the answer that languages differ, with exact tests",
        ("languages", "degrees of freedom"),
        ("joint", "pair", "answer"),
    ),
    Table(
        "language factors",
        "Languages: type I error of the difference of two languages, by the rule for factors",
        ("items", "words with effects"),
        ("first language", "widest", "both", "each for its part"),
    ),
    Table(
        "language variances",
        "Languages: estimated variance components divided by the true ones",
        ("models in all languages, in one", "effects"),
        tuple(f"{name}, ratio" for name in _NAMES),
        tuple(f"{name}, ratio" for name in _NAMES),
    ),
    Table(
        "language variance coverage",
        "Languages: coverage of the intervals of variance components",
        ("models in all languages, in one", "effects"),
        tuple(f"{name}, coverage" for name in _NAMES),
    ),
    Table(
        "invariance",
        "Languages: correlations of item effects, and screening of items for differential functioning",
        ("answers", "models of a language", "planted items"),
        ("correlation", "coverage", "false discoveries", "found"),
        ("correlation",),
    ),
)

EFFECTS: dict[str, Population] = {
    "items": Population(),
    "targets": Population(target=0.4),
    "words": Population(word=0.5),
    "models": Population(model=0.2),
    "models, models × languages": Population(model=0.2, model_by_language=0.15),
    "all": Population(target=0.3, word=0.3, model=0.15, model_by_language=0.1),
}
_MOST = 10_000


def settings() -> Iterator[Setting]:
    """Yield all settings."""
    for several, single in ((5, 0), (3, 2), (3, 3), (0, 3), (1, 4), (8, 4)):
        for name, population in EFFECTS.items():
            of_models = replace(population, several=several, single=single)
            yield Setting("languages", (f"{several}, {single}", name), list_errors(of_models), _MOST)
    for several, single, languages in ((3, 0, 3), (4, 0, 3), (0, 2, 3), (0, 2, 5), (2, 1, 3), (2, 1, 5)):
        for name in ("models", "models, models × languages"):
            few = replace(EFFECTS[name], several=several, single=single, languages=languages, items=200)
            yield Setting("few models", (f"{several}, {single}", str(languages), name), list_errors(few), _MOST)
    for several, single in ((5, 0), (3, 3), (0, 6), (8, 4)):
        for name in ("models, models × languages", "all"):
            of_models = replace(EFFECTS[name], several=several, single=single, binary=False, language=0.1)
            for table in ("language variances", "language variance coverage"):
                yield Setting(table, (f"{several}, {single}", name), estimate_variances(of_models), _MOST)
    for languages in (3, 5, 9):
        for df in (10, 40, 400):
            yield Setting("language answers", (str(languages), str(df)), count_answers(languages, df))
    if get_mirror():
        for pair in (("en", "de"), ("en", "tr")):
            for words_of in ((), (0,), (1,), (0, 1)):
                name = ", ".join(pair[place] for place in words_of) or "none"
                row = (f"StereoSet, {' and '.join(pair)}", name)
                yield Setting("language factors", row, compare_factor_rules(pair, words_of), _MOST)
    yield from _list_invariance_settings([(False, 0), (False, 8), (True, 0), (True, 8)])


def _list_invariance_settings(cases: Sequence[tuple[bool, int]]) -> Iterator[Setting]:
    for binary, planted in cases:
        for several, single in ((3, 0), (3, 3), (0, 6)):
            effects = Population(several=several, single=single, binary=binary, by_language=0.0)
            row = ("preferences" if binary else "normal", str(several + single), str(planted))
            yield Setting("invariance", (*row, f"{several}"), assess_invariance(effects, planted), _MOST)
    for several, single in ((3, 0), (3, 3), (0, 6)):
        # All items have effects of their own in each language, so the screening has no false discoveries to count.
        effects = Population(several=several, single=single, binary=False, by_language=0.3)
        row = ("normal, different tests", str(several + single), "all")
        yield Setting("invariance", (*row, f"{several}"), assess_invariance(effects, 0), _MOST)
