"""The training loop: the Trainer of transformers with two learning rates, planned batches and complete checkpoints."""

import math
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_model
from torch import Tensor, nn
from torch.utils.data import DataLoader, SequentialSampler
from transformers import Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_callback import PrinterCallback, ProgressCallback

from tiltmeter.errors import ModelError
from tiltmeter.files import write_text
from tiltmeter.models.hardware_usage import read_gpu_state
from tiltmeter.progress.progress import Progress, ReportProgress
from tiltmeter.training.batches import TrainingBatches, get_only_batch
from tiltmeter.training.training_recipe import TrainingRecipe

# The file that is written last in a checkpoint; it contains the seconds of training until then. A checkpoint without
# this file is incomplete, because the process ended while the checkpoint was written.
_COMPLETE = "complete"


class HeadTrainer(Trainer):
    """A trainer of a `MeanHead` or `LabelHead` on `TrainingBatches`; `validate` returns the validation metrics."""

    def __init__(
        self,
        module: nn.Module,
        batches: TrainingBatches,
        recipe: TrainingRecipe,
        arguments: TrainingArguments,
        **more: Any,
    ) -> None:
        self._recipe = recipe
        self._validate: Callable[[nn.Module], dict[str, float]] | None = more.pop("validate", None)
        self._correct: Tensor | None = None
        self._seen = 0
        self._began = 0.0
        super().__init__(
            model=module,
            args=arguments,
            train_dataset=batches,
            eval_dataset=batches if self._validate else None,
            **more,
        )
        # These callbacks print progress, which `ReportingCallback` already reports.
        self.remove_callback(PrinterCallback)
        self.remove_callback(ProgressCallback)

    def train_from(self, checkpoint: Path | None) -> None:
        """Train from the beginning, or from a checkpoint if one is given."""
        seconds = float((checkpoint / _COMPLETE).read_text(encoding="utf-8") or 0) if checkpoint else 0.0
        self._began = time.monotonic() - seconds
        self.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)

    @property
    def seconds(self) -> float:
        """The number of seconds of training until now, including the time before an interruption."""
        return time.monotonic() - self._began

    def get_train_dataloader(self) -> DataLoader[Any]:
        """Return a loader of the planned batches in order; with several processes, each gets its own batches."""
        data: Any = self.train_dataset
        loader = DataLoader(
            data,
            batch_size=1,
            sampler=SequentialSampler(data),
            collate_fn=get_only_batch,
            pin_memory=torch.cuda.is_available(),
            num_workers=self.args.dataloader_num_workers,
        )
        prepared: DataLoader[Any] = self.accelerator.prepare(loader)
        return prepared

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        """Return the optimizer with two learning rates (model and head); biases and norms have no weight decay."""
        if self.optimizer is None:
            module: Any = self.model if model is None else model
            groups: dict[tuple[float, float], list[nn.Parameter]] = {}
            for name, parameter in module.named_parameters():
                if parameter.requires_grad:
                    rate = self._recipe.head_rate if name.startswith("head.") else self._recipe.core_rate
                    decay = self._recipe.weight_decay if parameter.dim() > 1 else 0.0
                    groups.setdefault((rate, decay), []).append(parameter)
            parameters = [
                {"params": found, "lr": rate, "weight_decay": decay} for (rate, decay), found in groups.items()
            ]
            if self._recipe.optimizer == "adafactor":
                self.optimizer = torch.optim.Adafactor(parameters, lr=self._recipe.core_rate)
            else:
                is_fused = self.args.device.type == "cuda"
                self.optimizer = torch.optim.AdamW(parameters, lr=self._recipe.core_rate, fused=is_fused)
        return self.optimizer

    def compute_loss(self, model: nn.Module, inputs: dict[str, Tensor], *_: Any, **__: Any) -> Tensor:
        """Return the loss of a batch; the correct decisions are counted on the device until the next log entry."""
        outputs = model(**inputs)
        with torch.no_grad():
            correct = (outputs["logits"].argmax(dim=1) == inputs["labels"]).sum()
            self._correct = correct if self._correct is None else self._correct + correct
        self._seen += len(inputs["labels"])
        loss: Tensor = outputs["loss"]
        return loss

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Add the training accuracy since the last log entry; raise a ModelError if the loss is not finite."""
        if "loss" in logs:
            if not math.isfinite(logs["loss"]):
                raise ModelError(
                    f"The loss became {logs['loss']} at update {self.state.global_step}; train with --precision "
                    "float32 or bfloat16, or with lower rates (--core-rate, --head-rate)."
                )
            if self._correct is not None:
                logs["accuracy"] = 100 * self._correct.item() / self._seen
            self._correct, self._seen = None, 0
            if self.optimizer is not None:
                rates = {group["initial_lr"]: group["lr"] for group in self.optimizer.param_groups}
                logs["learning_rate"] = rates.get(self._recipe.core_rate, logs.get("learning_rate", 0.0))
                if self._recipe.head_rate in rates:
                    logs["head_learning_rate"] = rates[self._recipe.head_rate]
            logs |= read_gpu_state(self.args.device)
        super().log(logs, start_time)

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Return and log the validation metrics; each process computes them on all validation pairs."""
        assert self._validate is not None
        module: Any = self.model
        metrics = {f"eval_{name}": value for name, value in self._validate(module).items()}
        module.train()
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:  # noqa: ARG002
        """Write the weights of a checkpoint; tensors with several names are written once."""
        folder = Path(output_dir or str(self.args.output_dir))
        folder.mkdir(parents=True, exist_ok=True)
        if self.args.should_save:
            module: Any = self.model
            save_model(module, str(folder / "model.safetensors"))

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        # No checkpoint is written at an early stop. A resumed training then stops again at the same step; from a
        # checkpoint at this step, Trainer would continue.
        if self.control.should_training_stop and self.state.global_step < self.state.max_steps:
            return
        super()._save_checkpoint(model, trial)
        self.accelerator.wait_for_everyone()
        if self.args.should_save:
            folder = Path(str(self.args.output_dir)) / f"checkpoint-{self.state.global_step}"
            write_text(folder / _COMPLETE, str(self.seconds))


class ReportingCallback(TrainerCallback):
    """A callback that reports the progress after every weight update."""

    def __init__(self, report: ReportProgress, tokens: int) -> None:
        self._report = report
        self._tokens = tokens
        self._began = (0.0, 0)
        self._logged: dict[str, float] = {}

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Start the clock; steps before an interruption do not count for the speed."""
        self._began = (time.monotonic(), state.global_step)
        self._report_progress(state)

    def on_log(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Remember the last logged values, which are reported with the progress."""
        self._logged |= kwargs["logs"]

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Report the progress."""
        self._report_progress(state)

    def _report_progress(self, state: Any) -> None:
        began, first_step = self._began
        seconds = time.monotonic() - began
        share = (state.global_step - first_step) / state.max_steps if state.max_steps else 0
        notes = [f"loss {self._logged['loss']:.3f}"] if "loss" in self._logged else []
        if "accuracy" in self._logged:
            notes.append(f"accuracy {self._logged['accuracy']:.1f}%")
        if seconds and share:
            notes.append(f"{share * self._tokens / seconds:,.0f} tokens/s")
        self._report(Progress(state.global_step, state.max_steps, note=", ".join(notes)))


def create_tensorboard_callback(folder: Path) -> TrainerCallback:
    """Return a callback that writes the log to TensorBoard files in a folder."""
    from torch.utils.tensorboard import SummaryWriter
    from transformers.integrations.integration_utils import TensorBoardCallback

    callback: TrainerCallback = TensorBoardCallback(SummaryWriter(str(folder)))  # type: ignore[no-untyped-call]
    return callback


def find_last_checkpoint(folder: Path) -> Path | None:
    """Return the last complete checkpoint in a folder, and delete incomplete checkpoints; None if there is none."""
    complete = []
    for path in list(folder.glob("checkpoint-*")):
        if (path / _COMPLETE).is_file():
            complete.append((int(path.name.rpartition("-")[2]), path))
        else:
            shutil.rmtree(path)
    return max(complete)[1] if complete else None
