"""What a speed-up is."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tiltmeter.engine.trial import ModelTrial

Undo = Callable[[], None]


def _never(_answerer: Any, _trial: "ModelTrial") -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedUp:
    """One way to get the same numbers in less time. Its name is that of its module.

    `apply` changes a loaded model (an `Answerer`) and returns what undoes the change, or None where there is nothing
    to gain or the model does not allow it. It is called with all speed-ups before it in place. The trial is run
    afterwards: where it fails, the change is undone. `during` is for what concerns the process and not a model: a
    context around a whole run.

    `changes_rows` is for a speed-up that puts inputs into rows in another way: its trial includes a long input.
    `rounds_logits_less` is for a speed-up that keeps logits in float32 which a model in half precision rounds: its
    trial allows for that rounding.
    """

    name: str
    apply: Callable[[Any, "ModelTrial"], Undo | None] = _never
    during: Callable[[], AbstractContextManager[None]] = nullcontext
    changes_rows: bool = False
    rounds_logits_less: bool = False
