"""The figures of trainings in Öztürk et al. (2023) and in the thesis of Öztürk (2022)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tiltmeter.errors import UsageError
from tiltmeter.reports.figures.figure import Figure
from tiltmeter.training.training_curves import CurveView, build_curves, read_log

_CURVES = ("accuracy", "loss")
_RATES = ("model rate", "head rate")
_USE = ("use", "memory")
# The smoothing in the thesis. The paper shows smoothed curves, but does not print their smoothing.
_MGPT, _T5, _MT5 = 0.92, 0.32, 0.8


@dataclass(frozen=True, slots=True)
class TrainingFigure:
    """A figure of the training of a model with the curves that it shows."""

    caption: str
    view: CurveView


def _build_figures(model: str, first: int, smoothing: float, zoom: float | None) -> dict[str, TrainingFigure]:
    """Return the figures of one model in chapter 4: curves, zoomed loss, smoothed curves, learning rates."""
    views = {
        "accuracy and loss": CurveView(_CURVES),
        **({"zoomed loss": CurveView(("loss",), loss_below=zoom)} if zoom else {}),
        "smoothed accuracy and loss": CurveView(_CURVES, smoothing),
        "learning rates": CurveView(_RATES),
    }
    return {
        f"4.{number}": TrainingFigure(f"{model}: {name}", view)
        for number, (name, view) in enumerate(views.items(), first)
    }


def _build_use_figures(model: str, first: int) -> dict[str, TrainingFigure]:
    return {
        f"A.{first}": TrainingFigure(f"{model}: use and memory of the GPU", CurveView(_USE)),
        f"A.{first + 1}": TrainingFigure(f"{model}: power of the GPU", CurveView(("power",))),
    }


TRAINING_FIGURES: Mapping[str, Mapping[str, TrainingFigure]] = {
    "oeztuerk2023": {
        "1": TrainingFigure("mGPT-2: smoothed accuracy and loss", CurveView(_CURVES, _MGPT)),
        "2": TrainingFigure("T5: smoothed accuracy and loss, learning rates", CurveView((*_CURVES, *_RATES), _T5)),
    },
    "oeztuerk2022": {
        **_build_figures("mGPT-2", 1, _MGPT, None),
        **_build_figures("T5", 4, _T5, 1.0),
        **_build_figures("mT5", 8, _MT5, 2.0),
        **_build_use_figures("mGPT-2", 2),
        **_build_use_figures("T5", 4),
        **_build_use_figures("mT5", 6),
    },
}


def draw_training(paper: str, number: str, head: Path) -> Figure:
    """Return a figure of a paper with the curves of the training of a head."""
    figures = TRAINING_FIGURES[paper]
    if number not in figures:
        raise UsageError(f"{paper} has no figure {number!r} of a training; choose {', '.join(figures)}.")
    figure = figures[number]
    return build_curves(read_log(head), figure.view, f"figure-{number}", f"Figure {number}: {figure.caption}")
