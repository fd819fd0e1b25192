import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.forms.blank import fill_blank, find_blank_word


@pytest.mark.parametrize(
    ("context", "sentence", "word"),
    [
        ("The gardener was BLANK.", "The gardener was patient.", "patient"),
        ("The gardener was BLANK", "The gardener was patient!", "patient"),
        ("BLANK people sing.", "Tall people sing.", "Tall"),
        ("The gardener from Lisbon was BLANK.", "The gardener from lisbon was patient.", "patient"),
        ("The gardener was BLANK.", "The gardener was well-read.", "well-read"),
        ("The gardener was BLANK.", "The gardener was fond of roses.", "fond of roses"),
        ("The gardener BLANKed the roses.", "The gardener watered the roses.", "water"),
        ('He said "BLANK" to her.', 'He said "hello" to her.', "hello"),
        ("It grows.BLANK", "It grows.slowly", "slowly"),
        ("A BLANK dog and a BLANK cat.", "A grey dog and a grey cat.", "grey"),
        ("A BLANK dog and a BLANK cat.", "A grey dog and a white cat.", "grey"),
        # The context does not match; the word is taken by its index.
        ("The gardener was BLANK, as ever.", "The gardener is patient, they say.", "patient"),
        ("The gardener was  BLANK, as ever.", "The gardener was patient as ever.", "patient"),
        ("The gardener was very BLANK.", "He sang.", None),
        ("The gardener was BLANK today.", "The gardener is - today.", None),
    ],
)
def test_the_word_is_found(context: str, sentence: str, word: str | None) -> None:
    assert find_blank_word(context, sentence) == word


@given(st.from_regex(r"[a-zäöü]+( [a-zäöü]+)?", fullmatch=True), st.sampled_from(["BLANK", "So BLANK.", "A BLANK b"]))
def test_a_filled_in_word_is_found_again(word: str, context: str) -> None:
    assert find_blank_word(context, fill_blank(context, word)) == word
