"""Recognise what a server sent in place of a file: a login page, an error, a pointer to a file elsewhere."""

import json
import re
from pathlib import Path

# The first bytes that are looked at.
_HEAD = 4096
_PAGE = re.compile(rb"(?i)\s*(<!doctype html|<html|<head|<body|<script|<\?xml)")
_POINTER = b"version https://git-lfs.github.com/"
# The fields of error messages in JSON.
_ERROR_FIELDS = {"message", "documentation_url", "status", "error", "errors", "code", "detail"}


def detect_wrong_page(path: Path, *, known: bool) -> str | None:
    """What a file is instead of data, in words; None if it may be data.

    `known`: its hash is known and decides; otherwise its content must also be in the format of its name.
    """
    with path.open("rb") as file:
        content = file.read(_HEAD if known else -1)
    if not content.strip():
        return "an empty file"
    if get_path_suffix(path) not in (".html", ".xml") and _PAGE.match(content.removeprefix(b"\xef\xbb\xbf")):
        return "a web page, such as that of a login or an error"
    if content.startswith(_POINTER):
        return "a pointer to a file that is stored elsewhere (Git LFS)"
    return None if known else _detect_wrong_format(content, get_path_suffix(path))


def get_path_suffix(path: Path) -> str:
    """The suffix of a file, or of the file that a part is of."""
    return Path(path.name.removesuffix(".part")).suffix.lower()


def _detect_wrong_format(content: bytes, suffix: str) -> str | None:
    """What the content is, if it is not in the format of the suffix."""
    if suffix == ".pkl":
        return None if content.startswith(b"\x80") else "no pickle"
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return "no text in UTF-8"
    if suffix == ".json":
        return _detect_wrong_json(text)
    lines = text.splitlines()
    if suffix in (".csv", ".tsv"):
        delimiter = "\t" if suffix == ".tsv" else ","
        return None if len(lines) > 1 and delimiter in lines[0] else "no table"
    if suffix == ".txt":  # those without a known hash are predictions: a number on each line
        return None if all(map(_is_number, text.split())) else "no list of numbers"
    return None


def _detect_wrong_json(text: str) -> str | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return "no JSON"
    if isinstance(value, dict) and set(value) <= _ERROR_FIELDS:
        return "an error message"
    return None if isinstance(value, dict | list) else "no JSON object or list"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
