"""Marked pieces of texts, and proposals numbered across fields."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.making.review.review_marks import mark, mark_changes, mark_texts, number_proposals
from tiltmeter.making.review.review_views import ReviewItem, ReviewProblem

TEXTS = st.text(alphabet="abİß BLANK.و", max_size=30)


@given(TEXTS, TEXTS)
def test_the_pieces_are_the_text(text: str, term: str) -> None:
    assert "".join(piece.text for piece in mark(text, term)) == text
    assert sum(piece.kind == "blank" for piece in mark(text, term)) == text.count("BLANK")


@given(TEXTS, TEXTS)
def test_changes_have_both_texts(before: str, after: str) -> None:
    pieces = mark_changes(before, after)
    assert "".join(piece.text for piece in pieces if piece.kind != "added") == before
    assert "".join(piece.text for piece in pieces if piece.kind != "removed") == after
    assert all(not piece.kind for piece in mark_changes(before, before))


def test_the_term_is_marked_in_the_other_texts() -> None:
    marked = mark_texts({"target_term": "Koch", "context": "Ein KOCH und noch ein Koch war BLANK."})
    assert [piece.text for piece in marked["context"] if piece.kind == "target"] == ["KOCH", "Koch"]
    assert [piece.kind for piece in marked["target_term"]] == [""]


def test_proposals_are_numbered_across_fields() -> None:
    problems = (
        ReviewProblem("a", "proposed", "context", "", ("same", "one", "two")),
        ReviewProblem("b", "proposed", "target_term", "", ("one",)),
        ReviewProblem("c", "proposed", "context", "", ("two", "three")),
        ReviewProblem("d", "proposed", "", "", ("for no text",)),
    )
    view = ReviewItem("i", "", "", {}, {"context": "same", "target_term": "x"}, problems, "")
    assert [(found.number, found.field, found.text) for found in number_proposals(view)] == [
        (1, "context", "one"),
        (2, "context", "two"),
        (3, "target_term", "one"),
        (4, "context", "three"),
    ]
    many = replace(view, problems=(ReviewProblem("a", "proposed", "context", "", tuple("0123456789")),))
    assert len(number_proposals(many)) == 9
