"""Detection of wrong downloads: login pages, error messages, and pointer files of Git LFS."""

import json
import re
from pathlib import Path

_HEAD_BYTES = 4096
_PAGE = re.compile(rb"(?i)\s*(<!doctype html|<html|<head|<body|<script|<\?xml)")
_POINTER = b"version https://git-lfs.github.com/"
# The names of fields that occur in JSON error messages.
_ERROR_FIELDS = {"message", "documentation_url", "status", "error", "errors", "code", "detail"}


def detect_wrong_page(path: Path, *, known: bool) -> str | None:
    """Return a description of the content if a downloaded file is not data, for example a login page; otherwise None.

    `known` is true if the hash of the file is known. If it is not known, the content must also match the suffix of the
    file name.
    """
    with path.open("rb") as file:
        content = file.read(_HEAD_BYTES if known else -1)
    if not content.strip():
        return "an empty file"
    suffix = Path(path.name.removesuffix(".part")).suffix.lower()
    if suffix not in (".html", ".xml") and _PAGE.match(content.removeprefix(b"\xef\xbb\xbf")):
        return "a web page, such as a login or error page"
    if content.startswith(_POINTER):
        return "a Git LFS pointer, not the file itself"
    return None if known else _detect_wrong_format(content, suffix)


def _detect_wrong_format(content: bytes, suffix: str) -> str | None:
    """Return a description of the content if it does not have the format of the suffix; otherwise None."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return "not UTF-8 text"
    if suffix == ".json":
        return _detect_wrong_json(text)
    lines = text.splitlines()
    if suffix in (".csv", ".tsv"):
        delimiter = "\t" if suffix == ".tsv" else ","
        return None if len(lines) > 1 and delimiter in lines[0] else "not a table"
    if suffix == ".txt":  # all text files without a known hash contain predictions, one number per line
        return None if all(map(_is_number, text.split())) else "not a list of numbers"
    return None


def _detect_wrong_json(text: str) -> str | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return "not JSON"
    if isinstance(value, dict) and set(value) <= _ERROR_FIELDS:
        return "an error message"
    return None if isinstance(value, dict | list) else "not a JSON object or list"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
