"""Terminal tables about items: the quality of items, and the items with the strongest preference, with their texts."""

import pandas as pd
from rich.console import Console
from rich.text import Text

from tiltmeter.comparing.cells import format_location
from tiltmeter.comparing.item_quality import ItemQuality, MeasureItemQuality
from tiltmeter.comparing.item_statistics import Reliability
from tiltmeter.comparing.strongest_items import CONTEXT, GROUP_COLUMNS, INFLUENCE, PREFERENCE
from tiltmeter.measures.estimates import Interval
from tiltmeter.measures.measure import name_clusters
from tiltmeter.printable_text import escape_unsafe
from tiltmeter.reports.console_tables import is_wide_terminal, print_fitting_table
from tiltmeter.reports.formatting import format_count


def print_item_quality(quality: ItemQuality, console: Console, *, top: int = 0) -> None:
    """Print the reliability of each measure, counts of uninformative and suspicious items, and agreement of languages.

    If `top` is not 0, also print the `top` strongest items of each measure.
    """
    rows = [
        [
            one.panel.location,
            one.panel.quantity.name,
            str(len(one.panel.cells)),
            f"{len(one.items):,}",
            _format_reliability(one.reliability, console),
            _format_reliability(one.over_clusters, console),
            f"{one.same_outcome_count:,} ({one.same_outcome_count / max(1, len(one.items)):.0%})",
            f"{len(one.wrong):,}" if one.panel.measures_quality else "",
            f"{len(one.contrary_items):,}",
        ]
        for one in quality.panels
    ]
    print_fitting_table(console, _HEADS, rows, labels=2, optional=(_OTHER_CLUSTERS, "models", "items"))
    columns = dict.fromkeys(name for one in quality.panels for name in one.panel.list_factor_columns())
    console.print(_LEGEND.format(clusters=name_clusters(list(columns))), style="dim")
    _print_languages(quality, console)
    for note in quality.notes:
        console.print(f"Note: {note}", markup=False, soft_wrap=True)
    if top:
        for one in quality.panels:
            _print_strongest(quality, one, top, console)


_OTHER_CLUSTERS = "other\nclusters"
_HEADS = (
    "benchmark",
    "measure",
    "models",
    "items",
    "reliability",
    _OTHER_CLUSTERS,
    "same\nfor all",
    "all\nwrong",
    "against",
)
_LEGEND = (
    "Reliability: how well one half of the items predicts the values of the models on the other half, corrected to the "
    "full number of items; 1 is perfect. Other clusters: the lowest reliability if the halves have different "
    "{clusters}. Same for all: items with the same result for all models. All wrong: items that every model gets "
    "wrong. Against: items on which the differences between models are significantly opposite to those on the other "
    "items."
)


def print_strongest(items: pd.DataFrame, console: Console) -> None:
    """Print the items of a run with the strongest preference; `items` is a table that `strongest_items` returned."""
    for (model, benchmark, part, language), rows in items.groupby(GROUP_COLUMNS, sort=False):
        location = escape_unsafe(format_location(str(benchmark), str(part), str(language)))
        console.print(Text(f"\nStrongest items of {escape_unsafe(str(model))} on {location}", style="bold"))
        for row in rows.dropna(axis="columns", how="all").to_dict("records"):
            before = list(row)[: list(row).index(CONTEXT)]
            attributes = [name for name in before if name not in (*GROUP_COLUMNS, "item", PREFERENCE, INFLUENCE)]
            named = [name for name in attributes if name in ("bias_type", "target", "stereotype")] or attributes
            strength = f"{row[PREFERENCE]:+.2f}" if PREFERENCE in before else f"influence {row[INFLUENCE]:+.3f}"
            head = f"{row['item']}  {strength}  {', '.join(str(row[name]) for name in named)}"
            console.print(Text(escape_unsafe(head)), soft_wrap=True)
            texts = {name: row[name] for name in list(row)[list(row).index(CONTEXT) :] if isinstance(row[name], str)}
            lines = [text if name == CONTEXT else f"{name}: {text}" for name, text in texts.items() if text]
            console.print(Text("\n".join(f"    {escape_unsafe(line)}" for line in lines)), soft_wrap=True)


def _print_languages(quality: ItemQuality, console: Console) -> None:
    if not quality.languages:
        return
    rows = [
        [
            benchmark if part == "all" else f"{benchmark}/{part}",
            measure,
            f"{one.first} {one.second}",
            f"{one.items:,}",
            _format_with_interval(one.correlation, one.interval, console),
            str(one.models),
            "" if one.agreement is None else f"{one.agreement:.0f}%",
            "" if one.kappa is None else f"{one.kappa:.2f}",
        ]
        for (benchmark, part, measure), agreements in quality.languages.items()
        for one in agreements
    ]
    heads = ("benchmark", "measure", "languages", "items", "correlation", "models\nin both", "same", "kappa")
    print_fitting_table(console, heads, rows, labels=2, optional=("models\nin both", "items"), edges=True)


def _print_strongest(quality: ItemQuality, one: MeasureItemQuality, top: int, console: Console) -> None:
    if one.panel.measures_quality:
        return
    texts = quality.load_item_texts(one)
    name = one.panel.quantity.name
    models = format_count(len(one.panel.cells), "model")
    console.print(f"\nStrongest items of {one.panel.location} ({name}), over {models}", style="bold")
    for item in one.select_strongest(top):
        facts = [f"{name} {item.mean:.0f}"]
        facts += [f"stronger than {item.strength:.0%} of the items"] if item.strength is not None else []
        facts += ["the same for all models" if item.separation is None else f"separation {item.separation:+.2f}"]
        console.print(Text(f"{item.item[1]}  {', '.join(facts)}"), soft_wrap=True)
        text = texts.get(item.item[1])
        if text is not None:
            lines = [text.context, *(f"{role}: {words}" for role, words in text.texts.items())]
            console.print(Text("\n".join(f"    {line}" for line in lines if line)), soft_wrap=True)


def _format_reliability(reliability: Reliability | None, console: Console) -> str:
    return "" if reliability is None else _format_with_interval(reliability.value, reliability.interval, console)


def _format_with_interval(value: float | None, interval: Interval | None, console: Console) -> str:
    """Return the value and its interval; on a narrow terminal the interval is on a second line."""
    if value is None:
        return ""
    between = " " if is_wide_terminal(console) else "\n"
    return f"{value:.2f}" if interval is None else f"{value:.2f}{between}[{interval[0]:.2f}, {interval[1]:.2f}]"
