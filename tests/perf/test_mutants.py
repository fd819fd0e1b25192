"""`perf.mutants`: its changes and its exclusions."""

import ast

import pytest

from perf.mutants import ARBITRARY, PACKAGE, ROOMS, _change, _mutable, explained, mutants_of

CODE = """
LIMIT: int = 2 * 64
SHARE = 0.5

class Model:
    width = 7

    def example(self):
        return self.read([1, -2], flag=True)

def answer(rows):
    return rows[-3] + 4
"""


def changed(*arbitrary: str) -> list[str]:
    return [ast.unparse(node) for node in _mutable(ast.parse(CODE), arbitrary) if _change(node)]


def test_numbers_operators_and_calls_are_changed() -> None:
    everything = ["2 * 64", "2", "64", "0.5", "7", "return self.read([1, -2], flag=True)"]
    everything += ["self.read([1, -2], flag=True)", "1", "-2", "2", "True", "return rows[-3] + 4", "rows[-3] + 4"]
    assert changed() == [*everything, "-3", "3", "4"]


def test_arbitrary_values_are_not_changed() -> None:
    remaining = changed("LIMIT", "width", "example")
    assert remaining[:4] == ["0.5", "return self.read([1, -2], flag=True)", "self.read([1, -2], flag=True)", "True"]
    assert remaining[4:] == ["return rows[-3] + 4", "rows[-3] + 4", "-3", "3", "4"]


@pytest.mark.parametrize("file", ARBITRARY)
def test_arbitrary_names_exist(file: str) -> None:
    path = PACKAGE / file
    with_all = len(list(_mutable(ast.parse(path.read_text(encoding="utf-8")), ())))
    for name in ARBITRARY[file]:
        assert len(list(_mutable(ast.parse(path.read_text(encoding="utf-8")), {name}))) < with_all, name


def test_each_mutant_differs_from_the_file_in_one_place() -> None:
    path = PACKAGE / "engine" / "tensors.py"
    plain = ast.unparse(ast.parse(path.read_text(encoding="utf-8"))).splitlines()
    found = list(mutants_of(path))
    assert len(found) > 10
    for mutant in found:
        lines = mutant.source.splitlines()
        assert len(lines) == len(plain)
        assert sum(one != other for one, other in zip(plain, lines, strict=True)) == 1


def test_explanations_are_of_existing_mutants() -> None:
    found = {
        (room, mutant.path.relative_to(PACKAGE / room).as_posix(), mutant.scope, mutant.change)
        for room in ROOMS
        for path in (PACKAGE / room).rglob("*.py")
        for mutant in mutants_of(path)
    }
    assert explained()
    assert explained() - found == set()


def test_a_mutant_is_described_with_its_context() -> None:
    changes = {mutant.scope: mutant.change for mutant in mutants_of(PACKAGE / "engine" / "tensors.py")}
    assert changes["flatten_states"].startswith("`states.shape[-1]` → ")
    described = {
        mutant.change for mutant in mutants_of(PACKAGE / "engine" / "tensors.py") if mutant.scope == "is_close"
    }
    assert "`8 * torch.finfo(expected.dtype).eps` → `9 * torch.finfo(expected.dtype).eps`" in described


def test_keywords_without_an_effect_are_excluded() -> None:
    tree = ast.parse("def pairs(a, b):\n    return list(zip(a, b, strict=True))")
    assert "True" not in [ast.unparse(node) for node in _mutable(tree, ()) if _change(node)]
    tree = ast.parse("def best(a):\n    return sorted(a, key=lambda x: -x, reverse=True)")
    assert {"True", "-x"} <= {ast.unparse(node) for node in _mutable(tree, ()) if _change(node)}
