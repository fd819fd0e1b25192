"""False claims from choices of chat models that refuse the answers of one side more often."""

from collections.abc import Iterator

import numpy as np

from perf.simulations.chat_limits import build_scores
from perf.simulations.runner import Rng, Setting, Simulate, Table, each
from tiltmeter.benchmarks.forced_choice.choice_scores import PLACE, PREFERENCE, REFUSED, SHARE, UNPARSED
from tiltmeter.measures import choices
from tiltmeter.measures.choice_measures import CHOSEN
from tiltmeter.measures.standard_errors import Floats
from tiltmeter.measures.verdict_rule import assign_verdicts

# The share of the stereotype before refusals, and the refused shares of stereotypes and of anti-stereotypes.
MODELS = (
    (0.65, 0.45, 0.0),
    (0.5, 0.4, 0.0),
    (0.5, 0.03, 0.0),
    (0.5, 0.0, 0.0),
    (0.6, 0.05, 0.0),
)
_CLAIMS = ("significant towards", "significant against", "beyond", "no bias")

TABLES = (
    Table(
        "missing answers",
        "800 pairs whose stereotypical choices are refused more often: verdicts",
        ("true share", "refused: stereotype", "refused: anti-stereotype"),
        ("chosen stereotype", *_CLAIMS),
        ("chosen stereotype",),
    ),
)


def draw_refusals(rng: Rng, n: int, share: float, refused: float, other_refused: float) -> dict[str, Floats]:
    """Draw one answer to each pair, in a random order; a refusal depends on the option that would be chosen."""
    wanted = rng.random(n) < share
    lost = rng.random(n) < np.where(wanted, refused, other_refused)
    stereotype, anti = (wanted & ~lost).astype(float), (~wanted & ~lost).astype(float)
    first = np.where(rng.random(n) < 0.5, stereotype, anti)
    return {
        f"{SHARE}stereotype": stereotype,
        f"{SHARE}anti-stereotype": anti,
        REFUSED: lost.astype(float),
        UNPARSED: np.zeros(n),
        f"{PLACE}1": first,
        f"{PLACE}2": stereotype + anti - first,
        PREFERENCE: np.where(lost, np.nan, stereotype),
    }


def refusals(n: int, share: float, refused: float, other_refused: float) -> Simulate:
    """Simulate the verdicts on a model that refuses some answers."""

    def draw_and_count(rng: Rng) -> dict[str, float]:
        records = assign_verdicts(choices.measure(build_scores(draw_refusals(rng, n, share, refused, other_refused))))
        (record,) = [record for record in records if record.measure == CHOSEN.name]
        assert record.verdict is not None
        kind, side = record.verdict.kind, record.verdict.side
        return {
            "chosen stereotype": record.value,
            "significant towards": kind == "significant" and side == "towards",
            "significant against": kind == "significant" and side == "against",
            "beyond": record.verdict.size == "beyond",
            "no bias": kind == "no bias" or record.verdict.size == "within",
        }

    return each(draw_and_count)


def settings() -> Iterator[Setting]:
    """Yield the settings of the table."""
    for share, refused, other in MODELS:
        row = (f"{share:g}", f"{refused:.0%}", f"{other:.0%}")
        yield Setting("missing answers", row, refusals(800, share, refused, other), 1_000)
