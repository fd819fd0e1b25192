"""`tiltmeter train curves`: draw the curves of a training."""

from pathlib import Path
from typing import Annotated

import typer


def draw_curves(
    head: Annotated[Path, typer.Argument(metavar="HEAD", help="The folder of a trained head.")],
    smoothing: Annotated[
        float,
        typer.Option(
            metavar="W", help="Smooth the curves by an exponential moving average with this weight, such as 0.92."
        ),
    ] = 0.0,
    loss_below: Annotated[
        float | None,
        typer.Option(metavar="LOSS", help="Cut off losses above this value, to show the end of a training."),
    ] = None,
    figures: Annotated[Path, typer.Option(metavar="DIR", help="The folder for SVG, PNG and PDF files.")] = Path(
        "figures"
    ),
) -> None:
    """Draw loss, accuracy, both learning rates, and the use, memory and power of the GPU during a training.

    The GPU is recorded only on NVIDIA GPUs with the extra `energy`.

    **Examples**

    `tiltmeter train curves heads/gpt2 --smoothing 0.92`

    `tiltmeter train curves heads/t5 --loss-below 1 --figures figures`
    """
    from tiltmeter.reports.figure_files import save_figures
    from tiltmeter.training.training_curves import CurveView, build_curves, read_log

    figure = build_curves(read_log(head), CurveView(smoothing=smoothing, loss_below=loss_below), "curves", "Training")
    for path in save_figures([(head.resolve().name, figure)], figures):
        typer.echo(path)
