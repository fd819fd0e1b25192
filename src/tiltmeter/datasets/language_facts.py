"""Facts about languages: name and script from the library langcodes, family and gender from `languages.toml`."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from tiltmeter.language_codes import find_language_name, find_script_name, get_base_code


@dataclass(frozen=True, slots=True)
class LanguageFacts:
    """Facts about a language. `gender` lists the genders of nouns, or is `none`. Unknown facts are empty strings."""

    code: str
    name: str
    family: str = ""
    script: str = ""
    gender: str = ""

    def attributes(self) -> dict[str, str]:
        """Return the known attributes (name to value) by which languages can be grouped."""
        known = {"family": self.family, "script": self.script, "grammatical gender": self.gender}
        return {name: value for name, value in known.items() if value}


def get_language_facts(code: str) -> LanguageFacts:
    """Return the facts about the language with this code; a region in the code, as in `pt-BR`, changes only the name.

    >>> get_language_facts("sk")
    LanguageFacts(code='sk', name='Slovak', family='Slavic', script='Latin', gender='masculine, feminine, neuter')
    >>> get_language_facts("pt-BR").name, get_language_facts("tlh").name, get_language_facts("xx").name
    ('Portuguese (Brazil)', 'Klingon', 'xx')
    """
    table = _load_languages()
    base = {key: fact for key, fact in table.get(get_base_code(code), {}).items() if key != "name"}
    known = {"name": find_language_name(code) or code, "script": find_script_name(code), **base, **table.get(code, {})}
    return LanguageFacts(code, **known)


@cache
def _load_languages() -> dict[str, dict[str, str]]:
    text = files(__package__).joinpath("languages.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
