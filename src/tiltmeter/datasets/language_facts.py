"""Facts about languages: name, family, script and grammatical gender, from `languages.toml`."""

import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Language:
    """A language. `gender` lists the genders of nouns, or is `none`; what is not known is empty."""

    code: str
    name: str
    family: str = ""
    script: str = ""
    gender: str = ""

    def attributes(self) -> dict[str, str]:
        """The attributes that group languages, those that are known."""
        known = {"family": self.family, "script": self.script, "grammatical gender": self.gender}
        return {name: value for name, value in known.items() if value}


def language(code: str) -> Language:
    """The language with this code; a code with a region is the same language.

    >>> language("sk")
    Language(code='sk', name='Slovak', family='Slavic', script='Latin', gender='masculine, feminine, neuter')
    >>> language("pt-BR").name, language("tlh").name
    ('Portuguese (BR)', 'tlh')
    """
    known = _languages()
    if code in known:
        return known[code]
    base, _, region = code.partition("-")
    return (
        replace(known[base], code=code, name=f"{known[base].name} ({region})")
        if base in known
        else Language(code, code)
    )


@cache
def _languages() -> dict[str, Language]:
    text = files(__package__).joinpath("languages.toml").read_text(encoding="utf-8")
    return {code: Language(code, **facts) for code, facts in tomllib.loads(text).items()}
