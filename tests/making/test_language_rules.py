import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.errors import DataError
from tiltmeter.making.repair.language_rules import LanguageRules, load_rules, parse_rules


def test_a_language_without_rules_has_the_defaults() -> None:
    assert load_rules("ia") == LanguageRules()


def test_rules_of_a_region_are_those_of_the_language() -> None:
    assert load_rules("de-CH") == load_rules("de")


@pytest.mark.parametrize(
    "text",
    ["capital_nouns =", '[[rewrite]]\nname = "x"', '[[rewrite]]\nname="x"\npattern="("\nreplacement=""\nreason=""'],
)
def test_a_broken_file_is_named(text: str) -> None:
    with raises_mentioning(DataError, "xx.toml", "invalid repair rules"):
        parse_rules(text, "xx.toml")
