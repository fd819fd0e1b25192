"""Mutation testing: change the code in one place at a time, and check whether the tests of its package fail.

    python -m perf.mutants --rooms measures engine comparing --count 420 --jobs 2 --out mutants.md

A mutant on which no test fails (a survivor) is either equivalent to the code, or shows that a test is missing. Places
are sampled with a seed, the same number in each package. Each mutant is a copy of Tiltmeter with one changed node in a
syntax tree. The tests of its module run first, then the other tests of its package, then slow tests, until one fails.
Tests that fail on the unchanged code are excluded and listed. Outcomes are written as they arrive.

Numbers without an effect on results are not sampled (`ARBITRARY`). Equivalent mutants are listed with the reason in
`perf/mutants-equivalent.md`; they are not tested, and counted as explained.
"""

import argparse
import ast
import copy
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "tiltmeter"
EQUIVALENT = ROOT / "perf" / "mutants-equivalent.md"
ROOMS = ("measures", "engine", "comparing")
TIMEOUT = 300  # seconds; an endless loop counts as caught, in a separate column

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
# Keyword arguments that cannot change a result: texts, types, copies, speed.
_NO_MATTER = {"dtype", "copy", "strict", "encoding", "slots", "frozen", "kw_only", "repr", "compare", "maxsize", "key"}
_NO_MATTER |= {"non_blocking"}

# Numbers without an effect on results, by file: sizes and limits for speed, tolerances between rounding and a wrong
# formula, and arbitrary inputs of checks. The value of an assignment and the numbers of a function are not sampled.
# Code that depends on them is tested with other values, or by a property such as "no batch is larger".
ARBITRARY: dict[str, set[str]] = {
    "engine/__init__.py": {"ENGINE_VERSION"},
    "engine/answerer.py": {"_PACK_WIDTH_ON_GPU", "_BATCHES_AHEAD", "pack_width_on_cpu", "build_example_inputs"},
    "engine/causal.py": {"pack_width_on_cpu"},
    "engine/vocabulary_head.py": {"_LOGITS_AT_ONCE", "_LOGITS_AT_ONCE_ELSEWHERE"},
    "engine/row_groups.py": {"_BATCH_OVERHEAD"},
    "engine/batch_size.py": {"_MAX_ON_CPU", "_MAX_ON_GPU", "_ASSUMED_FREE"},
    "engine/batch_plan.py": {"LARGEST_TREE", "_MOST_TOKENS", "_SOURCES_PER_TOKEN"},
    "engine/seq2seq.py": {"build_example_inputs"},
    "engine/speedups/activations.py": {"_is_equivalent"},
    "engine/speedups/norms.py": {"_is_rms_norm"},
    "engine/speedups/wanted_positions.py": {"_TOLERANCE"},
}


@dataclass(frozen=True)
class Mutant:
    """One change of one file; `change` describes it, and `scope` is the function or class around it, if any."""

    path: Path
    scope: str
    line: int
    change: str
    tree: ast.Module
    node: ast.AST

    @property
    def room(self) -> str:
        """The package of the file."""
        return self.path.relative_to(PACKAGE).parts[0]

    @property
    def source(self) -> str:
        """The source of the changed file."""
        return _unparsed(self.tree, self.node)

    @property
    def explained(self) -> bool:
        """Whether `perf/mutants-equivalent.md` explains why it changes no result."""
        file = self.path.relative_to(PACKAGE / self.room).as_posix()
        return (self.room, file, self.scope, self.change) in explained()

    def __str__(self) -> str:
        scope = f" {self.scope}" if self.scope else ""
        return f"{self.path.relative_to(PACKAGE).as_posix()}:{self.line}{scope}: {self.change}"


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in _mutable(tree, ARBITRARY.get(path.relative_to(PACKAGE).as_posix(), set())):
        if _change(node) is None:
            continue
        # A number or a truth value alone does not identify the place.
        shown = node
        while _is_value(shown) or isinstance(shown, ast.keyword):
            shown = parents[shown]
        before, after = ast.unparse(shown), _unparsed(shown, node)
        if before != after:
            yield Mutant(
                path, _scope(node, parents), getattr(node, "lineno", 0), _difference(before, after), tree, node
            )


def _unparsed(around: ast.AST, node: ast.AST) -> str:
    """Return the code of a part of a syntax tree with one changed node."""
    copies: dict[int, ast.AST] = {}
    changed = copy.deepcopy(around, copies)
    if change := _change(copies[id(node)]):
        change()
    return ast.unparse(changed)


def _scope(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> str:
    """Return the names of the classes and functions around a node, as in `Class.method`."""
    names: list[str] = []
    while node in parents:
        node = parents[node]
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.insert(0, node.name)
    return ".".join(names)


def _difference(before: str, after: str) -> str:
    """Return both codes in one line each; long ones are cut to the part around the difference."""
    before, after = (" ".join(code.replace("`", "'").split()) for code in (before, after))
    equal = next((index for index, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), 0)
    start = max(0, equal - 70)
    return " → ".join(f"`{'…' * (start > 0)}{code[start : start + 110]}`" for code in (before, after))


@cache
def explained() -> frozenset[tuple[str, str, str, str]]:
    """Return the equivalent mutants: package, file, scope and change of each."""
    found = []
    for section in EQUIVALENT.read_text(encoding="utf-8").split("\n## ")[1:]:
        room, _, text = section.partition("\n")
        for entry in text.split("\n- ")[1:]:
            # - `file.py`, `scope`: `before` → `after`, `before` → `after`. The reason.
            head = re.match(r"`([^`]+)`(?:, `([^`]+)`)?: ", " ".join(entry.split()))
            if head is None:
                raise SystemExit(f"{EQUIVALENT.name}: no file and change in: {entry}")
            changes = re.findall(r"`[^`]+` → `[^`]+`", " ".join(entry.split()))
            found += [(room, head[1], head[2] or "", change) for change in changes]
    return frozenset(found)


def _mutable(tree: ast.AST, arbitrary: Collection[str]) -> Iterator[ast.AST]:
    """Yield the nodes that can be changed, without annotations, error messages and docstrings."""
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
    """Return whether a node is a number, with or without a sign."""
    return _is_value(node) and not isinstance(getattr(node, "value", None), bool)


def _is_value(node: ast.AST) -> bool:
    """Return whether a node is a number, with or without a sign, or a truth value."""
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom):
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.keyword) and node.arg in _NO_MATTER and isinstance(node.value, ast.Constant):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _inside(child)


def _change(node: ast.AST) -> Callable[[], object] | None:
    """Return the function that changes a node; None if there is none."""
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in _COMPARISONS:
            return partial(setattr, node, "ops", [_COMPARISONS[type(operator)]()])
        case ast.BinOp(op=operator) if type(operator) in _ARITHMETIC and not _of_text(node):
            return partial(setattr, node, "op", _ARITHMETIC[type(operator)]())
        case ast.BoolOp(op=ast.And()):
            return partial(setattr, node, "op", ast.Or())
        case ast.BoolOp(op=ast.Or()):
            return partial(setattr, node, "op", ast.And())
        case ast.If(test=test) | ast.IfExp(test=test) if not isinstance(test, ast.Compare):
            return partial(setattr, node, "test", ast.UnaryOp(ast.Not(), test))
        case ast.UnaryOp(op=ast.USub()):
            return partial(setattr, node, "op", ast.UAdd())
        case ast.Constant(value=bool() as value):
            return partial(setattr, node, "value", not value)
        case ast.Constant(value=int() as value):
            return partial(setattr, node, "value", value + 1)
        case ast.Constant(value=float() as value):
            return partial(setattr, node, "value", value * 1.2 if value else 0.1)
        case ast.Call(func=ast.Name(id=name)) if name in _CALLS:
            return partial(setattr, node.func, "id", _CALLS[name])
        case ast.Call(keywords=keywords) if any(k.arg and k.arg not in _NO_MATTER for k in keywords):
            last = [k for k in keywords if k.arg and k.arg not in _NO_MATTER][-1]
            return partial(keywords.remove, last)
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            return partial(setattr, node, "value", ast.Constant(None))
        case _:
            return None


def _of_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(side, ast.JoinedStr) or isinstance(getattr(side, "value", None), str)
        for side in (node.left, node.right)
    )


def drawn(rooms: list[str], count: int, seed: int) -> list[Mutant]:
    """Return a random sample of mutants, the same number from each package."""
    chosen: list[Mutant] = []
    for number, room in enumerate(rooms):
        share = count // len(rooms) + (number < count % len(rooms))
        every = [mutant for path in sorted((PACKAGE / room).rglob("*.py")) for mutant in mutants_of(path)]
        chosen += random.Random(f"{seed} {room}").sample(every, min(share, len(every)))
    return chosen


def tested(mutant: Mutant, left_out: Collection[str]) -> tuple[str, float]:
    """Test a mutant, and return the result (`caught`, `survived`, `timeout` or `explained`) and the seconds."""
    if mutant.explained:
        return "explained", 0.0
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src" / "tiltmeter"
        shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("__pycache__"))
        (source / mutant.path.relative_to(PACKAGE)).write_text(mutant.source, encoding="utf-8")
        deselected = [f"--deselect={test}" for test in left_out]
        runs = (
            _pytest(source.parent, "-x", "-m", marked, *deselected, *map(str, test_files(mutant)))
            for marked in ("not slow", "slow")
        )
        outcome = next((outcome for outcome in map(_outcome, runs) if outcome != "survived"), "survived")
    return outcome, time.monotonic() - began


def _pytest(source: Path, *options: str, seconds: float | None = TIMEOUT) -> subprocess.CompletedProcess[str] | None:
    """Run tests on the package in a folder; return None if they exceed the time limit."""
    beyond = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if not entry.endswith("src")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(source), *beyond]),
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "TILTMETER_CACHE": str(source.parent / "cache"),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--no-header"]
    try:
        return subprocess.run(
            [*command, *options],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None


def _outcome(result: subprocess.CompletedProcess[str] | None) -> str:
    """Return the result of a mutant from a run of the tests."""
    if result is None:
        return "timeout"
    if result.returncode < 0:  # killed by a signal, such as a segmentation fault
        return "caught"
    no_tests = 5
    outcome = {0: "survived", 1: "caught", 2: "caught", no_tests: "survived"}.get(result.returncode)
    if outcome is None:
        raise SystemExit(f"pytest ended with {result.returncode}\n{result.stdout[-2000:]}{result.stderr[-2000:]}")
    return outcome


def failing(rooms: list[str], jobs: int) -> list[str]:
    """Return the tests of packages that fail on the unchanged code on this machine."""
    side_by_side = ["-n", str(jobs)] if find_spec("xdist") else []
    folders = [str(ROOT / "tests" / room) for room in rooms]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(PACKAGE, source / "tiltmeter", ignore=shutil.ignore_patterns("__pycache__"))
        result = _pytest(source, "-rfE", "--tb=no", *side_by_side, *folders, seconds=None)
    if result is None or result.returncode not in (0, 1):
        raise SystemExit(f"The tests do not run here:\n{result and result.stdout[-2000:] + result.stderr[-2000:]}")
    return re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", result.stdout, flags=re.MULTILINE)


def test_files(mutant: Mutant) -> list[Path]:
    """Return the tests of the package of a mutant, those of its module first."""
    files = sorted((ROOT / "tests" / mutant.room).rglob("test_*.py"))
    own = f"test_{mutant.path.stem}"
    return sorted(files, key=lambda path: (path.stem != own, not path.stem.startswith(own)))


Outcomes = list[tuple[Mutant, str, float]]


def written(rooms: list[str], count: int, outcomes: Outcomes, left_out: list[str]) -> str:
    """Return the outcomes so far as Markdown."""
    lines = ["| room | tested | caught | of them timed out | survived | explained, not tested |"]
    lines += ["| --- | ---: | ---: | ---: | ---: | ---: |"]
    for room in rooms:
        of = Counter(outcome for mutant, outcome, _ in outcomes if mutant.room == room)
        caught = of["caught"] + of["timeout"]
        share = f" ({caught / (caught + of['survived']):.1%})" if caught else ""
        tests = caught + of["survived"]
        lines.append(f"| {room} | {tests} | {caught}{share} | {of['timeout']} | {of['survived']} | {of['explained']} |")
    lines += ["", f"{len(outcomes)} of {count} drawn mutants."]
    if left_out:
        lines += ["", "Left out, since they fail on the unchanged code here:", "", *(f"- {test}" for test in left_out)]
    for title in ("survived", "timeout", "explained", "caught"):
        found = sorted(f"- {mutant} ({seconds:.0f} s)" for mutant, outcome, seconds in outcomes if outcome == title)
        lines += ["", f"{title.capitalize()}:", "", *found] if found else []
    return "\n".join(lines) + "\n"


def main() -> None:
    """Test the mutants and write the outcomes."""
    parser = argparse.ArgumentParser(prog="python -m perf.mutants", description=__doc__)
    parser.add_argument("--rooms", nargs="+", default=list(ROOMS))
    parser.add_argument("--count", type=int, default=420)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=None, help="start no mutant after this number of minutes")
    parser.add_argument(
        "--out", type=Path, default=None, help="write the results to this file; it is rewritten after each mutant"
    )
    options = parser.parse_args()
    until = None if options.minutes is None else time.monotonic() + 60 * options.minutes
    chosen = drawn(options.rooms, options.count, options.seed)
    random.Random(options.seed).shuffle(chosen)
    left_out = failing(options.rooms, options.jobs)

    def work(mutant: Mutant) -> tuple[Mutant, str, float] | None:
        if until is not None and time.monotonic() > until:
            return None
        return mutant, *tested(mutant, left_out)

    def save() -> None:
        if options.out is not None:
            partly = options.out.with_name(options.out.name + ".partly")
            partly.write_text(written(options.rooms, len(chosen), outcomes, left_out), encoding="utf-8")
            partly.replace(options.out)

    outcomes: Outcomes = []
    save()
    with ThreadPoolExecutor(options.jobs) as pool:
        for future in as_completed([pool.submit(work, mutant) for mutant in chosen]):
            if result := future.result():
                outcomes.append(result)
                save()
    print(written(options.rooms, len(chosen), outcomes, left_out))


if __name__ == "__main__":
    main()
