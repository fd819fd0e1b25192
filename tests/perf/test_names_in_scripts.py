"""The scripts in `perf` read exactly the options that they define, and import only names that exist.

Most scripts run only by hand, so a renamed option or function would otherwise be noticed late.
"""

import ast
from collections.abc import Collection, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

PERF = Path(__file__).parents[2] / "perf"
SCRIPTS = sorted(PERF.rglob("*.py"))
SHARED = PERF / "prepared.py"
_PARSE = ("parse_args", "parse_known_args")


def list_options(tree: ast.AST) -> set[str]:
    """Return the attribute names of all options with a constant name."""
    options = set()
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument":
            names = [str(name.value) for name in call.args if isinstance(name, ast.Constant)]
            long = [name for name in names if name.startswith("--")]
            options |= {name.lstrip("-").replace("-", "_") for name in (long or names)[:1]}
    return options


def is_namespace(annotation: ast.expr | None) -> bool:
    return annotation is not None and ast.unparse(annotation).endswith("Namespace")


def list_parsing_functions(tree: ast.AST) -> set[str]:
    """Return the names of the functions that return parsed options."""
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return {*_PARSE, *(function.name for function in functions if is_namespace(function.returns))}


def list_namespaces(function: ast.AST, parsing: Collection[str]) -> set[str]:
    """Return the names of variables and parameters with parsed options; `parsing` are functions that return them."""
    names = set()
    for node in ast.walk(function):
        if isinstance(node, ast.arg) and is_namespace(node.annotation):
            names.add(node.arg)
        is_call = isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        if is_call and ast.unparse(node.value.func).rpartition(".")[2] in parsing:
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def list_read_options(tree: ast.Module) -> set[str]:
    """Return the attributes of parsed options that a script reads or sets."""
    read, parsing = set(), list_parsing_functions(tree)
    for function in tree.body:
        names = list_namespaces(function, parsing)
        for node in ast.walk(function):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
                read.add(node.attr)
    return read


def reads_options_by_name(tree: ast.AST) -> bool:
    """Return whether a script passes all options on, or reads options whose names are not constants."""
    names = list_namespaces(tree, list_parsing_functions(tree))
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))
    return any(
        call.func.id in ("vars", "getattr", "prepare")  # type: ignore[attr-defined]
        and any(isinstance(value, ast.Name) and value.id in names for value in call.args)
        for call in calls
    )


def parse(script: Path) -> ast.Module:
    return ast.parse(script.read_text(encoding="utf-8"))


def uses_shared_options(tree: ast.AST) -> bool:
    """Return whether a script takes its parser from `perf.prepared`."""
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    return bool({"parser", "prepared", "prepare"} & names)


def name_script(script: Path) -> str:
    return str(script.relative_to(PERF))


@pytest.mark.parametrize("script", SCRIPTS, ids=name_script)
def test_options(script: Path) -> None:
    tree = parse(script)
    own, read = list_options(tree), list_read_options(tree)
    shared = list_options(parse(SHARED)) if uses_shared_options(tree) else set()
    assert read <= own | shared
    if script != SHARED and not reads_options_by_name(tree):
        assert own <= read


def list_imported_names(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield (module, name) for each name that a script imports from `tiltmeter`, `perf` or `tests`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("tiltmeter", "perf", "tests"):
            yield from ((node.module or "", alias.name) for alias in node.names)


def is_importable(module: str) -> bool:
    """Return whether a module exists and its third-party packages are installed."""
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] in ("tiltmeter", "perf", "tests"):
            raise
        return False
    return True


@pytest.mark.parametrize("script", SCRIPTS, ids=name_script)
def test_imported_names(script: Path) -> None:
    missing = [
        f"{module}.{name}"
        for module, name in list_imported_names(parse(script))
        if is_importable(module) and not hasattr(import_module(module), name) and find_spec(f"{module}.{name}") is None
    ]
    assert not missing


def list_module_attributes(tree: ast.AST) -> Iterator[tuple[ModuleType, str]]:
    """Yield (module, attribute) for each attribute of a module of `tiltmeter` that a script reads or replaces."""
    modules: dict[str, ModuleType] = {}
    for module, name in list_imported_names(tree):
        if module.startswith("tiltmeter") and is_importable(module):
            value = getattr(import_module(module), name, None)
            if isinstance(value, ModuleType):
                modules[name] = value
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            yield modules[node.value.id], node.attr


@pytest.mark.parametrize("script", SCRIPTS, ids=name_script)
def test_attributes_of_modules(script: Path) -> None:
    missing = [f"{m.__name__}.{name}" for m, name in list_module_attributes(parse(script)) if not hasattr(m, name)]
    assert not missing


def test_the_check_finds_a_renamed_option() -> None:
    tree = ast.parse(
        "def main():\n"
        "    parser = argparse.ArgumentParser()\n"
        "    parser.add_argument('--data-sets', type=int)\n"
        "    given = parser.parse_args()\n"
        "    run(given.index_data_sets)\n"
    )
    assert list_options(tree) == {"data_sets"}
    assert list_read_options(tree) == {"index_data_sets"}
