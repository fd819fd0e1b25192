"""Marked pieces of texts, and proposals numbered across fields."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.making.review import review_marks
from tiltmeter.making.review.review_marks import mark_changes, mark_text, mark_texts, number_proposals
from tiltmeter.making.review.review_views import ReviewItem, ReviewProblem

TEXTS = st.text(alphabet="abİß BLANK.و", max_size=30)


@given(TEXTS, TEXTS)
def test_the_pieces_are_the_text(text: str, term: str) -> None:
    assert "".join(piece.text for piece in mark_text(text, term)) == text
    assert sum(piece.kind == "blank" for piece in mark_text(text, term)) == text.count("BLANK")


@given(TEXTS, TEXTS)
def test_changes_have_both_texts(before: str, after: str) -> None:
    pieces = mark_changes(before, after)
    assert "".join(piece.text for piece in pieces if piece.kind != "added") == before
    assert "".join(piece.text for piece in pieces if piece.kind != "removed") == after
    assert all(not piece.kind for piece in mark_changes(before, before))


def test_long_texts_are_not_compared_word_by_word(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []

    class Counted(review_marks.SequenceMatcher[str]):
        def __init__(self, junk: None, old: list[str], new: list[str], *, autojunk: bool) -> None:
            compared.append(len(old) * len(new))
            super().__init__(junk, old, new, autojunk=autojunk)

    monkeypatch.setattr(review_marks, "SequenceMatcher", Counted)
    before, after = "a b " * 5000, "b a " * 5000
    pieces = mark_changes(f"one {before}end", f"one {after}end")
    assert [(piece.text, piece.kind) for piece in pieces] == [
        ("one ", ""),
        ("", "long"),
        (before.rstrip(), "removed"),
        (after.rstrip(), "added"),
        (" end", ""),
    ]
    # One word in a long text is still found.
    pieces = mark_changes(f"{before}he is {before}", f"{before}she is {before}")
    assert [(piece.text, piece.kind) for piece in pieces[1:3]] == [("he", "removed"), ("she", "added")]
    assert max(compared) <= review_marks._MOST_PAIRS


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
