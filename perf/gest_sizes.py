"""GEST, section 4.2.3: do larger models have a higher stereotype rate? Slopes from the numbers of its Table 10.

`python -m perf.gest_sizes [--figure FILE.svg]`. Figure 4 of the paper shows g_s against size, and the text mentions a
trend without a number. Table 10 has the masculine rates of each causal model, template and stereotype; their logarithms
to base 10 were exponentiated with e, which is corrected here. The scores of most models are not released, so the
intervals are over models only.
"""

import argparse
import csv
import json
import math
from dataclasses import dataclass
from importlib.resources import files
from io import StringIO
from pathlib import Path

import numpy as np
from scipy.special import stdtr, stdtrit

from tiltmeter.measures.crossed_effects import compute_slope_variance
from tiltmeter.measures.size_regression import build_slope_design, compute_slope_coefficients
from tiltmeter.measures.stereotype_sides import weigh_by_stereotype

# Base models by family, with millions of parameters.
FAMILIES = {
    "GPT-2": {"gpt2": 124, "gpt2-medium": 355, "gpt2-large": 774, "gpt2-xl": 1_558},
    "Pythia": {
        "pythia-70m": 70,
        "pythia-160m": 160,
        "pythia-410m": 410,
        "pythia-1b": 1_000,
        "pythia-1.4b": 1_400,
        "pythia-2.8b": 2_800,
        "pythia-6.9b": 6_900,
        "pythia-12b": 12_000,
    },
    "Phi": {"phi-1": 1_300, "phi-1_5": 1_300, "phi-2": 2_700},
    "Llama 2": {"Llama-2-7b-hf": 6_738, "Llama-2-13b-hf": 13_016},
}
# Instruction-tuned models with their base models in the table. The base of Mistral Instruct v0.2 is not in the table,
# so v0.1 is used.
INSTRUCT = {
    "Llama-2-7b-chat-hf": "Llama-2-7b-hf",
    "Llama-2-13b-chat-hf": "Llama-2-13b-hf",
    "Mistral-7B-Instruct-v0.2": "Mistral-7B-v0.1",
    "openchat-3.5-0106": "Mistral-7B-v0.1",
}


@dataclass(frozen=True)
class PublishedSlope:
    """The slope of log g_s per tenfold size; without an interval if there is no degree of freedom."""

    family: str
    models: int
    value: float
    interval: tuple[float, float] | None
    p_value: float | None


def log_rates() -> dict[str, float]:
    """Return log g_s of each model in Table 10, the mean over its two templates."""
    text = files("tiltmeter.papers").joinpath("tables", "gest2024.csv").read_text(encoding="utf-8")
    rates: dict[str, dict[str, dict[int, float]]] = {}
    for row in csv.DictReader(StringIO(text)):
        if row["table"] == "10":
            of_model = rates.setdefault(row["system"], {}).setdefault(row["template"], {})
            of_model[int(row["stereotype"])] = math.log(10) * math.log(float(row["value"]))
    found = {}
    for model, templates in rates.items():
        logs = []
        for values in templates.values():
            labels = np.array(sorted(values), dtype=object)
            logs.append(float(weigh_by_stereotype(labels) @ np.array([values[label] for label in labels])))
        found[model] = float(np.mean(logs))
    return found


def slopes() -> list[PublishedSlope]:
    """Return the slope of each model family, and the slope within all families."""
    return [_slope(name, [name]) for name in FAMILIES] + [_slope("within families", list(FAMILIES))]


def _slope(title: str, names: list[str]) -> PublishedSlope:
    rates = log_rates()
    rows = [(name, model, size) for name in names for model, size in FAMILIES[name].items()]
    families = np.array([name for name, _, _ in rows], dtype=object)
    sizes = np.log10([1e6 * size for _, _, size in rows])
    values = np.array([rates[model] for _, model, _ in rows])
    coefficients = compute_slope_coefficients(sizes, families)
    value = float(coefficients @ values)
    between = compute_slope_variance(values, build_slope_design(sizes, families), coefficients)
    if between.df < 1:
        return PublishedSlope(title, len(rows), value, None, None)
    error = math.sqrt(between.variance)
    reach = float(stdtrit(between.df, 0.975)) * error
    p_value = 2 * float(stdtr(between.df, -abs(value) / error))
    return PublishedSlope(title, len(rows), value, (value - reach, value + reach), p_value)


def instruct_gaps() -> dict[str, float]:
    """Return log g_s of each instruction-tuned model minus that of its base model."""
    rates = log_rates()
    return {model: rates[model] - rates[base] for model, base in INSTRUCT.items()}


def markdown() -> str:
    """Return the slopes as the table in docs/evidence/comparisons.md."""
    lines = ["| family | models | slope of log g_s | 95% interval | p |", "| --- | ---: | ---: | --- | ---: |"]
    for slope in slopes():
        ends = "" if slope.interval is None else f"{slope.interval[0]:+.2f} to {slope.interval[1]:+.2f}"
        p_value = "" if slope.p_value is None else "<0.001" if slope.p_value < 0.001 else f"{slope.p_value:.3f}"
        lines.append(f"| {slope.family} | {slope.models} | {slope.value:+.2f} | {ends} | {p_value} |")
    return "\n".join(lines)


def _save_figure(path: Path) -> None:
    import vl_convert  # with altair, takes seconds to import

    from tiltmeter.comparing.size_slopes import SizedModel, SizeSlope
    from tiltmeter.measures.measure import list_quantities
    from tiltmeter.measures.size_regression import Slope
    from tiltmeter.reports.figures.size_map import build_size_map

    rates, quantity = log_rates(), list_quantities(["log_ratio"], ["stereotype"])[0]
    trend = [
        SizeSlope(
            "gest:en",
            "gest",
            "overall",
            quantity,
            family,
            tuple(SizedModel(m, family, 1e6 * size, rates[m], rates[m], rates[m]) for m, size in models.items()),
            Slope(0.0, 0.0, 0.0, 1.0, 0, None, None),
            0,
        )
        for family, models in FAMILIES.items()
    ]
    figure = build_size_map("sizes", "log g_s by size", trend)
    path.write_text(
        vl_convert.vegalite_to_svg(json.dumps(figure.build_combined_spec()), allowed_base_urls=[]), encoding="utf-8"
    )


def main() -> None:
    """Print the table, and write the figure if a file is given."""
    parser = argparse.ArgumentParser(prog="python -m perf.gest_sizes", description=__doc__)
    parser.add_argument("--figure", type=Path, help="write the figure to this SVG file")
    arguments = parser.parse_args()
    print(markdown())
    for model, gap in instruct_gaps().items():
        print(f"{model}: {gap:+.2f} (a factor of {math.exp(gap):.2f})")
    if arguments.figure:
        _save_figure(arguments.figure)


if __name__ == "__main__":
    main()
