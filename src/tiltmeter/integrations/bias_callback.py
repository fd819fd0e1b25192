"""`BiasCallback`: measures the bias of a model while the trainer of transformers trains it."""

import json
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from tiltmeter.cluster.board.site_files import write_board
from tiltmeter.errors import TiltmeterError, UsageError
from tiltmeter.files import reject_unwritable_folder, write_text
from tiltmeter.models.in_memory_model import wrap_loaded_model
from tiltmeter.reports.exports.exported_model import select_model
from tiltmeter.reports.run_trackers import build_metrics
from tiltmeter.runs.evaluate import evaluate
from tiltmeter.text_files import expand_home

_STEPS, _BOARD = "steps.toml", "board"
# Trackers show metrics with this prefix in the section of evaluations.
_PREFIX = "eval_bias/"


class BiasCallback(TrainerCallback):
    """Measures the bias of the model before the training, every `every` steps, and at the end.

    `on` names benchmarks as in `evaluate`, and `limit` is the number of items of each part and language. The numbers
    are logged to the trainer's trackers, each measurement is saved as a run in the folder `out`, and the pages in
    `out/board` show the trend. `tokenizer` replaces the trainer's own, `name` is the name of the model in the results.

    The measurements do not change the training. If one fails after the start, a warning gives the reason.

    >>> callback = BiasCallback(trainer, "stereoset:en", every=500, limit=300)  # doctest: +SKIP
    >>> trainer.add_callback(callback)  # doctest: +SKIP
    """

    def __init__(
        self,
        trainer: Any,
        on: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        every: int = 500,
        limit: int | None = 200,
        protocol: str = "published",
        out: Path | str = "bias",
        tokenizer: Any = None,
        name: str | None = None,
    ) -> None:
        if every < 1:
            raise UsageError(f"BiasCallback has every={every}; it must be at least 1.")
        self.trainer, self.on, self.every = trainer, on, every
        self.limit, self.protocol, self.out = limit, protocol, expand_home(out)
        self.tokenizer = tokenizer if tokenizer is not None else trainer.processing_class
        self.name = name or str(getattr(trainer.model, "name_or_path", "") or type(trainer.model).__name__)
        self._steps: list[int] = []

    def on_train_begin(self, args: Any, state: Any, control: Any, **_kwargs: Any) -> None:
        """Check the settings, and measure the model before its training."""
        del args
        if self.tokenizer is None:
            raise UsageError("BiasCallback needs a tokenizer; set processing_class of the trainer, or tokenizer.")
        if getattr(self.trainer, "is_fsdp_enabled", False) or getattr(self.trainer, "is_deepspeed_enabled", False):
            raise UsageError(
                "BiasCallback cannot measure a model that FSDP or DeepSpeed divides among processes; measure its "
                "checkpoints with `tiltmeter run`."
            )
        if not state.is_world_process_zero:
            return
        reject_unwritable_folder(self.out)
        found = sorted(int(path.parent.name.removeprefix("step-")) for path in self.out.glob("step-*/manifest.json"))
        if found and not state.global_step:
            raise UsageError(f"{self.out} contains the runs of another training; choose another folder with out=.")
        self._steps = [step for step in found if step <= state.global_step]
        if state.global_step not in self._steps:
            self._measure(state.global_step, control)

    def on_step_end(self, args: Any, state: Any, control: Any, **_kwargs: Any) -> None:
        """Measure the model if the step is a multiple of `every`."""
        del args
        if state.is_world_process_zero and state.global_step % self.every == 0:
            self._try_to_measure(state.global_step, control)

    def on_train_end(self, args: Any, state: Any, control: Any, **_kwargs: Any) -> None:
        """Measure the model at the last step, or the best model if the trainer loads it, and write the pages."""
        if not state.is_world_process_zero:
            return
        is_best = args.load_best_model_at_end and state.best_model_checkpoint is not None
        step = state.best_global_step if is_best and state.best_global_step is not None else state.global_step
        if step not in self._steps:
            self._try_to_measure(step, control)
        self._steps.sort()
        tables = (
            f"[[models]]\nname = {json.dumps(self._name_step(step))}\nseries = {json.dumps(self.name)}\nstep = {step}\n"
            for step in self._steps
        )
        write_text(self.out / _STEPS, "\n".join(tables))
        write_board([self._find_folder(step) for step in self._steps], self.out / _BOARD, attributes=self.out / _STEPS)

    def _try_to_measure(self, step: int, control: Any) -> None:
        try:
            self._measure(step, control)
        except TiltmeterError as error:
            warnings.warn(f"The bias at step {step} was not measured: {error}", stacklevel=2)

    def _measure(self, step: int, control: Any) -> None:
        with _use_own_forward(self.trainer.model):
            model = wrap_loaded_model(self.trainer.model, self.tokenizer, name=self._name_step(step))
            folder = self._find_folder(step)
            result = evaluate(model, self.on, limit=self.limit, protocol=self.protocol, out=folder, force=True)
        self._steps.append(step)
        self._log(build_metrics(select_model(result, None)), control)

    def _log(self, metrics: Mapping[str, float], control: Any) -> None:
        # Logging clears the trainer's request to log the loss of this step.
        should_log = control.should_log
        self.trainer.log({f"{_PREFIX}{name}": value for name, value in metrics.items() if not name.endswith(".n")})
        control.should_log = should_log

    def _name_step(self, step: int) -> str:
        return f"{self.name} step {step}"

    def _find_folder(self, step: int) -> Path:
        return self.out / f"step-{step:06d}"


@contextmanager
def _use_own_forward(model: Any) -> Iterator[None]:
    """Remove the function that mixed precision puts in place of `forward` for a while.

    Otherwise the answers would be computed in bfloat16 or float16, and would not be those of the saved model.
    """
    replaced = vars(model).pop("forward", None)
    try:
        yield
    finally:
        if replaced is not None:
            model.forward = replaced
