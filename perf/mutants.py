"""Mutation testing: change the code in one place at a time and see whether the tests of its room fail.

    python -m perf.mutants --rooms measures engine comparing --count 420 --jobs 2 --out mutants.md

A mutant that no test fails on (a survivor) is either equivalent to the code, or shows a test that is missing. Places
are drawn with a seed, the same number for each room. Each mutant is a copy of the package with one node of one syntax
tree changed; the tests of its module run first, then the rest of the room's, then those marked slow, until one fails.

Numbers on which no result depends are not drawn (`ARBITRARY`). Survivors that are known to be equivalent are listed in
`perf/mutants-equivalent.md` with the reason.
"""

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "tiltmeter"
ROOMS = ("measures", "engine", "comparing")
TIMEOUT = 300

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.Mod: ast.Mult,
}
_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "sum": "max"}
# Keyword arguments that cannot change a result: wording, types, copies, speed.
_NO_MATTER = {"dtype", "copy", "strict", "encoding", "slots", "frozen", "kw_only", "repr", "compare", "maxsize", "key"}
_NO_MATTER |= {"non_blocking"}

# Numbers on which no result depends, by file: sizes and limits tuned for speed, tolerances between rounding and a wrong
# formula, and made inputs that any others could replace. Of an assignment its value is not drawn; of a function, its
# numbers. What depends on them is tested with other values, or by a property such as "no batch is larger".
ARBITRARY: dict[str, set[str]] = {
    "engine/answer_store.py": {"_AT_ONCE"},
    "engine/answerer.py": {"_PACK_WIDTH_ON_GPU", "_BATCHES_AHEAD", "pack_width_on_cpu", "example"},
    "engine/causal.py": {"pack_width_on_cpu"},
    "engine/equivalence.py": {
        "_SHORT_INPUTS",
        "_SHORT_SOURCES",
        "_TOLERANCE",
        "_TOLERANCE_OTHERWISE",
        "_TIMES_ROUNDING",
        "_MAX_TOLERANCE",
        "_long_input",
        "_questions",
    },
    "engine/head.py": {"_LOGITS_AT_ONCE", "_LOGITS_AT_ONCE_ELSEWHERE"},
    "engine/lengths.py": {"_BATCH_OVERHEAD"},
    "engine/memory.py": {"_MAX_ON_CPU", "_MAX_ON_GPU", "_ASSUMED_FREE"},
    "engine/plan.py": {"LARGEST_TREE", "_MOST_TOKENS", "_SOURCES_PER_TOKEN"},
    "engine/seq2seq.py": {"example"},
    "engine/speedups/activations.py": {"_agrees"},
    "engine/speedups/norms.py": {"_is_root_mean_square"},
}


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    room: str
    path: Path
    line: int
    change: str
    source: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(PACKAGE)}:{self.line}: {self.change}"


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Every mutant of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    file = path.relative_to(PACKAGE)
    room, arbitrary = file.parts[0], ARBITRARY.get(file.as_posix(), set())
    for index, node in enumerate(_mutable(tree, arbitrary)):
        for change in range(len(_changes(node))):
            changed = copy.deepcopy(tree)
            target = list(_mutable(changed, arbitrary))[index]
            before = ast.unparse(target)
            _changes(target)[change]()
            after = ast.unparse(target)
            if before != after:
                line = getattr(node, "lineno", 0)
                yield Mutant(room, path, line, f"`{_short(before)}` → `{_short(after)}`", ast.unparse(changed))


def _short(code: str) -> str:
    return " ".join(code.split())[:110]


def _mutable(tree: ast.AST, arbitrary: Collection[str]) -> Iterator[ast.AST]:
    """The nodes inside functions that can be changed, without annotations, messages of errors and docstrings."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name not in ("__repr__", "__str__"):
                for statement in node.body:
                    for inside in _inside(statement):
                        if node.name not in arbitrary or not _is_number(inside):
                            yield inside
        elif isinstance(node, ast.ClassDef):
            yield from _mutable(node, arbitrary)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and not {"__all__", *arbitrary} & _names(node):
            yield from _inside(node.value) if node.value is not None else ()


def _names(node: ast.Assign | ast.AnnAssign) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _is_number(node: ast.AST) -> bool:
    """Whether a node is a number, with or without a sign."""
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool)


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom):
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _inside(child)


def _changes(node: ast.AST) -> list[Callable[[], object]]:
    """The possible changes of a node, as functions that make them."""
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in _COMPARISONS:
            return [partial(setattr, node, "ops", [_COMPARISONS[type(operator)]()])]
        case ast.BinOp(op=operator) if type(operator) in _ARITHMETIC and not _of_text(node):
            return [partial(setattr, node, "op", _ARITHMETIC[type(operator)]())]
        case ast.BoolOp(op=ast.And()):
            return [partial(setattr, node, "op", ast.Or())]
        case ast.BoolOp(op=ast.Or()):
            return [partial(setattr, node, "op", ast.And())]
        case ast.If(test=test) | ast.IfExp(test=test) if not isinstance(test, ast.Compare):
            return [partial(setattr, node, "test", ast.UnaryOp(ast.Not(), test))]
        case ast.UnaryOp(op=ast.USub()):
            return [partial(setattr, node, "op", ast.UAdd())]
        case ast.Constant(value=bool() as value):
            return [partial(setattr, node, "value", not value)]
        case ast.Constant(value=int() as value):
            return [partial(setattr, node, "value", value + 1)]
        case ast.Constant(value=float() as value):
            return [partial(setattr, node, "value", value * 1.2 if value else 0.1)]
        case ast.Call(func=ast.Name(id=name)) if name in _CALLS:
            return [partial(setattr, node.func, "id", _CALLS[name])]
        case ast.Call(keywords=keywords) if any(k.arg and k.arg not in _NO_MATTER for k in keywords):
            last = [k for k in keywords if k.arg and k.arg not in _NO_MATTER][-1]
            return [partial(keywords.remove, last)]
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            return [partial(setattr, node, "value", ast.Constant(None))]
        case ast.Continue():
            return []
        case _:
            return []


def _of_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(side, ast.JoinedStr) or isinstance(getattr(side, "value", None), str)
        for side in (node.left, node.right)
    )


def drawn(rooms: list[str], count: int, seed: int) -> list[Mutant]:
    """A random sample of mutants, equally many from each room."""
    chosen: list[Mutant] = []
    for number, room in enumerate(rooms):
        share = count // len(rooms) + (number < count % len(rooms))
        every = [mutant for path in sorted((PACKAGE / room).rglob("*.py")) for mutant in mutants_of(path)]
        chosen += random.Random(f"{seed} {room}").sample(every, min(share, len(every)))
    return chosen


def tested(mutant: Mutant) -> tuple[str, float]:
    """The result (`caught`, `survived` or `timeout`), and the seconds it took."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src" / "tiltmeter"
        shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("__pycache__"))
        (source / mutant.path.relative_to(PACKAGE)).write_text(mutant.source, encoding="utf-8")
        beyond = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if not entry.endswith("src")]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(source.parent), *beyond]),
            "OMP_NUM_THREADS": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "TILTMETER_CACHE": f"{folder}/cache",
        }
        outcomes = (_outcome(mutant, environment, marked) for marked in ("not slow", "slow"))
        outcome = next((outcome for outcome in outcomes if outcome != "survived"), "survived")
    return outcome, time.monotonic() - began


def _outcome(mutant: Mutant, environment: dict[str, str], marked: str) -> str:
    """What the tests with such a mark say of a mutant."""
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--no-header", "-m", marked]
    command = [sys.executable, "-m", "pytest", *options, *map(str, test_files(mutant))]
    try:
        result = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        return "timeout"
    if result.returncode < 0:  # ended by a signal, such as a segmentation fault
        return "caught"
    no_tests = 5
    outcome = {0: "survived", 1: "caught", 2: "caught", no_tests: "survived"}.get(result.returncode)
    if outcome is None:
        raise SystemExit(
            f"{mutant}: pytest ended with {result.returncode}\n{result.stdout[-2000:]}{result.stderr[-2000:]}"
        )
    return outcome


def test_files(mutant: Mutant) -> list[Path]:
    """The tests of the mutant's room, those of its own module first."""
    files = sorted((ROOT / "tests" / mutant.room).rglob("test_*.py"))
    own = f"test_{mutant.path.stem}"
    return sorted(files, key=lambda path: (path.stem != own, not path.stem.startswith(own)))


def main() -> None:
    """Test the mutants and write down the survivors."""
    parser = argparse.ArgumentParser(prog="python -m perf.mutants", description=__doc__)
    parser.add_argument("--rooms", nargs="+", default=list(ROOMS))
    parser.add_argument("--count", type=int, default=420)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=None, help="begin no mutant after that")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    chosen = drawn(options.rooms, options.count, options.seed)
    random.Random(options.seed).shuffle(chosen)
    until = None if options.minutes is None else time.monotonic() + 60 * options.minutes

    def work(mutant: Mutant) -> tuple[Mutant, str, float]:
        if until is not None and time.monotonic() > until:
            return mutant, "not begun", 0.0
        return mutant, *tested(mutant)

    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(work, chosen))
    lines = ["| room | mutants | caught | survived |", "| --- | ---: | ---: | ---: |"]
    for room in options.rooms:
        counts = Counter(outcome for mutant, outcome, _ in outcomes if mutant.room == room)
        begun = counts.total() - counts["not begun"]
        lines.append(f"| {room} | {begun} | {counts['caught'] + counts['timeout']} | {counts['survived']} |")
    lines += ["", "Survivors:", ""]
    lines += [
        f"- {mutant}" for mutant, outcome, _ in sorted(outcomes, key=lambda o: str(o[0])) if outcome == "survived"
    ]
    text = "\n".join(lines)
    print(text)
    if options.out is not None:
        options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
