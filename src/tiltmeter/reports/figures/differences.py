"""Sentence pairs: the distribution of the difference between the two sentences of a pair."""

import altair as alt
import numpy as np
import pandas as pd
from scipy.stats import gaussian_kde

from tiltmeter.reports.figures.figure import Chart
from tiltmeter.reports.figures.series import Domain, model_colour, tooltips
from tiltmeter.reports.languages import language_name

_POINTS = 80
_MOST = 0.99  # the share of pairs within the range of the axis


def differences(table: pd.DataFrame, models: Domain) -> Chart:
    """The density of the difference (more minus less stereotypical) for each language, as half-violins.

    `table` has a row for each pair: model, language and difference. To the right of 0 the more stereotypical sentence
    has the higher likelihood.
    """
    reach = float(np.quantile(np.abs(table["difference"]), _MOST)) or 1.0
    languages = list(dict.fromkeys(table["language"]))
    frames = [
        _density(str(model), str(language), rows["difference"].to_numpy(float), reach)
        for (model, language), rows in table.groupby(["model", "language"], sort=False)
    ]
    frame = pd.concat(frames, ignore_index=True)
    names = [language_name(language) for language in languages]
    row_of = {name: number for number, name in enumerate(names)}
    frame["base"] = frame["language"].map(row_of).astype(float)
    # Each language has a row; its tallest density fills nine tenths of the row.
    tallest = frame.groupby("language")["density"].transform("max").clip(lower=1e-12)
    frame["top"] = frame["base"] - 0.9 * frame["density"] / tallest
    y_scale = alt.Scale(domain=(-1, len(names) - 1 + 0.15), reverse=True, nice=False)
    x = alt.X(
        "difference:Q",
        title="log-likelihood of more − less stereotypical →",
        scale=alt.Scale(domain=(-reach, reach), nice=False),
        axis=alt.Axis(tickCount=7),
    )
    y = alt.Y("base:Q", scale=y_scale, axis=None)
    base = alt.Chart(frame).encode(x=x, color=model_colour(models), detail="language:N")
    tips = tooltips(("model", "model"), ("language", "language"), ("share", "pairs right of 0"), ("n", "pairs"))
    return alt.layer(
        alt.Chart(pd.DataFrame({"difference": [0.0]})).mark_rule(style="ideal").encode(x=x),
        base.mark_area(opacity=0.3, clip=True, line=False).encode(
            y=alt.Y("top:Q", scale=y_scale, axis=None), y2="base:Q", tooltip=tips
        ),
        base.mark_line(strokeWidth=1.8, clip=True).encode(y=alt.Y("top:Q", scale=y_scale, axis=None), tooltip=tips),
        alt.Chart(pd.DataFrame({"base": list(map(float, row_of.values())), "name": names}))
        .mark_text(style="name", align="left", dy=-8)
        .encode(x=alt.value(4), y=y, text="name:N"),
    ).properties(height=max(170, 74 * len(names) + 30))


def _density(model: str, language: str, values: np.ndarray, reach: float) -> pd.DataFrame:
    at = np.linspace(-reach, reach, _POINTS)
    spread = float(np.std(values))
    density = gaussian_kde(values)(at) if len(values) > 2 and spread > 1e-9 else np.zeros(_POINTS)
    return pd.DataFrame(
        {
            "model": model,
            "language": language_name(language),
            "difference": at.round(4),
            "density": density,
            "n": len(values),
            "share": f"{np.mean(values > 0):.0%}",
        }
    )
