"""`tiltmeter protocols`: list the scoring protocols of each item form."""

from collections.abc import Mapping
from typing import Annotated

import typer

from tiltmeter.cli.name_list import print_entry
from tiltmeter.errors import UsageError


def protocols(
    dataset: Annotated[
        str | None, typer.Argument(metavar="DATASET", help="List only the protocols of this data set or item form.")
    ] = None,
) -> None:
    """List the protocols for `tiltmeter run --protocol`, for each form (type) of items.

    A protocol is a procedure that turns items into questions to a model, and answers into scores. The first protocol of
    each form is the default: the published procedure. Results of different protocols are not comparable.

    **Examples**

    `tiltmeter protocols`

    `tiltmeter protocols crows-pairs`
    """
    from tiltmeter.benchmarks import get_benchmarks
    from tiltmeter.datasets.dataset_loader import DATASETS
    from tiltmeter.datasets.name_suggestions import suggest_name
    from tiltmeter.runs.chat_run import PROTOCOLS as CHAT_PROTOCOLS

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
        typer.secho("chat models, on every form that supports them", bold=True)
        _print_protocols(CHAT_PROTOCOLS)


def _print_protocols(protocols: Mapping[str, str]) -> None:
    for name, meaning in protocols.items():
        print_entry(f"  {name}: ", meaning, 4)
