"""Comparability of cells. A cell has the scores of one model on one part of a benchmark in one language.

By default, two cells are comparable if they have the same answer type, kind of model, protocol and data. The option
`--across` also allows comparisons of:

    kinds        masked, causal and seq2seq models, whose scores are different quantities
    protocols    different protocols for the same kind of model
    editions     different data files with the same name
    tokenizers   means over tokens, such as S_JSD, of models with different tokenizers

Likelihoods and answers to prompts are never compared with each other.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, get_args

from tiltmeter.comparing.cells import Cell
from tiltmeter.measures.measure import Measure
from tiltmeter.measures.records import get_base_protocol
from tiltmeter.models.model_protocol import CHAT_TEMPLATE

Across = Literal["kinds", "protocols", "editions", "tokenizers"]
ACROSS: tuple[Across, ...] = get_args(Across)
# A difference between two results that no value of `--across` allows: likelihoods against answers to prompts.
PROMPTING = "prompting"

_WHY = {
    "kinds": "models of different kinds ({}; {}), whose scores are different quantities",
    "protocols": "asked by different protocols ({}; {}), so a difference may be due to the protocol",
    "editions": "measured on different files of {}, in which items with the same id may differ",
    "tokenizers": "models with different tokenizers, so {} is a mean over different tokens",
    PROMPTING: "measured by likelihoods and by prompts, which are not comparable",
}
_UNKNOWN_KIND = "models of unknown kind ({}; {}), whose scores may be different quantities"


def list_differing_conditions(cell: Cell, other: Cell, measure: Measure | None = None) -> list[str]:
    """Return the conditions in which two results differ; tokenizers count only if `measure` is a mean over tokens."""
    ours, theirs = cell.conditions, other.conditions
    respects = []
    if ("prompted" in ours.family) != ("prompted" in theirs.family):
        respects.append(PROMPTING)
    if cell.model != other.model and (ours.kind is None or theirs.kind is None or ours.kind != theirs.kind):
        # The scoring case (such as `/d`) depends on the kind of model; the rest of the protocol must be the same.
        respects.append("kinds")
        same_protocol = get_base_protocol(ours.protocol) == get_base_protocol(theirs.protocol)
        same_protocol &= (CHAT_TEMPLATE in ours.protocol) == (CHAT_TEMPLATE in theirs.protocol)
    else:
        same_protocol = (ours.protocol, ours.family) == (theirs.protocol, theirs.family)
    if not same_protocol:
        respects.append("protocols")
    if cell.language == other.language and cell.data.get_edition(cell.part) != other.data.get_edition(other.part):
        respects.append("editions")
    same_tokens = cell.model == other.model or (ours.tokenizer is not None and ours.tokenizer == theirs.tokenizer)
    if measure is not None and measure.per_token and not same_tokens:
        respects.append("tokenizers")
    return respects


def explain_incomparable(cell: Cell, other: Cell, across: Sequence[str], measure: Measure | None = None) -> str:
    """Return a sentence that explains why two results are not compared, with the option that allows it."""
    reason, lacking = find_incomparable_reason(cell, other, across, measure)
    options = " ".join(f"--across {name}" for name in lacking)
    return f"{reason} To compare them anyway, add {options}." if lacking else reason


def find_incomparable_reason(
    cell: Cell, other: Cell, across: Sequence[str], measure: Measure | None = None
) -> tuple[str, tuple[Across, ...]]:
    """Return why two results are not compared, and the values of `across` that would allow it, if any."""
    lacking = [name for name in list_differing_conditions(cell, other, measure) if name not in across]
    reasons = " and ".join(_format_reason(name, cell, other, measure) for name in lacking)
    both = f"{cell} and {other}" if str(cell) != str(other) else f"{cell} in {cell.run} and in {other.run}"
    if PROMPTING in lacking:
        return f"{both} are not tested against each other: they were {_WHY[PROMPTING]}.", ()
    return f"{both} are not compared: they are {reasons}.", tuple(name for name in ACROSS if name in lacking)


def list_comparison_warnings(pairs: Iterable[tuple[Cell, Cell, Measure]]) -> Iterator[str]:
    """Yield warnings for comparisons that `--across` allowed, and for comparisons of languages."""
    seen: dict[str, str] = {}
    languages = False
    for cell, other, measure in pairs:
        languages |= cell.language != other.language
        for name in list_differing_conditions(cell, other, measure):
            seen.setdefault(name, f"{cell.model} and {other.model} are {_format_reason(name, cell, other, measure)}.")
    for name, words in seen.items():
        yield f"Compared across {name}: {words}"
    if languages:
        yield "A difference between languages may be due to the translation as much as to the model."


def _format_reason(name: str, cell: Cell, other: Cell, measure: Measure | None) -> str:
    if name == "kinds" and None in (cell.conditions.kind, other.conditions.kind):
        return _UNKNOWN_KIND.format(*(side.conditions.kind or "unknown" for side in (cell, other)))
    if name == "kinds":
        return _WHY[name].format(cell.conditions.kind, other.conditions.kind)
    if name == "protocols":
        return _WHY[name].format(*(f"{side.protocol}, {side.conditions.family}" for side in (cell, other)))
    if name == "editions":
        return _WHY[name].format(f"{cell.benchmark}:{cell.language}")
    return _WHY[name].format(measure.name if measure else "the measure")
