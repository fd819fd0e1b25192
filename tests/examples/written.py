"""Extract the commands and code blocks of README, the docs and the help texts."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import typer
from typer.core import TyperCommand, TyperGroup

from tests.test_docs import _CODE, _FENCE, _INDENTED
from tiltmeter.cli import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    *(page.relative_to(ROOT).as_posix() for page in sorted((ROOT / "docs").rglob("*.md"))),
]

# A line of a block that is a command: with a prompt, as a step of a workflow, or with a known program.
_COMMAND = re.compile(r"^(?:\$ |- run: )?((?:\w+=\S+ )?(?:tiltmeter|pip|make|python|vllm)(?: .*)?)$")
# Explanations follow two spaces or a hash.
_EXPLANATION = re.compile(r" {2,}| #.*")


@dataclass(frozen=True)
class Block:
    """A block of a page; `kind` is the word after the fence, or empty for an indented block."""

    kind: str
    text: str


@cache
def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str) -> Iterator[Block]:
    """Yield the blocks of a page in order."""
    text = text_of(page)
    found = {match.start(): Block(match[2], match[3]) for match in _FENCE.finditer(text)}
    rest = _FENCE.sub(lambda match: re.sub(r"[^\n]", "-", match[0]), text)  # the same length
    for match in _INDENTED.finditer(rest):
        found[match.start()] = Block("", re.sub(r"^ {4}", "", match[0], flags=re.MULTILINE))
    yield from (found[start] for start in sorted(found))


def lines_of(block: Block) -> Iterator[str]:
    """Yield the commands of a block, without explanations."""
    if block.kind not in ("", "console", "yaml"):
        return
    for line in block.text.replace("\\\n", " ").splitlines():
        if match := _COMMAND.match(line):
            yield _EXPLANATION.split(match[1])[0].strip()


def inline(page: str) -> Iterator[str]:
    """Yield the complete commands in sentences; `tiltmeter make source` without its folder is only a name."""
    rest = _INDENTED.sub("", _FENCE.sub("", text_of(page)))
    for _, words in _CODE.findall(rest):
        if words.startswith("tiltmeter ") and is_complete(shlex.split(words)[1:]):
            yield words


def is_complete(words: list[str]) -> bool:
    """Return whether these words are a command with all arguments and without placeholders in capitals."""
    if any(re.search(r"(?<![\w-])[A-Z]{2,}(?![\w-])|[…\[]", word) for word in words):
        return False
    name = next((words[:count] for count in (3, 2, 1) if tuple(words[:count]) in COMMANDS), None)
    if name is None or name == words:
        return False
    try:
        COMMANDS[tuple(name)].make_context("tiltmeter", words[len(name) :]).close()
    except Exception:  # an exception of the click in Typer
        return False
    return True


def _commands(group: TyperGroup, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], TyperCommand]]:
    for name, inner in group.commands.items():
        if isinstance(inner, TyperGroup):
            yield from _commands(inner, (*words, name))
        elif isinstance(inner, TyperCommand):
            yield (*words, name), inner


_ROOT = typer.main.get_command(app)
assert isinstance(_ROOT, TyperGroup)
COMMANDS = dict(_commands(_ROOT))


def in_help() -> list[str]:
    """Return the examples of all help texts in order, without duplicates."""
    written = [
        line
        for command in COMMANDS.values()
        for line in re.findall(r"^\s*`(tiltmeter .*?)`(?:: .*)?$", command.help or "", re.MULTILINE)
    ]
    return list(dict.fromkeys(written))
