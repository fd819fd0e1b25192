"""Rules of the code base: imports between packages, names of modules and classes, and style of tests."""

import ast
import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path

import pytest

import tiltmeter

ROOT = Path(tiltmeter.__file__).parent

# The packages in the order of docs/explanation/architecture.md: each imports only packages before it.
PACKAGES = [
    "printable_text",
    "csv_text",
    "redaction",
    "language_codes",
    "safe_output",
    "errors",
    "http_client",
    "files",
    "progress",
    "text_files",
    "database",
    "registry",
    "questions",
    "options",
    "forms",
    "gender",
    "datasets",
    "benchmarks",
    "engine",
    "models",
    "installation",
    "translators",
    "measures",
    "runs",
    "comparing",
    "reports",
    "making",
    "training",
    "api",
    "testing",
    "cluster",
    "integrations",
    "papers",
    "studio",
    "cli",
]

# Modules of the same name in several packages, because they are about the same subject.
SAME_SUBJECT = {
    "association": {"forms", "benchmarks", "measures"},
    "gendered_pairs": {"forms", "benchmarks"},
    "gest": {"forms", "benchmarks", "measures", "cli"},
    "pairs": {"forms", "benchmarks", "measures"},
    "winobias": {"forms", "datasets", "benchmarks", "measures"},
    "geneval": {"forms", "datasets", "measures", "runs"},
    "winomt": {"forms", "datasets", "measures", "runs"},
    "translations": {"runs", "cli"},
    "sensitivity": {"comparing", "cli"},
    "items": {"runs", "cli"},
    "comparison": {"comparing", "reports"},
    "ranks": {"measures", "reports"},
    "controls": {"measures", "reports"},
    "matrix": {"cluster", "cli"},
    "multiple_choice": {"forms", "benchmarks", "measures"},
    "own_prompts": {"forms", "benchmarks", "measures"},
    "word_association": {"forms", "benchmarks", "measures"},
    "story": {"forms", "benchmarks", "measures"},
    "data": {"studio", "cli"},
    "review": {"making", "studio"},
    "writing": {"making", "studio"},
    "rating": {"making", "studio"},
}


def modules() -> Iterator[tuple[str, Path]]:
    """Yield every module with its package; a module outside of packages is its own package."""
    for path in sorted(ROOT.rglob("*.py")):
        inside = path.relative_to(ROOT)
        if len(inside.parts) > 1:
            yield inside.parts[0], path
        elif path.stem not in ("__init__", "__main__"):
            yield path.stem, path


def list_imported_packages(source: str) -> set[str]:
    """Return the packages that a module imports, including imports inside functions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            assert node.level == 0, "imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("tiltmeter.")}
    return found & set(PACKAGES)


def test_imported_packages_are_found() -> None:
    source = "import tiltmeter.cli\nfrom tiltmeter import reports\ndef f():\n    from tiltmeter.runs.result import X\n"
    assert list_imported_packages(source) == {"cli", "reports", "runs"}


def test_every_package_is_in_the_order() -> None:
    assert {package for package, _ in modules()} == set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_import_only_earlier_packages(package: str) -> None:
    allowed = set(PACKAGES[: PACKAGES.index(package) + 1])
    for name, path in modules():
        if name == package:
            beyond = list_imported_packages(path.read_text(encoding="utf-8")) - allowed
            assert not beyond, f"{path.relative_to(ROOT)} imports {', '.join(sorted(beyond))}"


def list_imported_modules(source: str, modules: AbstractSet[str], *, in_functions: bool) -> set[str]:
    """Return which of the modules a module imports; imports for type checking do not count."""
    found: set[str] = set()

    def visit(node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                for other in child.orelse:
                    visit(other)
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and not in_functions:
                continue
            elif isinstance(child, ast.ImportFrom) and child.module in modules:
                names = [f"{child.module}.{alias.name}" for alias in child.names]
                found.update(name if name in modules else str(child.module) for name in names)
            elif isinstance(child, ast.Import):
                found.update(alias.name for alias in child.names if alias.name in modules)
            else:
                visit(child)

    visit(ast.parse(source))
    return found


def find_import_cycle(imports: Mapping[str, AbstractSet[str]]) -> list[str]:
    """Return the modules of an import cycle, with the first one repeated at the end; empty if there is none."""
    finished: set[str] = set()

    def search(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name not in finished:
            for other in sorted(imports[name] - {name}):
                if cycle := search(other, [*path, name]):
                    return cycle
        finished.add(name)
        return []

    return next((cycle for name in sorted(imports) if (cycle := search(name, []))), [])


def test_import_cycles_are_found() -> None:
    sources = {
        "p.a": "def f():\n    from p import b\n",
        "p.b": "if x:\n    from p.c import y\n",
        "p.c": "from typing import TYPE_CHECKING\nimport p.a\nif TYPE_CHECKING:\n    from p.d import z\n",
        "p.d": "from p.c import y\n",
        "p": "",
    }

    def cycle(*, in_functions: bool) -> list[str]:
        imports = {
            name: list_imported_modules(source, sources.keys(), in_functions=in_functions)
            for name, source in sources.items()
        }
        return find_import_cycle(imports)

    assert cycle(in_functions=True) == ["p.a", "p.b", "p.c", "p.a"]
    assert cycle(in_functions=False) == []


@pytest.mark.parametrize("in_functions", [False, True])
def test_there_is_no_import_cycle(in_functions: bool) -> None:
    paths = {
        ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for path in ROOT.rglob("*.py")
    }
    imports = {
        name: list_imported_modules(path.read_text(encoding="utf-8"), paths.keys(), in_functions=in_functions)
        for name, path in paths.items()
    }
    assert find_import_cycle(imports) == []


def test_no_two_public_classes_share_a_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for _, path in modules():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(ROOT)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_a_module_name_has_one_meaning() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for package, path in modules():
        if path.name != "__init__.py":
            places[path.stem].append(package)
    for name, packages in places.items():
        if len(packages) > 1:
            assert set(packages) <= SAME_SUBJECT.get(name, set()), f"{name} is a module of {', '.join(packages)}"
            assert len(packages) == len(set(packages))


def test_no_two_module_names_differ_by_a_letter() -> None:
    names = {path.stem for package, path in modules() if package != "cli"} | set(PACKAGES)
    alike = {(one, other) for one, other in itertools.combinations(sorted(names), 2) if other == f"{one}s"}
    # The main class of a package is in the module of that name: `forms/form.py`.
    assert alike == {("benchmark", "benchmarks"), ("form", "forms"), ("measure", "measures")}


def test_consoles_do_not_interpret_markup() -> None:
    """A console of Rich interprets `[bold]` and fails on `[/x]`, unless `create_plain_console` creates it."""
    for _, path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and path.name != "printable_text.py":
                assert node.func.id != "Console", f"{path.name}:{node.lineno}"
                if node.func.id == "TextColumn":
                    assert any(keyword.arg == "markup" for keyword in node.keywords), f"{path.name}:{node.lineno}"


def list_calls(source: str) -> Iterator[tuple[str, ast.Call]]:
    """Yield all calls of functions and methods with the name that is called."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            yield node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", ""), node


def list_test_calls() -> Iterator[tuple[str, str, ast.Call]]:
    """Yield all calls in tests with their place and the name that is called."""
    folder = Path(__file__).parent
    for path in sorted(folder.rglob("*.py")):
        for name, call in list_calls(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(folder)}:{call.lineno}", name, call


def test_no_test_sleeps() -> None:
    """Durations depend on the load of the machine, so tests wait for events instead."""
    assert [place for place, name, _ in list_test_calls() if name == "sleep"] == []


def pins_wording(name: str, call: ast.Call) -> bool:
    """Return whether a check of a message depends on its wording: by `match=`, or by a part of more than six words."""
    if name in ("raises", "warns"):
        return any(keyword.arg == "match" for keyword in call.keywords)
    if name not in ("assert_mentions", "raises_mentioning"):
        return False
    texts = [
        "".join(str(piece.value) for piece in ast.walk(part) if isinstance(piece, ast.Constant))
        for part in call.args[1:]
        if isinstance(part, ast.Constant | ast.JoinedStr)
    ]
    return any(len([word for word in text.split() if word.strip("|")]) > 6 for text in texts)


def test_checks_of_wording_are_found() -> None:
    source = (
        "pytest.raises(E, match='x')\npytest.raises(E)\nassert_mentions(text, name, 'one two three', f'{n} items')\n"
        "raises_mentioning(E, 'a b c d e f g')\nassert_mentions(text, f'a b c {n} d e f g')\n"
    )
    assert [call.lineno for name, call in list_calls(source) if pins_wording(name, call)] == [1, 4, 5]


def test_messages_are_checked_by_their_parts() -> None:
    """Tests check a message by its file, row, name or remedy, so that its wording can be improved."""
    assert [place for place, name, call in list_test_calls() if pins_wording(name, call)] == []
