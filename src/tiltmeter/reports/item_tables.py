"""Tables of items in the terminal: their quality, and the strongest with their texts."""

import pandas as pd
from rich.console import Console
from rich.text import Text

from tiltmeter.comparing.cells import format_location
from tiltmeter.comparing.item_quality import ItemQuality, PanelQuality
from tiltmeter.comparing.item_statistics import Reliability
from tiltmeter.comparing.strongest_items import CONTEXT, GROUP_COLUMNS
from tiltmeter.measures.estimates import Interval
from tiltmeter.printable_text import escape_unsafe
from tiltmeter.reports.console_tables import is_wide_terminal, print_fitting_table
from tiltmeter.reports.formatting import format_count


def print_item_quality(quality: ItemQuality, console: Console, *, top: int = 0) -> None:
    """Print the reliability of each measure, items that tell nothing or look wrong, and how languages agree."""
    rows = [
        [
            one.panel.location,
            one.panel.quantity.name,
            str(len(one.panel.cells)),
            f"{len(one.items):,}",
            _format_reliability(one.reliability, console),
            _format_reliability(one.over_clusters, console),
            f"{one.same:,} ({one.same / max(1, len(one.items)):.0%})",
            f"{len(one.wrong):,}" if one.panel.is_quality else "",
            f"{len(one.against):,}",
        ]
        for one in quality.panels
    ]
    print_fitting_table(console, _HEADS, rows, labels=2, optional=("other\ntargets", "models", "items"))
    console.print(_LEGEND, style="dim")
    _print_languages(quality, console)
    for note in quality.notes:
        console.print(f"Note: {note}", markup=False, soft_wrap=True)
    if top:
        for one in quality.panels:
            _print_strongest(quality, one, top, console)


_HEADS = (
    "benchmark",
    "measure",
    "models",
    "items",
    "reliability",
    "other\ntargets",
    "same\nfor all",
    "all\nwrong",
    "against",
)
_LEGEND = (
    "Reliability: how well half of the items predicts the order of the models on the other half, for the whole test; "
    "1 is perfect. Other targets: the same with halves of targets or templates. Same for all: items that do not tell "
    "models apart. All wrong: every model fails. Against: models do the opposite of what they do on the other items, "
    "beyond chance."
)


def print_strongest(items: pd.DataFrame, console: Console) -> None:
    """The strongest items of a run with their texts, as `strongest_items` gives them."""
    for (model, benchmark, part, language), rows in items.groupby(GROUP_COLUMNS, sort=False):
        where = format_location(str(benchmark), str(part), str(language))
        console.print(Text(f"\nStrongest items of {escape_unsafe(str(model))} on {escape_unsafe(where)}", style="bold"))
        for row in rows.dropna(axis="columns", how="all").to_dict("records"):
            before = list(row)[: list(row).index(CONTEXT)]
            facts = [str(row[name]) for name in ("bias_type", "target", "stereotype") if name in before]
            head = f"{row['item']}  {row['preference']:+.2f}  {', '.join(facts)}"
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
        for (benchmark, part, measure), found in quality.languages.items()
        for one in found
    ]
    heads = ("benchmark", "measure", "languages", "items", "correlation", "models\nin both", "same", "kappa")
    print_fitting_table(console, heads, rows, labels=2, optional=("models\nin both", "items"), edges=True)


def _print_strongest(quality: ItemQuality, one: PanelQuality, top: int, console: Console) -> None:
    if one.panel.is_quality:
        return
    texts = quality.texts(one)
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


def _format_reliability(found: Reliability | None, console: Console) -> str:
    return "" if found is None else _format_with_interval(found.value, found.interval, console)


def _format_with_interval(value: float | None, interval: Interval | None, console: Console) -> str:
    """The value and its interval, which has a line of its own on a narrow terminal."""
    if value is None:
        return ""
    between = " " if is_wide_terminal(console) else "\n"
    return f"{value:.2f}" if interval is None else f"{value:.2f}{between}[{interval[0]:.2f}, {interval[1]:.2f}]"
