"""Hunspell dictionaries that are installed on this machine, read by the pure-Python package spylls.

Debian and Ubuntu have them as packages (`hunspell-gl`), LibreOffice and Firefox as extensions. The environment variable
DICPATH can name further folders, as for Hunspell itself.
"""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path

from tiltmeter.errors import DataError
from tiltmeter.language_codes import get_base_code, is_same_language

_FOLDERS = (
    "/usr/share/hunspell",
    "/usr/share/myspell",
    "/usr/share/myspell/dicts",
    "/usr/local/share/hunspell",
    "/opt/homebrew/share/hunspell",
    "~/.local/share/hunspell",
    "~/Library/Spelling",
    "/Library/Spelling",
)
_NAME = re.compile(r"([a-z]{2,3})([_-][A-Za-z0-9_-]+)?")


@dataclass(frozen=True)
class Dictionary:
    """A Hunspell dictionary; `path` is the path of its `.dic` file. The file is read at the first lookup."""

    path: Path

    @property
    def name(self) -> str:
        """The name of the dictionary, such as `gl_ES`."""
        return self.path.stem

    @cached_property
    def _lookup(self) -> Callable[[str], bool]:
        from tiltmeter.making.quality.dictionary_words import open_lookup

        try:
            return open_lookup(self.path)
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise DataError(
                f"The dictionary {self.path} cannot be read ({error}); install it again, or remove it."
            ) from error

    def _look_up(self, word: str) -> bool:
        lookup = self._lookup
        try:
            return lookup(word)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise DataError(
                f"The dictionary {self.path} cannot be read ({error}); install it again, or remove it."
            ) from error

    @cached_property
    def _known(self) -> dict[str, bool]:
        return {}

    def has_word(self, word: str) -> bool:
        """Return whether the dictionary contains the word in this spelling; capitalised and inflected forms count."""
        if word not in self._known:
            self._known[word] = self._look_up(word)
        return self._known[word]


def find_dictionary(language: str) -> Dictionary | None:
    """Return the installed dictionary of a language; None if there is none or if spylls is not installed."""
    return _find_file(language) if find_spec("spylls") is not None else None


def describe_missing_dictionary(language: str) -> str:
    """Return why no dictionary of the language is used, with the remedy, as the start of a sentence.

    >>> "hunspell-tlh" in describe_missing_dictionary("tlh")
    True
    """
    if find_spec("spylls") is None:
        return "the package spylls is not installed (`pip install 'tiltmeter[quality]'`)"
    package = f"hunspell-{get_base_code(language)}"
    return f"no Hunspell dictionary of {language} is installed (on Debian and Ubuntu `apt install {package}`)"


@cache
def _find_file(language: str) -> Dictionary | None:
    found = [path for path in _list_files() if (match := _NAME.fullmatch(path.stem)) and _fits(match[0], language)]
    base = get_base_code(language)
    # Prefer the dictionary of the same region, then of no region, then of the region with the name of the language.
    wanted = [language.replace("-", "_"), base, f"{base}_{base.upper()}"]
    found.sort(key=lambda path: wanted.index(path.stem) if path.stem in wanted else len(wanted))
    return Dictionary(found[0]) if found else None


def _fits(name: str, language: str) -> bool:
    return is_same_language(name.replace("_", "-"), language)


def _list_files() -> Iterator[Path]:
    given = [Path(folder) for folder in os.environ.get("DICPATH", "").split(os.pathsep) if folder]
    for folder in (*given, *(Path(folder).expanduser() for folder in _FOLDERS)):
        if folder.is_dir():
            yield from (path for path in sorted(folder.glob("*.dic")) if path.with_suffix(".aff").is_file())
