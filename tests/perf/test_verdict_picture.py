"""The picture of the verdicts: its scale, and the results that are in it."""

from pathlib import Path

from perf.verdict_picture import EXAMPLES, HIGH, IDEAL, LEFT, LOW, RIGHT, place
from tiltmeter.measures.verdict import KINDS, Verdict

PICTURE = Path(__file__).parents[2] / "docs/images/verdicts.svg"


def test_the_scale_has_the_ideal_in_its_middle() -> None:
    assert (place(LOW), place(IDEAL), place(HIGH)) == (LEFT, (LEFT + RIGHT) / 2, RIGHT)


def test_the_picture_has_every_kind_of_verdict_and_every_example() -> None:
    text = PICTURE.read_text(encoding="utf-8")
    assert [kind for kind in KINDS if f">{Verdict(kind, 'towards', margin='5 points').short}<" not in text] == []
    assert text.count(" n=") == len(EXAMPLES)
