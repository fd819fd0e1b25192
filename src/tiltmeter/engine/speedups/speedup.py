"""The class `SpeedUp`, and functions that help to apply speed-ups."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tiltmeter.engine.equivalence import EquivalenceCheck, Rows

Undo = Callable[[], None]


def _skip_check(_answerer: Any, _check: "EquivalenceCheck") -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedUp:
    """A change of a model or process that gives the same answers in less time. Its name is the name of its module.

    `apply` changes a loaded model (an `Answerer`). It returns a function that undoes the change, or None if the
    speed-up does not apply to the model. It is called after all earlier speed-ups. If the equivalence check then fails,
    the change is undone. `during` is a context around a whole run, for a speed-up that changes the process.

    `rows` is set if the speed-up changes the layout of rows, because its check then needs long inputs.
    `rounds_logits_less` is set if the speed-up keeps logits in float32 that a half-precision model would round; its
    check then allows differences of this size.
    """

    name: str
    apply: Callable[[Any, "EquivalenceCheck"], Undo | None] = _skip_check
    during: Callable[[], AbstractContextManager[None]] = nullcontext
    rows: "Rows | None" = None
    rounds_logits_less: bool = False


def set_attributes(answerer: Any, **values: Any) -> Undo:
    """Set attributes of an answerer, and return a function that restores the earlier values."""
    before = {name: getattr(answerer, name) for name in values}

    def undo() -> None:
        for name, value in before.items():
            setattr(answerer, name, value)

    for name, value in values.items():
        setattr(answerer, name, value)
    return undo


def try_mask_forms(answerer: Any, passes: Callable[[], bool], longest_row: int) -> None:
    """Set the first form of attention mask that passes a check, for rows of up to `longest_row` tokens.

    If only one form is possible, this function does not check it, because `apply_speedups` checks it afterwards.
    """
    forms = answerer.masks.list_mask_forms(longest_row)
    for form in forms:
        answerer.masks = replace(answerer.masks, form=form)
        if len(forms) == 1 or passes():
            return
