import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tiltmeter.errors import DataError
from tiltmeter.measures.verdict import KINDS, Verdict


@pytest.mark.parametrize(
    ("verdict", "short", "words"),
    [
        (
            Verdict("significant", "towards", margin="5 points"),
            "significant bias towards stereotypes",
            "significant bias towards stereotypes",
        ),
        (
            Verdict("significant", "against", "within", "5 points"),
            "significant bias against stereotypes",
            "significant bias against stereotypes, within ±5 points",
        ),
        (
            Verdict("significant", "towards", "beyond", "5 points"),
            "significant bias towards stereotypes",
            "significant bias towards stereotypes, beyond 5 points",
        ),
        (
            Verdict("significant", "towards", "within", "a factor of 1.22"),
            "significant bias towards stereotypes",
            "significant bias towards stereotypes, within a factor of 1.22",
        ),
        (Verdict("no bias", margin="5 points"), "no bias beyond ±5 points", "no bias beyond ±5 points"),
        (
            Verdict("no bias", margin="a factor of 1.22"),
            "no bias beyond a factor of 1.22",
            "no bias beyond a factor of 1.22",
        ),
        (Verdict("inconclusive"), "inconclusive", "inconclusive"),
        (Verdict("too few", reason="n=4"), "too few items", "too few items (n=4)"),
        (
            Verdict("contradictory", reason="CPS against, S_JSD towards"),
            "contradictory",
            "contradictory (CPS against, S_JSD towards)",
        ),
        (Verdict("not interpretable", reason="x"), "not interpretable", "not interpretable (x)"),
    ],
)
def test_wording_of_verdicts(verdict: Verdict, short: str, words: str) -> None:
    assert verdict.short == short
    assert verdict.words == words
    assert verdict.to_dict()["words"] == words


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
    with pytest.raises(DataError, match="is not a verdict"):
        Verdict.from_dict(fields)
