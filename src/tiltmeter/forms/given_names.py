"""Frequent given names of one gender, per language, from `names/xx.toml` (xx is a language code).

In a translation, a name is replaced by the name at the same index in the list of the target language.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class NameList:
    """The names of a language by gender, and its pronouns.

    `pronouns` maps each masculine pronoun to a pair: the feminine pronoun, and the ending that a name needs in place of
    these pronouns. English `his` is mapped to (`her`, `'s`), because *his car* becomes *John's car*.
    """

    masculine: tuple[str, ...]
    feminine: tuple[str, ...]
    pronouns: Mapping[str, tuple[str, str]]

    @property
    def names(self) -> tuple[str, ...]:
        """All names: first the masculine names, then the feminine names."""
        return self.masculine + self.feminine


@cache
def load_name_list(language: str) -> NameList | None:
    """Return the names of a language; None if Tiltmeter has no list for this language."""
    path = files("tiltmeter.forms").joinpath("names", f"{language}.toml")
    if not path.is_file():
        return None
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    pronouns = {masculine: (feminine, ending) for masculine, (feminine, ending) in data.get("pronouns", {}).items()}
    return NameList(tuple(data["masculine"]), tuple(data["feminine"]), pronouns)
