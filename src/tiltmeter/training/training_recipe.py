"""Training recipes (sets of hyperparameters): the published recipes and the default recipe."""

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from tiltmeter.errors import UsageError
from tiltmeter.questions import Kind

Precision = Literal["auto", "float32", "bfloat16", "float16"]
PRECISIONS: tuple[str, ...] = get_args(Precision)
Schedule = Literal["cosine", "cosine_with_restarts", "constant", "constant_with_warmup"]
SCHEDULES: tuple[str, ...] = get_args(Schedule)
Optimizer = Literal["adamw", "adafactor"]
OPTIMIZERS: tuple[str, ...] = get_args(Optimizer)


@dataclass(frozen=True, kw_only=True)
class TrainingRecipe:
    """The hyperparameters of a training.

    A weight update uses `batch` x `accumulation` pairs on each device. `core_rate` is the maximum learning rate of the
    base model, and `head_rate` that of the new layers. `by_length`: each batch has pairs of similar length.
    `fresh_negatives`: from the second epoch on, new negative pairs are drawn. `passes` is the number of epochs. The
    `precision` `auto` means bfloat16 if the device supports it, and float32 otherwise.
    """

    name: str = "default"
    batch: int = 32
    accumulation: int = 8
    core_rate: float = 1e-4
    head_rate: float = 1e-3
    optimizer: Optimizer = "adamw"
    schedule: Schedule = "cosine"
    # The share of weight updates in which the learning rate increases; see `count_warm_up_steps`.
    warm_up: float = 0.05
    clip: float = 1.0
    weight_decay: float = 0.01
    max_length: int = 256
    passes: int = 2
    precision: Precision = "auto"
    by_length: bool = True
    fresh_negatives: bool = True

    def __post_init__(self) -> None:
        for name in ("batch", "accumulation", "core_rate", "head_rate", "clip", "max_length", "passes"):
            if getattr(self, name) <= 0:
                raise UsageError(f"{name.replace('_', ' ')} must be greater than 0, not {getattr(self, name)}.")
        if not 0 <= self.warm_up < 1:
            raise UsageError(f"--warm-up must be from 0 to below 1, not {self.warm_up}.")
        for name, choices in (("precision", PRECISIONS), ("schedule", SCHEDULES), ("optimizer", OPTIMIZERS)):
            if getattr(self, name) not in choices:
                raise UsageError(f"--{name} {getattr(self, name)} is not known; choose {', '.join(choices)}.")
        if self.max_length < 8:
            raise UsageError(f"--max-length {self.max_length} is too short for two sentences; give 8 or more.")

    def count_warm_up_steps(self, steps: int) -> int:
        """Return in how many of `steps` weight updates the learning rate increases, at the start of the training.

        >>> PUBLISHED["gpt2"].count_warm_up_steps(15_625)
        157
        """
        return int(steps * self.warm_up) + 1

    def apply_changes(self, **changes: Any) -> "TrainingRecipe":
        """Return a copy of the recipe with these changes; a change to None is ignored."""
        values = {key: value for key, value in changes.items() if value is not None}
        return replace(self, **values)


_COMMON = TrainingRecipe(
    name="published",
    schedule="cosine_with_restarts",
    warm_up=0.01,
    weight_decay=0.0,
    passes=1,
    by_length=False,
    fresh_negatives=False,
)
# The values are from Öztürk et al. (2023), section 5.2, and Öztürk's thesis (2022), sections 3.2.2 and 4.1. The
# schedule and the warm-up are from the released code.
PUBLISHED: dict[str, TrainingRecipe] = {
    "gpt2": replace(_COMMON, batch=4, accumulation=16, core_rate=5e-6, head_rate=1e-3, precision="float16"),
    "t5": replace(_COMMON, batch=24, accumulation=3, core_rate=5e-6, precision="float32"),
    "mt5": replace(_COMMON, batch=8, accumulation=8, core_rate=1e-4, precision="float32"),
}
RECIPES = ("default", "published")
# The default learning rate for training an adapter (LoRA).
LORA_RATE = 2e-4


def find_recipe(name: str, kind: Kind, model_type: str, *, lora: bool = False) -> TrainingRecipe:
    """Return the recipe with this name for a model; `model_type` is the type in the model's config."""
    if name == "default":
        return TrainingRecipe(core_rate=LORA_RATE) if lora else TrainingRecipe()
    if name != "published":
        raise UsageError(f"--recipe {name} is not known; choose {' or '.join(RECIPES)}.")
    if kind == "masked":
        raise UsageError(
            "--recipe published is not for masked models, because the papers use BERT's own head; leave --recipe out."
        )
    return PUBLISHED["gpt2" if kind == "causal" else "mt5" if model_type == "mt5" else "t5"]
