"""The texts of the pages for reviewing, writing and rating, in the language that a project chooses.

A language is a TOML file: `texts/CODE.toml` of this package, of a plug-in (an entry point of the group
`tiltmeter.studio_texts` that names a package with such a folder), or of the project's folder. A text that is missing in
a language is shown in English.
"""

import logging
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Formatter
from types import ModuleType
from typing import Any

from markupsafe import Markup, escape

from tiltmeter.errors import DataError, TiltmeterError
from tiltmeter.making.project_settings import SETTINGS, read_settings
from tiltmeter.registry import list_plugins

ENGLISH = "en"
# The name of the folder with the files of texts, in packages and in projects.
TEXTS = "texts"
# Groups whose keys come from data; a name that is missing in the file is shown as it is.
_OPEN_GROUPS = ("names", "languages", "findings", "pages")
_LOG = logging.getLogger(__name__)


class InterfaceTexts:
    """The texts of the interface in one language; call it with the key of a text and the values for its braces."""

    def __init__(self, language: str, texts: Mapping[str, str]) -> None:
        self.language = language
        self._texts = texts

    def __call__(self, key: str, /, **values: Any) -> Markup:
        """Return a text with its values as HTML; words in backticks are set as code.

        >>> load_texts("en")("projects.items", count=1200)
        Markup('1,200 items.')
        """
        text = str(escape(self._texts[key]))
        return Markup(re.sub("`([^`]*)`", r"<code>\1</code>", text)).format(**values)

    def find_name(self, name: str, group: str = "names") -> str:
        """Return the display name of a value of the data; if the language has no name for it, return the value."""
        return self._texts.get(f"{group}.{name}", name)

    @staticmethod
    def isolate(text: object) -> Markup:
        """Return a text from people or data as HTML whose direction does not affect the text around it.

        >>> InterfaceTexts.isolate("<b>")
        Markup('<bdi>&lt;b&gt;</bdi>')
        """
        return Markup("<bdi>{}</bdi>").format(text)


def read_texts(text: str, name: str) -> dict[str, str]:
    """Return the texts of a TOML file by key, such as `item.keep`; `name` is the file in error messages."""
    try:
        groups = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{name} is not valid TOML: {error}.") from error
    found = {}
    for group, entries in groups.items():
        if not isinstance(entries, dict) or not all(isinstance(value, str) for value in entries.values()):
            raise DataError(f"{name}: [{group}] should be a table of texts.")
        found.update({f"{group}.{key}": value for key, value in entries.items()})
    return found


def find_text_problems(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the problems of translated texts by key: unknown keys, and values in braces that English does not have."""
    english, problems = _load_english(), {}
    for key, text in texts.items():
        if key not in english:
            if key.split(".")[0] not in _OPEN_GROUPS:
                problems[key] = "English has no text with this key"
            continue
        try:
            known = set(list_values(english[key]))
            known |= {re.sub(":.*}", "}", value) for value in known}
            unknown = set(list_values(text)) - known
        except ValueError as error:
            problems[key] = str(error)
        else:
            if unknown:
                problems[key] = f"English has no value {', '.join(sorted(unknown))}"
    return problems


def list_values(text: str) -> Iterator[str]:
    """Yield the values in the braces of a text, with their formats.

    >>> list(list_values("{done:,} of {all:,} items of {name}"))
    ['{done:,}', '{all:,}', '{name}']
    """
    for _, name, style, conversion in Formatter().parse(text):
        if name is not None:
            if not name.isidentifier() or conversion:
                raise ValueError(f"{{{name}}} is not the name of a value")
            yield f"{{{name}{f':{style}' if style else ''}}}"


def load_texts(language: str, folder: Path | None = None) -> InterfaceTexts:
    """Return the texts of a language; `folder` is the folder of a project that may have texts of its own."""
    texts = dict(_load_language(language))
    path = folder / TEXTS / f"{language}.toml" if folder is not None else None
    if path is not None and path.is_file():
        texts.update(_select_valid_texts(path.read_text(encoding="utf-8"), str(path)))
    return InterfaceTexts(language, texts)


def load_project_texts(folder: Path) -> InterfaceTexts:
    """Return the texts in the language that a project chooses; English if its settings cannot be read."""
    stamps = [_get_stamp(folder / SETTINGS)]
    stamps += [_get_stamp(path) for path in sorted((folder / TEXTS).glob("*.toml"))]
    return _load_project_texts(folder, tuple(stamps))


@lru_cache(maxsize=100)
def _load_project_texts(folder: Path, _stamps: tuple[object, ...]) -> InterfaceTexts:
    try:
        return load_texts(read_settings(folder).interface, folder)
    except (TiltmeterError, OSError, UnicodeDecodeError) as error:
        _LOG.warning("The interface texts of a project are shown in English: %s", error)
        return load_texts(ENGLISH)


def _get_stamp(path: Path) -> object:
    try:
        status = path.stat()
    except OSError:
        return None
    return path.name, status.st_mtime_ns, status.st_size


@cache
def _load_english() -> dict[str, str]:
    file = files("tiltmeter.studio") / TEXTS / f"{ENGLISH}.toml"
    return read_texts(file.read_text(encoding="utf-8"), str(file))


@cache
def _load_language(language: str) -> dict[str, str]:
    """Return the English texts, replaced by the texts of a language in this package and in plug-ins."""
    texts = dict(_load_english())
    # A language is part of a file name, so anything else than a code is ignored.
    if language != ENGLISH and re.fullmatch(r"[A-Za-z0-9-]{2,40}", language):
        for folder in _list_folders():
            file = folder / f"{language}.toml"
            if file.is_file():
                texts.update(_select_valid_texts(file.read_text(encoding="utf-8"), str(file)))
    return texts


def _list_folders() -> Iterator[Traversable]:
    yield files("tiltmeter.studio") / TEXTS
    for plugin in list_plugins("studio_texts", ModuleType):
        yield files(plugin.value()) / TEXTS


def _select_valid_texts(content: str, name: str) -> dict[str, str]:
    """Return the texts of a file that can be shown; each other text is reported in the log, and shown in English."""
    texts = read_texts(content, name)
    problems = find_text_problems(texts)
    for key, problem in problems.items():
        _LOG.warning("%s: the text `%s` is shown in English: %s.", name, key, problem)
    return {key: text for key, text in texts.items() if key not in problems and text.strip()}
