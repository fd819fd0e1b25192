"""Placeholders are found again in all the ways in which systems return them, or reported as lost."""

import pytest

from perf.breaking_engine import TOKENS, WAYS
from tests.support.messages import raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.making.placeholders import USABLE, Placeholder, select_placeholders

SENTENCE = "El cocinero era muy {} hoy."
# Ways after which the place of the blank is certain, for every placeholder.
UNCERTAIN = ("translated", "dropped", "doubled apart", "inflected")
CERTAIN = tuple(way for way in WAYS if way not in UNCERTAIN)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", TOKENS)
def test_each_placeholder_in_each_way(name: str, way: str) -> None:
    token = TOKENS[name]
    found = Placeholder(name, token).find_in_translation(WAYS[way](SENTENCE.format(token), token), 1)
    if found.outcome in USABLE:
        # The blank is where it was, and nothing of the token is left.
        assert found.text.replace("-", "").replace("BLANKes", "BLANK").replace("BLANK es", "BLANK").split() in (
            SENTENCE.format("BLANK").split(),
            SENTENCE.format("BLANK").replace(" hoy", "hoy").replace("muy ", "muy").split(),
        )
    if way in CERTAIN and not (way == "squeezed" and token.isalnum()):
        assert found.outcome in ("kept", "respelled", "merged")
    if way in ("translated", "dropped"):
        assert found.outcome == "lost"
    if way == "doubled apart":
        assert found.outcome == "doubled"
    if way in ("inflected", "squeezed") and token.isalnum():
        assert found.outcome == "attached"


def test_several_blanks() -> None:
    placeholder = Placeholder("letters", "XBLANKX")
    assert placeholder.find_in_translation("XBLANKX y xblankx", 2).text == "BLANK y BLANK"
    assert placeholder.find_in_translation("XBLANKX", 2).outcome == "lost"


def test_scripts_without_spaces_have_no_attached_blank() -> None:
    found = Placeholder("braces", "{xx0xx}").find_in_translation("他很{xx0xx}的", 1)
    assert (found.text, found.outcome) == ("他很BLANK的", "kept")


def test_the_rest_of_the_text_is_left_alone() -> None:
    assert Placeholder("letters", "XBLANKX").find_in_translation("他，ｘｂｌａｎｋｘ…", 1).text == "他，BLANK…"


def test_a_word_that_contains_the_token_is_no_blank() -> None:
    assert Placeholder("plain", "BLANK").find_in_translation("The blanket was BLANK.", 1).outcome == "doubled"


def test_order_of_a_system() -> None:
    assert select_placeholders("amazon")[0].token == "BLANK"
    assert [placeholder.name for placeholder in select_placeholders("file:x.csv")] == ["plain"]
    assert select_placeholders("someone's")[0].name == "letters"
    assert [placeholder.name for placeholder in select_placeholders("amazon", ["tag"])] == ["tag"]
    with raises_mentioning(UsageError, "placeholder 'dots'", "plain"):
        select_placeholders("amazon", ["dots"])
