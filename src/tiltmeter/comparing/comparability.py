"""Which cells are comparable: by default those of one family of answers, kind of model, protocol and data.

    kinds        masked, causal and seq2seq models, whose scores are different quantities
    protocols    different protocols for one kind of model
    editions     different files under one name
    tokenizers   means over tokens, such as S_JSD, of models with different tokenizers

Likelihoods and answers to prompts can be shown side by side, but are never tested against each other.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

from tiltmeter.comparing.cells import Cell
from tiltmeter.measures.measure import Measure
from tiltmeter.measures.records import get_base_protocol
from tiltmeter.models.model_protocol import CHAT_TEMPLATE

Across = Literal["kinds", "protocols", "editions", "tokenizers"]
ACROSS: tuple[Across, ...] = get_args(Across)
# A difference that no option allows.
PROMPTING = "prompting"

_WHY = {
    "kinds": "models of different kinds ({}; {}), whose scores are different quantities",
    "protocols": "asked by different protocols ({}; {}), so that a difference may be due to the protocol",
    "editions": "measured on different files of {}, in which items of the same id may differ",
    "tokenizers": "of different tokenizers, so that {} is a mean over different tokens",
    PROMPTING: "measured by likelihoods and by prompts, which are different questions",
}
_UNKNOWN_KIND = "models whose kind is not known ({}; {}), so that their scores may be different quantities"


def list_differing_conditions(cell: Cell, other: Cell, measure: Measure | None = None) -> list[str]:
    """In which respects two cells differ that should be equal for a comparison; tokenizers for means over tokens."""
    ours, theirs = cell.asking, other.asking
    respects = []
    if ("prompted" in ours.family) != ("prompted" in theirs.family):
        respects.append(PROMPTING)
    if cell.model != other.model and (ours.kind is None or theirs.kind is None or ours.kind != theirs.kind):
        # The case of a part follows from the kind of model; the rest of the protocol should be the same.
        respects.append("kinds")
        same_protocol = get_base_protocol(ours.protocol) == get_base_protocol(theirs.protocol)
        same_protocol &= (CHAT_TEMPLATE in ours.protocol) == (CHAT_TEMPLATE in theirs.protocol)
    else:
        same_protocol = (ours.protocol, ours.family) == (theirs.protocol, theirs.family)
    if not same_protocol:
        respects.append("protocols")
    if cell.language == other.language and get_edition(cell.data, cell.part) != get_edition(other.data, other.part):
        respects.append("editions")
    same_tokens = cell.model == other.model or (ours.tokenizer is not None and ours.tokenizer == theirs.tokenizer)
    if measure is not None and measure.per_token and not same_tokens:
        respects.append("tokenizers")
    return respects


def explain_incomparable(cell: Cell, other: Cell, across: Sequence[str], measure: Measure | None = None) -> str:
    """Why two cells are not compared, and the option that allows it."""
    reason, lacking = find_incomparable_reason(cell, other, across, measure)
    options = " ".join(f"--across {name}" for name in lacking)
    return f"{reason} To compare them all the same, add {options}." if lacking else reason


def find_incomparable_reason(
    cell: Cell, other: Cell, across: Sequence[str], measure: Measure | None = None
) -> tuple[str, tuple[Across, ...]]:
    """Why two cells are not compared, and across what they could be; that is nothing if they never can."""
    lacking = [name for name in list_differing_conditions(cell, other, measure) if name not in across]
    reasons = " and ".join(_format_reason(name, cell, other, measure) for name in lacking)
    both = f"{cell} and {other}" if str(cell) != str(other) else f"{cell} (in {cell.run}) and the same (in {other.run})"
    if PROMPTING in lacking:
        return f"{both} are not tested against each other: they were {_WHY[PROMPTING]}.", ()
    return f"{both} are not compared: they are {reasons}.", tuple(name for name in ACROSS if name in lacking)


def list_comparison_warnings(pairs: Iterable[tuple[Cell, Cell, Measure]]) -> Iterator[str]:
    """The warnings for comparisons that `--across` allowed, and for those between languages."""
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
    if name == "kinds" and None in (cell.asking.kind, other.asking.kind):
        return _UNKNOWN_KIND.format(*(side.asking.kind or "unknown" for side in (cell, other)))
    if name == "kinds":
        return _WHY[name].format(cell.asking.kind, other.asking.kind)
    if name == "protocols":
        return _WHY[name].format(*(f"{side.protocol}, {side.asking.family}" for side in (cell, other)))
    if name == "editions":
        return _WHY[name].format(f"{cell.benchmark}:{cell.language}")
    return _WHY[name].format(measure.name if measure else "the measure")


def get_edition(data: Mapping[str, Any], part: str) -> frozenset[str]:
    """The hashes of the files of a part of a data set, regardless of their names, from its entry in `data_sets`."""
    files = data.get("parts", {}).get(part) or data.get("files") or {}
    return frozenset(files.values())
