"""`tiltmeter run --dry-run`: print the forecast of a run."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from tiltmeter.options import ModelOptions, RunSettings
from tiltmeter.printable_text import create_plain_console, escape_unsafe, format_json

if TYPE_CHECKING:
    from tiltmeter.runs.run_forecast import ModelWork, RunForecast
    from tiltmeter.runs.sample_power import SamplePower


def print_forecast(
    models: Sequence[str],
    specs: Sequence[str],
    settings: RunSettings,
    options: ModelOptions,
    effect: float | None,
    *,
    as_json: bool,
) -> None:
    """Print the forecast of a run of language models or chat models."""
    from tiltmeter.runs.run_forecast import forecast_run

    forecast = forecast_run(models, specs, settings, options, effect=effect)
    if as_json:
        typer.echo(format_json(asdict(forecast) | {"seconds": forecast.seconds}))
        return
    console = create_plain_console(soft_wrap=True, highlight=False)
    for line in _describe_forecast(forecast):
        console.print(escape_unsafe(line), markup=False)


def print_translation_forecast(on: Sequence[str], edition: str | None, limit: int | None, *, as_json: bool) -> None:
    """Print the number of texts and characters that a translation system would get."""
    from tiltmeter.runs.translation.translation_tasks import load_target

    texts = [text for spec in on for text in load_target(spec, edition or "1.1").limit_items(limit).list_texts()]
    count = {"texts": len(texts), "characters": sum(map(len, texts))}
    if as_json:
        typer.echo(format_json(count))
    else:
        typer.echo(
            f"Dry run: {count['texts']:,} texts with {count['characters']:,} characters would be translated. Run the "
            "same command without --yes to see the cost of a paid service."
        )


def _describe_forecast(forecast: "RunForecast") -> list[str]:
    from tiltmeter.runs.time_estimates import format_duration

    lines = [f"Dry run: {forecast.items:,} items; no model is asked.", ""]
    lines += map(_describe_work, forecast.models)
    if forecast.seconds is not None and len(forecast.models) > 1:
        lines.append(f"Time of all models: about {format_duration(forecast.seconds)}.")
    if forecast.cost is not None:
        consent = "; this needs --yes, or a higher --max-cost" if forecast.needs_consent else ""
        lines.append(f"Cost: at most about {forecast.cost:,.2f} {forecast.currency}{consent}.")
    if any(work.budget is not None and work.budget.cost is None for work in forecast.models):
        lines.append("Cost: unknown; give --price-in and --price-out per million tokens.")
    if forecast.power:
        lines += ["", "With a power of 80%, these items show:"]
        lines += map(_describe_power, forecast.power)
        if any(power.needed_correlated for power in forecast.power):
            lines.append("The second number is for items that are correlated (0.05) if they share words or targets.")
    else:
        lines.append("The bias that the items can show is computed only for SS, CPS and choices of stereotypes.")
    return lines


def _describe_work(work: "ModelWork") -> str:
    from tiltmeter.runs.time_estimates import format_duration

    parts = []
    if work.budget is not None:
        parts.append(work.budget.words)
    elif work.questions is not None:
        parts.append(f"{work.questions:,} questions, {work.tokens or 0:,} tokens")
    if work.stored:
        parts.append(f"{work.stored:,} answers are already stored")
    if work.why:
        parts.append(work.why.rstrip("."))
    time = work.time
    if time.seconds is None or time.low is None or time.high is None:
        parts.append("time unknown until the first run on this machine; try --limit 20")
    else:
        span = f"{format_duration(time.low)} to {format_duration(time.high)}"
        parts.append(f"about {format_duration(time.seconds)} ({span}, {time.basis})")
    return f"{work.model}: {'; '.join(parts)}."


def _describe_power(power: "SamplePower") -> str:
    of = f" of {power.available:,}" if power.items < power.available else ""
    found = _format_bias(power.detectable)
    needed = f"{power.needed:,}"
    if power.needed_correlated is not None:
        found += f" or {_format_bias(power.detectable_correlated)}"
        needed += f" or {power.needed_correlated:,}"
    return (
        f"  {power.location}, {power.items:,}{of} items: {power.measure} from {found}; {power.effect:g} points need "
        f"{needed} items"
    )


def _format_bias(points: float | None) -> str:
    return "no bias" if points is None else f"{points:.1f} points"
