"""The results as a Markdown table between two markers of a page."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import transformers

from perf.architectures.checking import TOLERANCE, Outcome, Verdict

COMMAND = "python -m perf.architectures"
_BEGIN, _END = "<!-- architectures: begin -->", "<!-- architectures: end -->"
_KINDS = {
    "masked": "Masked models",
    "next-sentence": "Next-sentence heads",
    "causal": "Causal models",
    "seq2seq": "Encoder-decoders",
}
_ORDER: tuple[Verdict, ...] = ("wrong", "refused", "agrees", "cannot be built")
_LONGEST_REASON = 240


def worst_of(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the worst variant of an architecture: a wrong one, a rejected one, or the largest difference."""
    return min(outcomes, key=lambda outcome: (_ORDER.index(outcome.verdict), -outcome.difference))


def count(rows: dict[str, list[Outcome]]) -> Counter[Verdict]:
    """Return the number of architectures with each verdict."""
    return Counter(worst_of(outcomes).verdict for outcomes in rows.values())


def write_between_markers(page: Path, rows: dict[str, list[Outcome]]) -> None:
    """Replace the text between the markers of a page by the table."""
    text = page.read_text(encoding="utf-8")
    pattern = re.compile(f"{re.escape(_BEGIN)}.*?{re.escape(_END)}", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"{page} lacks the markers {_BEGIN} and {_END} for the table; add them where it belongs.")
    made = f"{_BEGIN}\n\n{make_table(rows)}\n{_END}"
    page.write_text(pattern.sub(lambda _: made, text), encoding="utf-8")


def make_table(rows: dict[str, list[Outcome]]) -> str:
    """Return the counts and a table for each kind of model as Markdown."""
    counts = count(rows)
    judged = sum(counts.values()) - counts["cannot be built"]
    lines = [
        f"transformers {transformers.__version__} has {sum(counts.values())} text architectures, of which {judged} can "
        f"be made from their config classes: **{counts['agrees']} agree, {counts['refused']} are refused, "
        f"{counts['wrong']} are wrong**. Command: `{COMMAND}`.",
        "",
    ]
    for kind, title in _KINDS.items():
        of_kind = {name: found for name, found in rows.items() if name.startswith(f"{kind}/")}
        if of_kind:
            lines += [f"### {title}", "", *_agreeing(of_kind), *_others(of_kind)]
    return "\n".join(lines)


def _agreeing(rows: dict[str, list[Outcome]]) -> list[str]:
    """Return a paragraph with the names of the architectures that agree."""
    agreeing = {name: worst_of(found) for name, found in rows.items() if worst_of(found).verdict == "agrees"}
    if not agreeing:
        return []
    largest = max(agreeing.values(), key=lambda outcome: outcome.difference)
    names = ", ".join(f"`{_model_type(name)}`" for name in sorted(agreeing))
    return [
        f"{len(agreeing)} agree with the reference implementation; the largest difference is "
        f"{_number(largest.difference)} nats ({_model_type(largest.name)}{_explain_tolerance(largest)}): {names}.",
        "",
    ]


def _explain_tolerance(outcome: Outcome) -> str:
    return ", within five times the effect of float32" if outcome.difference > TOLERANCE else ""


def _others(rows: dict[str, list[Outcome]]) -> list[str]:
    others = [worst for found in rows.values() if (worst := worst_of(found)).verdict != "agrees"]
    if not others:
        return []
    others.sort(key=lambda outcome: (_ORDER.index(outcome.verdict), outcome.name))
    table = ["| model type | result | difference or reason |", "| --- | --- | --- |"]
    return [*table, *(f"| `{_model_type(o.name)}` | {o.verdict} | {_explain(o)} |" for o in others), ""]


def _explain(outcome: Outcome) -> str:
    if outcome.verdict == "wrong" and not outcome.reason:
        return f"{_number(outcome.difference)} ({outcome.variant}; {outcome.where})"
    reason = outcome.reason.replace("|", "\\|").replace("<", "\\<")
    return reason if len(reason) <= _LONGEST_REASON else f"{reason[:_LONGEST_REASON]}…"


def _model_type(name: str) -> str:
    return name.partition("/")[2]


def _number(difference: float) -> str:
    return (
        "a missing score"
        if math.isinf(difference)
        else f"{difference:.1e}"
        if difference < 0.01
        else f"{difference:.2f}"
    )
