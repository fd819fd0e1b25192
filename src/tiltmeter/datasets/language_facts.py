"""Facts about languages: name, family, script and grammatical gender, from `languages.toml`."""

import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files


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
    >>> get_language_facts("pt-BR").name, get_language_facts("tlh").name
    ('Portuguese (BR)', 'tlh')
    """
    known = _load_languages()
    if code in known:
        return known[code]
    base, _, region = code.partition("-")
    return (
        replace(known[base], code=code, name=f"{known[base].name} ({region})")
        if base in known
        else LanguageFacts(code, code)
    )


@cache
def _load_languages() -> dict[str, LanguageFacts]:
    text = files(__package__).joinpath("languages.toml").read_text(encoding="utf-8")
    return {code: LanguageFacts(code, **facts) for code, facts in tomllib.loads(text).items()}
