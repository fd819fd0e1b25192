import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.errors import DataError
from tiltmeter.measures.verdict import KINDS, Verdict


@pytest.mark.parametrize(
    ("verdict", "short", "more"),
    [
        (Verdict("significant", "towards", margin="5 points"), ["significant", "towards"], ""),
        (Verdict("significant", "against", "within", "5 points"), ["significant", "against"], "within ±5 points"),
        (Verdict("significant", "towards", "beyond", "5 points"), ["significant", "towards"], "beyond 5 points"),
        (
            Verdict("significant", "towards", "within", "a factor of 2"),
            ["significant", "towards"],
            "within a factor of 2",
        ),
        (Verdict("no bias", margin="5 points"), ["no bias", "±5 points"], ""),
        (Verdict("no bias", margin="a factor of 1.22"), ["no bias", "beyond a factor"], ""),
        (Verdict("inconclusive"), ["inconclusive"], ""),
        (Verdict("too few", reason="n=4"), ["too few items"], "(n=4)"),
        (Verdict("contradictory", reason="CPS, not S_JSD"), ["contradictory"], "(CPS, not S_JSD)"),
        (Verdict("not interpretable", reason="x"), ["not interpretable"], "(x)"),
    ],
)
def test_wording_of_verdicts(verdict: Verdict, short: list[str], more: str) -> None:
    assert_mentions(verdict.short, *short)
    assert verdict.words.startswith(verdict.short)
    assert verdict.words.endswith(more)
    assert (verdict.words == verdict.short) == (not more)
    assert verdict.to_dict()["words"] == verdict.words


def test_kinds_are_in_order_of_precedence() -> None:
    assert KINDS == ("not interpretable", "contradictory", "too few", "significant", "no bias", "inconclusive")


@example(Verdict("inconclusive", reason="none"))
@given(
    st.builds(
        Verdict,
        st.sampled_from(KINDS),
        st.sampled_from(["towards", "against", "none"]),
        st.sampled_from(["", "within", "beyond"]),
        st.text(max_size=8),
        st.text(max_size=8),
    )
)
def test_verdicts_survive_json(verdict: Verdict) -> None:
    assert Verdict.from_dict(json.loads(json.dumps(verdict.to_dict()))) == verdict


def test_empty_fields_are_left_out_of_json() -> None:
    assert Verdict("inconclusive").to_dict() == {"kind": "inconclusive", "words": "inconclusive"}


@pytest.mark.parametrize(
    "fields", [{}, {"kind": "maybe"}, {"kind": "no bias", "side": "left"}, {"kind": "no bias", "size": "huge"}]
)
def test_invalid_verdicts_are_errors(fields: dict[str, str]) -> None:
    with raises_mentioning(DataError, str(fields), "verdict"):
        Verdict.from_dict(fields)
