"""The class `SpeedUp`."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tiltmeter.engine.equivalence import EquivalenceCheck

Undo = Callable[[], None]


def _never(_answerer: Any, _check: "EquivalenceCheck") -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedUp:
    """A change that gives the same numbers in less time. Its name is that of its module.

    `apply` changes a loaded model (an `Answerer`) and returns a function that undoes the change, or None if there is
    nothing to change in this model. It is called with all speed-ups before it in place, and with the equivalence check,
    which is run again afterwards; if that fails, the change is undone. `during` is a context around a whole run, for a
    speed-up that concerns the process and not a model.

    `changes_rows` is set by speed-ups that change how inputs are laid out in rows: their check includes a long input.
    `rounds_logits_less` is set by speed-ups that keep in float32 logits that a half-precision model would round: their
    check allows for that rounding.
    """

    name: str
    apply: Callable[[Any, "EquivalenceCheck"], Undo | None] = _never
    during: Callable[[], AbstractContextManager[None]] = nullcontext
    changes_rows: bool = False
    rounds_logits_less: bool = False
