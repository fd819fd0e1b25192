"""How often the limits on the position effect and on agreement find results of chat models not interpretable."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from perf.simulations.runner import Rng, Setting, Simulate, Table, each
from tiltmeter.benchmarks.forced_choice.choice_scores import PLACE, PREFERENCE, REFUSED, SAME_IN_ORDERS, SHARE, UNPARSED
from tiltmeter.measures import choices
from tiltmeter.measures.choice_measures import CHOSEN
from tiltmeter.measures.standard_errors import Floats
from tiltmeter.measures.verdict_rule import assign_verdicts

SIZES = (80, 400, 1_500, 6_000)
# The share of the stereotype, the share of answers by position, and whether the position differs between items.
MODELS = (
    (0.5, 0.0, False),
    (0.5, 0.2, False),
    (0.6, 0.35, False),
    (0.6, 0.45, False),
    (0.6, 0.6, False),
    (0.6, 0.35, True),
    (0.6, 0.6, True),
    (0.5, 0.8, True),
)

TABLES = (
    Table(
        "chat limits",
        "Pairs in two orders and two wordings: results that are not interpretable",
        ("share", "position effect", "position"),
        tuple(f"n={n:,}" for n in SIZES),
    ),
)
# Whether the stereotype is first in each of the four answers; the second two have the second wording.
_FIRST = np.array([True, False, True, False])


def build_scores(roles: dict[str, Floats], **columns: Sequence[object]) -> pd.DataFrame:
    """Return a table of scores: `roles` has the scores of each role, with NaN where an item has none."""
    n = len(next(iter(roles.values())))
    items = [f"{number:05}" for number in range(n)]
    key = {"model": "m", "benchmark": "pairs", "part": "all", "language": "en", "protocol": "forced-choice"}
    tables = [pd.DataFrame({"item": items, "role": role, "score": scores, **columns}) for role, scores in roles.items()]
    return pd.concat(tables, ignore_index=True).dropna(subset="score").assign(**key)


def draw_pairs(rng: Rng, n: int, share: float, position: float, mixed: bool) -> dict[str, Floats]:
    """Draw four answers to each pair; the position is the first, or if `mixed` the last one in half of the items."""
    preferred = np.where(mixed & (rng.random((n, 1)) < 0.5), ~_FIRST, _FIRST)
    chosen = np.where(rng.random((n, 4)) < position, preferred, rng.random((n, 4)) < share)
    first = (chosen == _FIRST).mean(axis=1)
    same = ((chosen[:, 0] == chosen[:, 1]).astype(float) + (chosen[:, 2] == chosen[:, 3])) / 2
    stereotype = chosen.mean(axis=1)
    return {
        f"{SHARE}stereotype": stereotype,
        f"{SHARE}anti-stereotype": 1 - stereotype,
        REFUSED: np.zeros(n),
        UNPARSED: np.zeros(n),
        f"{PLACE}1": first,
        f"{PLACE}2": 1 - first,
        PREFERENCE: stereotype,
        SAME_IN_ORDERS: same,
    }


def limits(share: float, position: float, mixed: bool) -> Simulate:
    """Simulate results of each size that the rules of validity reject."""

    def draw_and_count(rng: Rng) -> dict[str, bool]:
        rejected = {}
        for n in SIZES:
            records = assign_verdicts(choices.measure(build_scores(draw_pairs(rng, n, share, position, mixed))))
            (verdict,) = [record.verdict for record in records if record.measure == CHOSEN.name]
            rejected[f"n={n:,}"] = verdict is not None and verdict.kind == "not interpretable"
        return rejected

    return each(draw_and_count)


def settings() -> Iterator[Setting]:
    """Yield the settings of the table."""
    for share, position, mixed in MODELS:
        row = (f"{share:g}", f"{position:g}", "first or last, by item" if mixed else "first")
        yield Setting("chat limits", row, limits(share, position, mixed), 250)
