"""The class `SpeedUp`."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tiltmeter.engine.equivalence import EquivalenceCheck, Rows

Undo = Callable[[], None]


def _skip(_answerer: Any, _check: "EquivalenceCheck") -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedUp:
    """A change that gives the same numbers in less time. Its name is that of its module.

    `apply` changes a loaded model (an `Answerer`) and returns a function that undoes the change, or None if there is
    nothing to change in this model. It is called with all speed-ups before it in place, and with the equivalence check,
    which is run again afterwards; if that fails, the change is undone. `during` is a context around a whole run, for a
    speed-up that concerns the process and not a model.

    `rows` is set by speed-ups that change how inputs are laid out in rows: their check includes long inputs.
    `rounds_logits_less` is set by speed-ups that keep in float32 logits that a half-precision model would round: their
    check allows for that rounding.
    """

    name: str
    apply: Callable[[Any, "EquivalenceCheck"], Undo | None] = _skip
    during: Callable[[], AbstractContextManager[None]] = nullcontext
    rows: "Rows | None" = None
    rounds_logits_less: bool = False


def try_mask_forms(answerer: Any, passes: Callable[[], bool], longest_row: int) -> None:
    """Give a model the first form of attention mask with which a check passes, for rows of up to so many tokens.

    With one form only, nothing is checked: the check follows in any case.
    """
    forms = answerer.masks.forms(longest_row)
    for form in forms:
        answerer.masks = replace(answerer.masks, form=form)
        if len(forms) == 1 or passes():
            return
