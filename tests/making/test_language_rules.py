from pathlib import Path

import pytest

from tiltmeter.errors import DataError
from tiltmeter.making.repair.language_rules import LanguageRules, load_rules, read_rules


def test_a_language_without_rules_has_the_defaults() -> None:
    assert load_rules("eo") == LanguageRules()


def test_rules_of_a_region_are_those_of_the_language() -> None:
    assert load_rules("de-CH") == load_rules("de")


@pytest.mark.parametrize(
    "text",
    ["capital_nouns =", '[[rewrite]]\nname = "x"', '[[rewrite]]\nname="x"\npattern="("\nreplacement=""\nreason=""'],
)
def test_a_broken_file_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "xx.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"xx\.toml is not a file of repair rules"):
        read_rules(path)


def test_rules_of_the_user(tmp_path: Path) -> None:
    path = tmp_path / "xx.toml"
    path.write_text(
        'space_before = "?"\n[[synonym]]\nsource = "Cook"\nterm = "Koch"\nforms = { Chef = "Koch" }', encoding="utf-8"
    )
    rules = read_rules(path)
    assert rules.space_before == "?"
    assert rules.synonyms["cook"].forms == {"Chef": "Koch"}
