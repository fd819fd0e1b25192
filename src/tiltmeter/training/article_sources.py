"""Open sources of articles: JSONL files, folders, data sets of the Hugging Face hub, Wikipedia dumps."""

import re
from collections.abc import Sequence
from pathlib import Path

from tiltmeter.errors import DataError, UsageError
from tiltmeter.text_files import expand_home
from tiltmeter.training.articles import ArticleSource
from tiltmeter.training.articles_files import FolderArticles, JsonlArticles

_LANGUAGE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]+)*")


def open_sources(texts: Sequence[str]) -> list[ArticleSource]:
    """Return the sources of articles that texts such as `en=help/en/` name (`LANGUAGE=SOURCE`).

    `SOURCE` alone is allowed for a JSONL file whose rows contain the language.
    """
    if not texts:
        raise UsageError("There are no articles; name them as in --articles en=help/en/ --articles de=help/de/.")
    if duplicates := sorted({text for text in texts if texts.count(text) > 1}):
        raise UsageError(f"--articles {duplicates[0]} is given twice; give it only once.")
    return [_open_source(text) for text in texts]


def _open_source(text: str) -> ArticleSource:
    language, name = _parse_source(text)
    if language is None:
        if not name.endswith(".jsonl"):
            raise UsageError(
                f"--articles {text} has no language; add it, as in --articles en={text}. Only a .jsonl file can "
                "contain the language of each article."
            )
        return JsonlArticles(_find_existing_path(name), None)
    if name.startswith("hf:"):
        from tiltmeter.training.articles_hub import HubArticles

        return HubArticles(name, language)
    path = _find_existing_path(name)
    if path.is_dir():
        return FolderArticles(path, language)
    if name.endswith(".jsonl"):
        return JsonlArticles(path, language)
    if re.search(r"\.xml(\.bz2|\.gz)?$", name):
        from tiltmeter.training.articles_wikipedia import DumpArticles

        return DumpArticles(path, language)
    raise UsageError(
        f"{name} is not a source of articles; give a .jsonl file, a folder of text or HTML files, a Wikipedia dump "
        "(.xml.bz2), or a data set as hf:NAME:CONFIG."
    )


def _parse_source(text: str) -> tuple[str | None, str]:
    language, equals, name = text.partition("=")
    if equals and _LANGUAGE.fullmatch(language):
        return language, name
    return None, text


def _find_existing_path(name: str) -> Path:
    path = expand_home(name)
    try:
        if not path.exists():
            raise DataError(f"{name} does not exist; give a file or a folder of articles.")
    except OSError as error:  # for example a circular link, or a name that is too long
        raise DataError(f"{name} cannot be read: {error.strerror}.") from error
    if not path.is_dir() and not path.is_file():  # reading a pipe or a device might never end
        raise DataError(f"{name} is neither a file nor a folder; give a file or a folder of articles.")
    return path
