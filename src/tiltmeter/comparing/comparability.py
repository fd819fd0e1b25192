"""What may be compared: numbers of one family, kind of model, protocol and data, unless it is asked for otherwise.

    kinds        BERT with GPT-2 with T5: their scores are different quantities, asked in different ways
    protocols    the same kind of model, asked in two ways
    editions     files of different content under one name
    tokenizers   means over tokens, such as S_JSD, of models that split texts differently

Likelihood and prompting are different questions: they can stand side by side, and are never tested against each other.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, get_args

from tiltmeter.comparing.cells import Cell
from tiltmeter.measures.measure import Measure
from tiltmeter.measures.records import protocol_family

Across = Literal["kinds", "protocols", "editions", "tokenizers"]
ACROSS: tuple[Across, ...] = get_args(Across)
# No option allows it.
PROMPTING = "prompting"

_WHY = {
    "kinds": "models of different kinds ({}; {}), whose scores are different quantities",
    "protocols": "asked in different ways ({}; {}), so that a difference may be the protocol's",
    "editions": "measured on different files of {}, in which items of the same id may differ",
    "tokenizers": "of different tokenizers, so that {} is a mean over different tokens",
    PROMPTING: "asked for likelihoods and by prompts, which are different questions",
}
_UNKNOWN_KIND = "models whose kind is not known ({}; {}), so that their scores may be different quantities"


def differing(one: Cell, other: Cell, measure: Measure | None = None) -> list[str]:
    """In what two cells differ that should be alike for a comparison; of a mean over tokens, the tokenizers too."""
    ours, theirs = one.asking, other.asking
    found = []
    if ("prompted" in ours.family) != ("prompted" in theirs.family):
        found.append(PROMPTING)
    if one.model != other.model and (ours.kind is None or theirs.kind is None or ours.kind != theirs.kind):
        # What is asked of a part follows from the kind; what may differ beyond that is the rest of the protocol.
        found.append("kinds")
        same_protocol = protocol_family(ours.protocol) == protocol_family(theirs.protocol)
    else:
        same_protocol = (ours.protocol, ours.family) == (theirs.protocol, theirs.family)
    if not same_protocol:
        found.append("protocols")
    if one.language == other.language and _files(one) != _files(other):
        found.append("editions")
    same_tokens = one.model == other.model or (ours.tokenizer is not None and ours.tokenizer == theirs.tokenizer)
    if measure is not None and measure.by_token and not same_tokens:
        found.append("tokenizers")
    return found


def refusal(one: Cell, other: Cell, across: Sequence[str], measure: Measure | None = None) -> str:
    """The sentence that says why two cells are not compared, and how they would be."""
    lacking = [name for name in differing(one, other, measure) if name not in across]
    reasons = " and ".join(_reason(name, one, other, measure) for name in lacking)
    both = f"{one} and {other}" if str(one) != str(other) else f"{one} (in {one.run}) and the same (in {other.run})"
    if PROMPTING in lacking:
        return f"{both} are not tested against each other: they were {_WHY[PROMPTING]}."
    options = " ".join(f"--across {name}" for name in lacking)
    return f"{both} are not compared: they are {reasons}. To compare them all the same, add {options}."


def warnings(pairs: Iterable[tuple[Cell, Cell, Measure]]) -> Iterator[str]:
    """What stands beside comparisons that were asked for although something differs, and beside those of languages."""
    seen: dict[str, str] = {}
    languages = False
    for one, other, measure in pairs:
        languages |= one.language != other.language
        for name in differing(one, other, measure):
            seen.setdefault(name, f"{one.model} and {other.model} are {_reason(name, one, other, measure)}.")
    for name, words in seen.items():
        yield f"Compared across {name}: {words}"
    if languages:
        yield "Between languages, a difference may be the translation's as much as the model's."


def _reason(name: str, one: Cell, other: Cell, measure: Measure | None) -> str:
    if name == "kinds" and None in (one.asking.kind, other.asking.kind):
        return _UNKNOWN_KIND.format(*(cell.asking.kind or "unknown" for cell in (one, other)))
    if name == "kinds":
        return _WHY[name].format(one.asking.kind, other.asking.kind)
    if name == "protocols":
        return _WHY[name].format(*(f"{cell.protocol}, {cell.asking.family}" for cell in (one, other)))
    if name == "editions":
        return _WHY[name].format(f"{one.benchmark}:{one.language}")
    return _WHY[name].format(measure.name if measure else "the measure")


def _files(cell: Cell) -> frozenset[str]:
    """The hashes of the files that a cell is of; their names do not matter."""
    files = cell.data.get("parts", {}).get(cell.part) or cell.data.get("files") or {}
    return frozenset(files.values())
