"""`tiltmeter protocols`: the ways in which models are asked."""

from collections.abc import Mapping
from typing import Annotated

import typer

from tiltmeter.cli.name_list import print_entry
from tiltmeter.errors import UsageError


def protocols(
    dataset: Annotated[
        str | None, typer.Argument(metavar="DATASET", help="Only the protocols of this data set or form.")
    ] = None,
) -> None:
    """List the protocols that `run --protocol` takes, by the form of the items.

    The first of each form is the default, and the published one. Numbers of different protocols are not compared.

    **Examples**

    `tiltmeter protocols`

    `tiltmeter protocols crows-pairs`
    """
    from tiltmeter.benchmarks import get_benchmarks
    from tiltmeter.datasets.dataset_loader import DATASETS
    from tiltmeter.datasets.name_suggestions import suggest_name
    from tiltmeter.runs.chat_run import PROTOCOLS as OF_CHAT_MODELS

    known = get_benchmarks()
    form = DATASETS[dataset].form if dataset is not None and dataset in DATASETS else dataset
    if form is not None and form not in known:
        names = [*known, *DATASETS]
        raise UsageError(f"There is no data set or form {form}{suggest_name(form, names)}; see `tiltmeter data list`.")
    chosen = [known[form]] if form is not None else known.values()
    for benchmark in chosen:
        typer.secho(benchmark.form, bold=True)
        _print_protocols(benchmark.protocols)
    if form is None or known[form].choice is not None:
        typer.secho("chat models, on every form that they are asked about", bold=True)
        _print_protocols(OF_CHAT_MODELS)


def _print_protocols(protocols: Mapping[str, str]) -> None:
    for name, meaning in protocols.items():
        print_entry(f"  {name}: ", meaning, 4)
