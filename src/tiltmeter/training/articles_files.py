"""Articles from files: a folder of text and HTML files, or a JSONL file."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tiltmeter.errors import DataError
from tiltmeter.text_files import read_bytes
from tiltmeter.training.articles import Article, Markup

_MARKUP: dict[str, Markup] = {
    ".txt": "wrapped text",
    ".text": "wrapped text",
    ".md": "wrapped text",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
}
# Maximum number of bytes in a row, so that a file without line ends does not fill the memory.
_LONGEST_ROW = 1 << 28


@dataclass(frozen=True)
class FolderArticles:
    """The text and HTML files in a folder and its subfolders; an article's id is its path without the suffix."""

    folder: Path
    language: str

    @property
    def name(self) -> str:
        """The path of the folder."""
        return str(self.folder)

    def count_articles(self) -> int:
        """Return the number of files with a supported suffix."""
        return len(self._list_files())

    def read_articles(self) -> Iterator[Article]:
        """Yield the articles, sorted by path."""
        files = self._list_files()
        if not files:
            raise DataError(f"{self.folder} has no files that end in {', '.join(_MARKUP)}; name another folder.")
        for path in files:
            id = path.relative_to(self.folder).with_suffix("").as_posix()
            content = (_read_text(path),)
            yield Article(id, self.language, id, str(path), _MARKUP[path.suffix.lower()], content)

    def _list_files(self) -> list[Path]:
        return sorted(path for path in self.folder.rglob("*") if path.suffix.lower() in _MARKUP and path.is_file())


@dataclass(frozen=True)
class JsonlArticles:
    """The rows of a JSONL file with the fields `id`, `text` or `sentences`, and optionally `language` and `group`."""

    path: Path
    language: str | None

    @property
    def name(self) -> str:
        """The path of the file."""
        return str(self.path)

    def count_articles(self) -> None:
        """Return None, because the number of articles is unknown before the file is read."""
        return

    def read_articles(self) -> Iterator[Article]:
        """Yield the articles in the order of the rows."""
        rows = 0
        try:
            with self.path.open("rb") as file:
                for number, line in enumerate(iter(partial(file.readline, _LONGEST_ROW), b""), 1):
                    if len(line) == _LONGEST_ROW:
                        raise DataError(f"{self.path}, row {number} is too long; write one article per line.")
                    if line.strip():
                        rows += 1
                        yield self._parse_article(line, f"{self.path}, row {number}")
        except OSError as error:
            raise DataError(f"{self.path} cannot be read: {error.strerror}.") from error
        if not rows:
            raise DataError(f"{self.path} is empty; write one article per line, with `id` and `text`.")

    def _parse_article(self, line: bytes, location: str) -> Article:
        try:
            row = json.loads(line.decode())
        except UnicodeDecodeError:
            raise DataError(f"{location} is not UTF-8; convert the file to UTF-8.") from None
        except (json.JSONDecodeError, RecursionError):
            raise DataError(f"{location} is not a JSON object; write one article per line.") from None
        if not isinstance(row, dict):
            raise DataError(f"{location} is not a JSON object; write one article per line.")
        try:
            json.dumps(row, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise DataError(f"{location} contains a lone surrogate, which is not a character; remove it.") from None
        id = _get_text(row, "id", location)
        language = self.language
        if row.get("language") is not None:
            language = _get_text(row, "language", location)
        if language is None:
            raise DataError(f"{location} has no language; add `language`, or write --articles en={self.path}.")
        if self.language not in (None, language):
            raise DataError(
                f"{location} is in {language}, not in {self.language}; write --articles {self.path}, without a "
                "language, to use the language of each row."
            )
        group = _get_text(row, "group", location) if row.get("group") is not None else id
        if "sentences" in row:
            sentences = row["sentences"]
            if not isinstance(sentences, list) or not all(isinstance(one, str) for one in sentences):
                raise DataError(f"{location}: `sentences` must be a list of texts.")
            return Article(id, language, group, location, "sentences", tuple(sentences))
        if not isinstance(row.get("text"), str):
            raise DataError(f"{location} has no text; add `text`, or `sentences` as a list.")
        return Article(id, language, group, location, "lines", (row["text"],))


def _get_text(row: dict[str, Any], field: str, location: str) -> str:
    value = row.get(field)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{location} has no `{field}`; add it as a text.")
    return value


def _read_text(path: Path) -> str:
    content = read_bytes(path)
    if b"\0" in content and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{path} is not text; remove it from the folder.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 (byte {error.start + 1:,}); convert it to UTF-8, or remove it.") from None
