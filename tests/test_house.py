"""The structure of the package: which room may import which, and that no name has two meanings."""

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
ROOMS = [
    "printable_text",
    "csv_text",
    "redaction",
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
    "translators",
    "measures",
    "runs",
    "comparing",
    "reports",
    "making",
    "training",
    "papers",
    "api",
    "testing",
    "cluster",
    "studio",
    "cli",
]

# Modules that deal with the same thing in several rooms, and therefore have the same name there.
SAME_THING = {
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
    "data": {"studio", "cli"},
    "review": {"making", "studio"},
    "writing": {"making", "studio"},
    "rating": {"making", "studio"},
}


def modules() -> Iterator[tuple[str, Path]]:
    """Every module with its room; a module outside the rooms counts as a room."""
    for path in sorted(ROOT.rglob("*.py")):
        inside = path.relative_to(ROOT)
        if len(inside.parts) > 1:
            yield inside.parts[0], path
        elif path.stem not in ("__init__", "__main__"):
            yield path.stem, path


def rooms_imported(source: str) -> set[str]:
    """The rooms that a module's source imports, including imports inside functions."""
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
    return found & set(ROOMS)


def test_rooms_imported() -> None:
    source = "import tiltmeter.cli\nfrom tiltmeter import reports\ndef f():\n    from tiltmeter.runs.result import X\n"
    assert rooms_imported(source) == {"cli", "reports", "runs"}


def test_every_room_is_in_the_order() -> None:
    assert {room for room, _ in modules()} == set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_import_only_what_is_to_their_left(room: str) -> None:
    allowed = set(ROOMS[: ROOMS.index(room) + 1])
    for name, path in modules():
        if name == room:
            beyond = rooms_imported(path.read_text(encoding="utf-8")) - allowed
            assert not beyond, f"{path.relative_to(ROOT)} imports {', '.join(sorted(beyond))}"


def files_imported(source: str, modules: AbstractSet[str], *, in_functions: bool) -> set[str]:
    """The modules of a package that a module's source imports; imports for type checking alone do not count."""
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


def import_cycle(imports: Mapping[str, AbstractSet[str]]) -> list[str]:
    """The modules of a cycle of imports, the first one again at the end; empty if there is none."""
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


def test_cycles_of_imports_are_found() -> None:
    sources = {
        "p.a": "def f():\n    from p import b\n",
        "p.b": "if x:\n    from p.c import y\n",
        "p.c": "from typing import TYPE_CHECKING\nimport p.a\nif TYPE_CHECKING:\n    from p.d import z\n",
        "p.d": "from p.c import y\n",
        "p": "",
    }

    def cycle(*, in_functions: bool) -> list[str]:
        imports = {
            name: files_imported(source, sources.keys(), in_functions=in_functions) for name, source in sources.items()
        }
        return import_cycle(imports)

    assert cycle(in_functions=True) == ["p.a", "p.b", "p.c", "p.a"]
    assert cycle(in_functions=False) == []


@pytest.mark.parametrize("in_functions", [False, True])
def test_no_files_import_each_other_in_a_cycle(in_functions: bool) -> None:
    paths = {
        ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for path in ROOT.rglob("*.py")
    }
    imports = {
        name: files_imported(path.read_text(encoding="utf-8"), paths.keys(), in_functions=in_functions)
        for name, path in paths.items()
    }
    assert import_cycle(imports) == []


def test_no_two_public_classes_share_a_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for _, path in modules():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(ROOT)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_a_module_name_has_one_meaning() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for room, path in modules():
        if path.name != "__init__.py":
            places[path.stem].append(room)
    for name, rooms in places.items():
        if len(rooms) > 1:
            assert set(rooms) <= SAME_THING.get(name, set()), f"{name} is a module of {', '.join(rooms)}"
            assert len(rooms) == len(set(rooms))


def test_no_two_module_names_differ_by_a_letter() -> None:
    names = {path.stem for room, path in modules() if room != "cli"} | set(ROOMS)
    alike = {(one, other) for one, other in itertools.combinations(sorted(names), 2) if other == f"{one}s"}
    # The class that a room is about is in the module of that name: `forms/form.py`.
    assert alike == {("benchmark", "benchmarks"), ("form", "forms"), ("measure", "measures")}


def test_texts_are_printed_as_they_are() -> None:
    """A console of Rich reads `[bold]` in a text as markup, and fails on `[/x]`, unless it is `plain_console`."""
    for _, path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and path.name != "printable_text.py":
                assert node.func.id != "Console", f"{path.name}:{node.lineno}"
                if node.func.id == "TextColumn":
                    assert any(keyword.arg == "markup" for keyword in node.keywords), f"{path.name}:{node.lineno}"


def test_no_test_sleeps() -> None:
    """Durations depend on the load of the machine, so tests wait for events instead."""
    for path in Path(__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                assert called != "sleep", f"{path.name}:{node.lineno}"
