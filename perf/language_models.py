"""Compare methods for crossed answers of items, languages and models on data with known variance components.

python -m perf.language_models [--data-sets 20] [--items 150] [--several 3] [--single 2] [--statsmodels]

The methods are those of Tiltmeter (moments of pairs of answers, REML of cell means), lme4, if Rscript and lme4 are
installed, and statsmodels. statsmodels needs a dense matrix of all answers, so it is slow and only used on request.
"""

import argparse
import subprocess
import time
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from perf.simulations.languages import Population, draw_sample
from perf.simulations.runner import markdown
from tiltmeter.comparing.language_inference import build_language_design
from tiltmeter.measures.answer_variance import compute_answer_moments, list_item_components
from tiltmeter.measures.crossed_answers import CrossedAnswers
from tiltmeter.measures.random_models import fit_random_models

# The names of the random effects in lme4 and in Tiltmeter.
NAMES = {
    "item": "item",
    "item:language": "item × language",
    "item:model": "item × model",
    "Residual": "residual",
    "model": "model",
    "model:language": "model × language",
}
SCRIPT = Path(__file__).with_suffix(".R")
Rows = list[tuple[int, str, float, float]]


def build_table(crossed: CrossedAnswers) -> pd.DataFrame:
    """Return a table with a row for each answer."""
    cells, items = np.indices(crossed.answers.shape).reshape(2, -1)
    return pd.DataFrame(
        {
            "value": crossed.answers.ravel(),
            "item": items,
            "model": crossed.models[cells],
            "language": crossed.languages[cells],
        }
    )


def fit_tiltmeter(number: int, crossed: CrossedAnswers) -> Iterator[tuple[int, str, float, float]]:
    """Yield the components and the first difference of languages."""
    began = time.monotonic()
    components = list_item_components(compute_answer_moments(crossed))
    values = {name: float(numbers.mean()) for name, numbers in components.items()}
    fitted = fit_random_models(crossed, build_language_design(crossed))
    values |= dict(zip(fitted.structures, map(float, fitted.variances), strict=True))
    mean = fitted.estimate_contrast(np.eye(len(crossed.language_names))[0] - np.eye(len(crossed.language_names))[1])
    values |= {"difference": mean.value, "error": mean.standard_error.value}
    seconds = time.monotonic() - began
    for name, value in values.items():
        yield number, name, value, seconds


def fit_lme4(samples: list[CrossedAnswers]) -> Rows:
    """Return the results of lme4 for all data sets."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "answers.csv"
        tables = [build_table(crossed).assign(set=number) for number, crossed in enumerate(samples)]
        pd.concat(tables).to_csv(path, index=False)
        done = subprocess.run(["Rscript", str(SCRIPT), str(path)], capture_output=True, text=True, check=True)
    table = pd.read_csv(StringIO(done.stdout))
    table["name"] = table["name"].replace(NAMES)
    return list(table.itertuples(index=False, name=None))


def fit_statsmodels(number: int, crossed: CrossedAnswers) -> Iterator[tuple[int, str, float, float]]:
    """Yield the results of MixedLM with all answers in one group and variance components."""
    from statsmodels.regression.mixed_linear_model import MixedLM

    began = time.monotonic()
    table = build_table(crossed).assign(all=1)
    formulas = {
        "item": "0 + C(item)",
        "item × language": "0 + C(item):C(language)",
        "item × model": "0 + C(item):C(model)",
        "model": "0 + C(model)",
        "model × language": "0 + C(model):C(language)",
    }
    model = MixedLM.from_formula("value ~ 0 + language", table, groups="all", vc_formula=formulas, re_formula="0")
    fitted = model.fit(reml=True)
    names = model.exog_vc.names
    values = dict(zip(names, map(float, fitted.vcomp), strict=True)) | {"residual": float(fitted.scale)}
    contrast = np.zeros((1, len(crossed.language_names)))
    contrast[0, :2] = 1, -1
    test = fitted.t_test(contrast)
    values |= {"difference": float(test.effect[0]), "error": float(test.sd[0, 0])}
    for name, value in values.items():
        yield number, name, value, time.monotonic() - began


def describe(name: str, rows: Rows, truths: dict[str, float]) -> list[str]:
    """Return a row of the table: mean and standard deviation of each component divided by its true value."""
    table = pd.DataFrame(rows, columns=["set", "name", "value", "seconds"])
    cells = []
    for component in NAMES.values():
        ratios = table.loc[table["name"] == component, "value"] / truths[component]
        cells.append(f"{ratios.mean():.2f} ± {ratios.std():.2f}")
    wide = table[table["name"].isin(["difference", "error"])].pivot(index="set", columns="name", values="value")
    normal = float((wide["difference"].abs() < 1.96 * wide["error"]).mean())
    return [name, *cells, f"{100 * normal:.0f}", f"{table['seconds'].mean():.2f}"]


def main() -> None:
    """Print the table of all methods."""
    parser = argparse.ArgumentParser(prog="python -m perf.language_models", description=__doc__)
    parser.add_argument("--data-sets", type=int, default=20)
    parser.add_argument("--items", type=int, default=150)
    parser.add_argument(
        "--several", type=int, default=3, help="the number of models that are measured in all languages"
    )
    parser.add_argument(
        "--single",
        type=int,
        default=2,
        help="the number of models for each language that are measured only in this language",
    )
    parser.add_argument("--languages", type=int, default=3)
    parser.add_argument("--statsmodels", action="store_true")
    given = parser.parse_args()
    population = Population(
        languages=given.languages,
        several=given.several,
        single=given.single,
        items=given.items,
        model=0.3,
        model_by_language=0.2,
        binary=False,
    )
    rng = np.random.default_rng(1)
    samples = [draw_sample(rng, population).crossed for _ in range(given.data_sets)]
    samples = [CrossedAnswers.from_answers(one.answers, one.models.tolist(), one.languages.tolist()) for one in samples]
    deviations = ("item", "by_language", "by_model", "noise", "model", "model_by_language")
    truths = {name: getattr(population, field) ** 2 for name, field in zip(NAMES.values(), deviations, strict=True)}
    methods = {"Tiltmeter": [row for number, one in enumerate(samples) for row in fit_tiltmeter(number, one)]}
    if which("Rscript"):
        methods["lme4"] = fit_lme4(samples)
    if given.statsmodels:
        methods["statsmodels"] = [row for number, one in enumerate(samples) for row in fit_statsmodels(number, one)]
    headings = ["method", *NAMES.values(), "coverage (normal), %", "seconds"]
    print(markdown([describe(name, rows, truths) for name, rows in methods.items()], headings))


if __name__ == "__main__":
    main()
