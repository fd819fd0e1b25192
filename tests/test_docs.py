"""The docs: every link is valid, every command and option exists, and the site builds without a warning."""

import ast
import inspect
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import click
import pytest
import typer.main

import tiltmeter
from tiltmeter.cli import app
from tiltmeter.datasets import DATASETS

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    *sorted((ROOT / "docs").rglob("*.md")),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "perf/README.md")),
]
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]

_FENCE = re.compile(r"^(```+)(.*?)\n(.*?)^\1", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:^ {4}.*\n?)+", re.MULTILINE)
_LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(\s*<?([^)>\s]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_CODE = re.compile(r"(`+)(.+?)\1")


def prose(text: str) -> str:
    """Return the text without code, in which brackets are not links."""
    return _CODE.sub("", _INDENTED.sub("", _FENCE.sub("", text)))


def slug(heading: str) -> str:
    """Return the anchor of a heading, as on GitHub and in the built site."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
    return re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")


@cache
def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#{1,6}\s+(.+?)\s*#*$", _FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    found: set[str] = set()
    for heading in headings:
        name, number = slug(heading), 0
        while (anchor := f"{name}-{number}" if number else name) in found:
            number += 1
        found.add(anchor)
    return found


def broken(page: Path, text: str) -> Iterator[str]:
    """Yield the broken relative links of a page."""
    for target in _LINK.findall(prose(text)):
        path, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", path):
            continue
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            yield target


def code(text: str) -> Iterator[str]:
    """Yield the code of a page: fenced, indented and inline."""
    for _, _, block in _FENCE.findall(text):
        yield block
    rest = _FENCE.sub("", text)
    for block in _INDENTED.findall(rest):
        yield re.sub(r"^ {4}", "", block, flags=re.MULTILINE)
    for _, words in _CODE.findall(_INDENTED.sub("", rest)):
        yield words


def commands(text: str) -> Iterator[str]:
    for block in code(text):
        for line in block.replace("\\\n", " ").splitlines():
            if line.strip().startswith("tiltmeter "):
                yield line.strip().removeprefix("tiltmeter ")


def unknown(command: str) -> Iterator[str]:
    """Yield the commands and options of a command line that do not exist."""
    # Text after two spaces or a hash explains the command.
    words = shlex.split(re.split(r"\s{2,}|\s#", command)[0].replace("'", " "), comments=True)
    at: click.Command = typer.main.get_command(app)
    while hasattr(at, "commands") and words and re.fullmatch(r"[a-z][a-z-]*", words[0]):
        if words[0] not in at.commands:
            yield words[0]
            return
        at = at.commands[words.pop(0)]
    known = {option for parameter in at.params for option in (*parameter.opts, *parameter.secondary_opts)}
    known |= {"-h", "--help"}
    yield from (
        word for word in words if word.startswith("-") and word.partition("=")[0] not in known and len(word) > 1
    )


def test_the_checks_find_errors(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One `two`\n\n## Three\n## Three\n", encoding="utf-8")
    good = "[a](page.md) [b](#one-two) [c](page.md#three-1) [d](https://example.org/none) `[e](none.md)`\n\n"
    assert list(broken(page, good + "    [f](no.md)\n")) == []
    assert list(broken(page, "[a](none.md), ![b](no.png), [c](#four), [d `x[1]`](page.md#five)")) == [
        "none.md",
        "no.png",
        "#four",
        "page.md#five",
    ]
    text = "```\ntiltmeter rum gpt2\n```\n\n    tiltmeter run gpt2 --onn x \\\n        --out y   --prose\n\n"
    text += "`tiltmeter data shw`\n"
    assert [word for command in commands(text) for word in unknown(command)] == ["rum", "--onn", "shw"]


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links(page: Path) -> None:
    assert list(broken(page, page.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_commands_and_options_exist(page: Path) -> None:
    found = {command: list(unknown(command)) for command in commands(page.read_text(encoding="utf-8"))}
    assert {command: words for command, words in found.items() if words} == {}


def test_commands_are_found() -> None:
    assert sum(len(list(commands(page.read_text(encoding="utf-8")))) for page in PAGES) > 50


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_public_names_exist(page: Path) -> None:
    blocks = [block for _, kind, block in _FENCE.findall(page.read_text(encoding="utf-8")) if kind == "python"]
    used = {name for block in blocks for name in re.findall(r"\btiltmeter\.(\w+)", block)}
    assert used <= {
        *tiltmeter.__all__,
        "benchmarks",
        "datasets",
        "models",
        "measures",
        "runs",
        "reports",
        "comparing",
        "forms",
        "training",
        "options",
        "testing",
    }


def test_every_public_name_is_in_the_reference() -> None:
    described = anchors(ROOT / "docs/reference/python.md")
    assert {slug(name) for name in tiltmeter.__all__} - described == set()


def test_signatures_in_the_reference_have_the_parameters_of_the_functions() -> None:
    blocks = _FENCE.findall((ROOT / "docs/reference/python.md").read_text(encoding="utf-8"))
    printed = [ast.parse(f"def {block.strip()}: ...").body[0] for _, kind, block in blocks if kind == "py"]
    functions = {node.name: node.args for node in printed if isinstance(node, ast.FunctionDef)}
    for name in tiltmeter.__all__:
        function = getattr(tiltmeter, name)
        if inspect.isfunction(function):
            arguments = functions[name]
            others = [arguments.kwarg] if arguments.kwarg else []
            found = [argument.arg for argument in (*arguments.args, *arguments.kwonlyargs, *others)]
            # Callbacks for progress are not part of the public interface.
            parameters = inspect.signature(function).parameters.values()
            assert found == [p.name for p in parameters if not inspect.isfunction(p.default)], name


def test_methods_in_the_reference_exist() -> None:
    text = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    sections = {
        title.strip("` "): body for title, body in re.findall(r"^### ([^\n]+)\n(.*?)(?=^##|\Z)", text, re.M | re.S)
    }
    classes = {name: body for name, body in sections.items() if isinstance(getattr(tiltmeter, name, None), type)}
    assert len(classes) > 5
    for name, body in classes.items():
        for method in re.findall(r"`(\w+)\([^`]*\)`", body):
            assert hasattr(getattr(tiltmeter, name), method), f"{name}.{method}"


def test_folders_and_modules_of_the_architecture_page_exist() -> None:
    text = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    paths = {
        path
        for path in re.findall(r"`([a-z_]+/[a-z_/]*(?:\.py)?)`", text)
        # `xx` and `myserver` stand for the names of new modules.
        if (path.count("/") > 1 or ".py" in path) and not re.search("xx|myserver", path)
    }
    assert len(paths) > 15
    assert {path for path in paths if not any((ROOT / base / path).exists() for base in ("", "src/tiltmeter"))} == set()


def test_every_command_is_in_the_reference() -> None:
    page = (ROOT / "docs/reference/command-line.md").read_text(encoding="utf-8")
    assert [name for name in command_names() if f"| `{name}` |" not in page] == []


def command_names(group: click.Command | None = None, words: str = "tiltmeter") -> Iterator[str]:
    group = typer.main.get_command(app) if group is None else group
    for name, inner in getattr(group, "commands", {}).items():
        yield from command_names(inner, f"{words} {name}") if hasattr(inner, "commands") else [f"{words} {name}"]


def test_the_first_page_lists_every_page_once() -> None:
    linked = re.findall(r"^- \[.+?\]\((.+?)\)", (ROOT / "docs/index.md").read_text(encoding="utf-8"), re.MULTILINE)
    listed = [(ROOT / "docs" / link).resolve() for link in linked]
    assert sorted(listed) == sorted(page for page in PAGES if page.name != "index.md")


@pytest.mark.slow
@pytest.mark.skipif(find_spec("sphinx") is None, reason="Sphinx is not installed: pip install '.[docs]'")
def test_the_site_builds_without_warnings_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    site = tmp_path / "site"
    build = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-c", "docs", ".", str(site)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (site / "index.html").is_file()
    first = (site / "docs/index.html").read_text(encoding="utf-8")
    assert all(
        f'href="{page.relative_to(ROOT / "docs").with_suffix(".html")}"' in first
        for page in (ROOT / "docs/start").iterdir()
    )
    listed = re.findall(r"^- \[.+?\]\((.+?)\): ", (site / "llms.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(listed) == len(PAGES) - 1
    assert [page for page in listed if not (site / page).is_file()] == []
    full = (site / "llms-full.txt").read_text(encoding="utf-8")
    assert [page for page in PAGES if page.name != "index.md" and page.read_text(encoding="utf-8") not in full] == []
    loaded = re.compile(
        r"<(?:script|img|iframe)[^>]*\ssrc=\"(?:https?:)?//|<link[^>]*\shref=\"(?:https?:)?//|url\(.?http"
    )
    for file in site.rglob("*"):
        if file.suffix in (".html", ".css"):
            assert not loaded.search(file.read_text(encoding="utf-8")), file


def test_the_table_of_benchmarks_in_the_readme_lists_the_catalogue() -> None:
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Benchmarks, languages and models")[2]
    section = section.partition("\n## ")[0]
    rows = re.findall(r"^\| [^`|]+ \| (`.+?) \| (.+?) \| .+ \|$", section, re.MULTILINE)
    assert len(rows) > 5
    for names, languages in rows:
        found = {language for name in re.findall(r"`(.+?)`", names) for language in DATASETS[name].languages}
        assert languages.split() == sorted(found), names
    named = set(re.findall(r"`(.+?)`", section))
    assert {name for name in DATASETS if not name.startswith("starter")} <= named
