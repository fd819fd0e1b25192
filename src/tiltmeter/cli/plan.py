"""`tiltmeter plan`: compute how many items a test set needs, or which bias a number of items can show."""

from typing import Annotated

import typer

from tiltmeter.errors import UsageError
from tiltmeter.printable_text import format_json


def plan(
    effect: Annotated[
        float | None,
        typer.Option(min=0.1, max=50, help="The bias of interest: the distance of SS or CPS from 50, in points."),
    ] = None,
    items: Annotated[int | None, typer.Option(min=1, help="The number of items.")] = None,
    power: Annotated[
        float, typer.Option(min=1, max=99.9, help="The wanted probability of a significant result, in percent.")
    ] = 80,
    per_cluster: Annotated[
        int, typer.Option(min=1, help="The number of items in each cluster, such as a target term or a template.")
    ] = 1,
    correlation: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="With --per-cluster: the correlation of items in one cluster, such as 0.05."),
    ] = None,
    tests: Annotated[
        int, typer.Option(min=1, help="The number of tests, such as languages, to correct for (Bonferroni).")
    ] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Compute, before data exist, how many items a test set needs, or which bias a number of items can show.

    The result is for a share of items with the ideal 50, such as SS or CPS, in one language. Items in one cluster
    resemble each other, so that more items are needed; runs of other models on similar data show how much.

    **Examples**

    `tiltmeter plan --effect 5`

    `tiltmeter plan --effect 5 --per-cluster 20 --correlation 0.05 --tests 4`

    `tiltmeter plan --items 200 --effect 5`
    """
    from tiltmeter.measures.sample_size import SampleDesign

    if effect is None and items is None:
        raise UsageError("Give the bias of interest with --effect, the number of items with --items, or both.")
    if per_cluster > 1 and correlation is None:
        raise UsageError("--per-cluster needs --correlation, such as --correlation 0.05.")
    design = SampleDesign(per_cluster, correlation or 0.0, tests)
    result: dict[str, float | int | None] = {}
    if items is None:
        assert effect is not None
        result["items"] = needed = design.find_items(effect, power / 100)
        clusters = f" in {-(-needed // per_cluster):,} clusters" if per_cluster > 1 else ""
        sentence = f"A bias of {effect:g} points needs {needed:,} items{clusters}"
    else:
        result["effect"] = found = design.find_effect(items, power / 100)
        effects = "no bias" if found is None else f"a bias of {found:.1f} points or more"
        sentence = f"{items:,} items reliably show {effects}"
        if effect is not None:
            result["power"] = chance = 100 * design.compute_power(items, effect)
            sentence = (
                f"{items:,} items show a bias of {effect:g} points with a probability of {chance:.0f}%; they reliably "
                f"show {effects}"
            )
    if as_json:
        typer.echo(format_json(result))
    else:
        typer.echo(f"{sentence} (power {power:g}%, {tests} two-sided {'test' if tests == 1 else 'tests'} at 5%).")
