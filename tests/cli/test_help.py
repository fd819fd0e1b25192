"""Help texts: every command has examples that it can parse, every option has a description."""

import re
import shlex
import subprocess
import sys

import pytest
from typer.core import TyperCommand

from tests.examples.written import COMMANDS
from tests.support.command import command
from tests.support.messages import raises_mentioning


def examples(command: TyperCommand) -> list[list[str]]:
    """Return the arguments of the examples in a help text, without the name of the program and redirections."""
    lines = re.findall(r"^\s*`tiltmeter (.*?)`(?:: .*)?$", command.help or "", re.MULTILINE)
    return [shlex.split(line.partition(" > ")[0]) for line in lines]


def parse(words: list[str]) -> None:
    """Parse a command line without running it; unknown options and missing arguments are errors."""
    name = next(words[:count] for count in (3, 2, 1) if tuple(words[:count]) in COMMANDS)
    COMMANDS[tuple(name)].make_context("tiltmeter", words[len(name) :]).close()


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_examples_are_parsed(words: tuple[str, ...]) -> None:
    written = examples(COMMANDS[words])
    assert any(tuple(example[: len(words)]) == words for example in written)
    for example in written:
        parse(example)


def test_the_check_finds_a_wrong_example() -> None:
    with raises_mentioning(Exception, "--by-target"):
        parse(["show", "runs/demo", "--by-target"])


_HEAVY = ["torch", "transformers", "pandas", "scipy", "altair"]


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (["--help"], ["torch", "transformers"]),
        (["data", "list"], [*_HEAVY, "rich", "tiltmeter.datasets.readers"]),
        (["run", "--help"], ["torch", "transformers"]),
        (["nonsense"], ["torch", "transformers"]),
    ],
)
def test_help_and_lists_do_not_import_slow_packages(arguments: list[str], unwanted: list[str]) -> None:
    program = (
        "import sys\nfrom tiltmeter.cli import main\n"
        f"sys.argv = ['tiltmeter', *{arguments}]\n"
        f"try: main()\nfinally: print([name for name in {unwanted} if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_types_in_the_help_are_plain_words(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, *words, "--help") == 0
    text = capsys.readouterr().out
    assert not re.findall(r"<[a-z]+(?:\[[a-z]+\])?(?: range)?>", text, re.IGNORECASE)
    assert not re.findall(r"\.\.\.[\]}]\.\.\.", text)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_option_has_a_description(words: tuple[str, ...]) -> None:
    texts = {parameter.name: getattr(parameter, "help", None) or "" for parameter in COMMANDS[words].params}
    assert {name for name, text in texts.items() if not text.endswith((".", "…"))} == set()


def test_shells_complete_commands(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("_TILTMETER_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "tiltmeter rep")
    monkeypatch.setenv("COMP_CWORD", "1")
    command(monkeypatch)
    assert capsys.readouterr().out.split() == ["report", "reproduce"]
