"""Plug-ins: a package with a form, a benchmark and a data set, and packages with errors."""

import ast
import os
import re
import subprocess
from pathlib import Path

import tiltmeter
from tests.support.forked_python import run_python
from tests.support.messages import assert_mentions

FORM = """
from dataclasses import dataclass
from pathlib import Path
from tiltmeter.benchmarks.benchmark import PartTrials, Benchmark
from tiltmeter.datasets import Dataset
from tiltmeter.datasets.dataset_definition import Source
from tiltmeter.forms import Form, ItemText

@dataclass(frozen=True)
class RiddleItem:
    id: str
    language: str
    riddle: str
    answer: str

def read(fields):
    item = RiddleItem(fields.text("id"), fields.language(), fields.text("riddle"), fields.text("answer"))
    if not item.riddle.endswith("?"):
        fields.note("no-question", "riddle", "should end in a question mark")
    return item

FORM = Form(
    name="riddles",
    item=RiddleItem,
    keys=("id", "language", "riddle", "answer"),
    distinctive=("riddle",),
    read=read,
    write=lambda item: vars(item),
    texts=lambda item: [("riddle", item.riddle)],
    translatable=lambda item: {"riddle": item.riddle},
    attributes=lambda item: {"letters": len(item.answer)},
    shown=lambda item: ItemText(item.riddle, {"answer": item.answer}),
    heading=lambda item: (f"{len(item.answer)} letters",),
    errors={"no-question": "a riddle that asks nothing"},
)
BENCHMARK = Benchmark(
    form="riddles", protocols={"x": ""}, measures="pairs", ask=lambda *a, **b: PartTrials("causal", "x")
)
DATASET = Dataset("riddles", "riddles", "Riddles", "CC0", "nobody", "none", (),
    (Source("en", None, "jsonl", Path(__file__).with_name("riddles.jsonl")),))
"""
LINES = """{"id": "r", "language": "en", "riddle": "What has keys and no door?", "answer": "A piano."}
{"id": "s", "language": "en", "riddle": "A mouth and no teeth", "answer": "A river."}
"""
USE = """
from tiltmeter.benchmarks import get_benchmark
from tiltmeter.cli import main
from tiltmeter.datasets import DATASETS
from tiltmeter.datasets.validation_findings import list_error_codes
from tiltmeter.forms import get_forms
assert "riddles" in get_forms() and len(get_forms()) > 6, get_forms()
assert get_benchmark("riddles").form == "riddles"
assert list_error_codes()["no-question"] == "a riddle that asks nothing"
assert DATASETS["riddles"].form == "riddles"
import sys
sys.argv = ["tiltmeter", *sys.argv[1:]]
main()
"""


def install(folder: Path, name: str, source: str, *entry_points: str) -> None:
    """Write a module and its metadata to a folder, as pip would."""
    (folder / f"{name}.py").write_text(source, encoding="utf-8")
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("\n".join(entry_points))


def python(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    source = str(Path(tiltmeter.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), source])}
    return run_python(words, environment, folder)


def install_riddles(folder: Path) -> None:
    (folder / "riddles.jsonl").write_text(LINES, encoding="utf-8")
    install(
        folder,
        "riddles",
        FORM,
        "[tiltmeter.forms]\nriddles = riddles:FORM",
        "[tiltmeter.benchmarks]\nriddles = riddles:BENCHMARK",
        "[tiltmeter.datasets]\nriddles = riddles:DATASET",
    )


def test_a_package_provides_a_form_a_benchmark_and_a_data_set(tmp_path: Path) -> None:
    install_riddles(tmp_path)
    checked = python(tmp_path, "-c", USE, "data", "validate", "riddles")
    assert "1 item, 1 error, 0 warnings" in checked.stdout, checked.stderr
    assert "line 2, riddle, item s: " in checked.stdout
    assert "a riddle that asks nothing" in checked.stdout
    (tmp_path / "riddles.jsonl").write_text(LINES.splitlines()[0], encoding="utf-8")
    shown = python(tmp_path, "-c", USE, "data", "show", "riddles")
    assert "en · 8 letters · r\n  What has keys and no door?\n    answer  A piano.\n" in shown.stdout, shown.stderr


def test_the_error_for_a_broken_plug_in_names_it_and_the_remedy(tmp_path: Path) -> None:
    install(tmp_path, "broken", "import nowhere", "[tiltmeter.forms]\nx = broken:FORM")
    done = python(tmp_path, "-c", USE, "data", "list")
    assert_mentions(done.stderr, "'x' (tiltmeter.forms) of broken", "ModuleNotFoundError", "uninstall broken")


def test_a_plug_in_of_the_wrong_type_and_one_whose_name_is_taken(tmp_path: Path) -> None:
    install(tmp_path, "wrong", "FORM = 3", "[tiltmeter.forms]\nx = wrong:FORM")
    assert_mentions(python(tmp_path, "-c", USE).stderr, "'x' (tiltmeter.forms) of wrong", "int", "Form")
    other = tmp_path / "other"
    other.mkdir()
    install(other, "again", "from tiltmeter.forms.pairs import FORM", "[tiltmeter.forms]\nx = again:FORM")
    assert_mentions(python(other, "-c", USE).stderr, "tiltmeter and again", "'pairs' (tiltmeter.forms)")


# By group: the source of a component X, its name, and a statement that loads it.
CLASHES = {
    "forms": (
        "from tiltmeter.forms.pairs import FORM as X",
        "pairs",
        "from tiltmeter.forms import get_forms; get_forms()",
    ),
    "benchmarks": (
        "from tiltmeter.benchmarks.pairs import BENCHMARK as X",
        "pairs",
        "from tiltmeter.benchmarks import get_benchmarks; get_benchmarks()",
    ),
    "datasets": (
        "from tiltmeter.datasets.builtin_datasets.starter_data import ENTRIES\nX = ENTRIES[0]",
        "starter",
        "from tiltmeter.datasets import DATASETS; list(DATASETS)",
    ),
    "models": (
        "from tiltmeter.models.scheme import Scheme\nX = Scheme(open=print)",
        "openai",
        "from tiltmeter.models.scheme import find_scheme; find_scheme('openai:m')",
    ),
    "exports": (
        "def X(result, options): return ''",
        "jsonl",
        "from tiltmeter.reports.exports import list_formats; list_formats()",
    ),
    "translators": (
        "from tiltmeter.translators import TranslationSystem\nX = TranslationSystem(open=print)",
        "deepl",
        "from tiltmeter.translators import validate_system_name; validate_system_name('deepl')",
    ),
    "translation_tests": (
        "from tiltmeter.runs.translation.winomt import TEST as X",
        "winomt",
        "from tiltmeter.runs.translation import list_translation_tests; list_translation_tests()",
    ),
}
MEASURES = """
from tiltmeter.measures.measure import Measure
MEASURES = [Measure("SS", "a number of its own")]
NEEDS_ROLES, NEEDS_COLUMNS = (), ()
def measure(scores, margins=None, intervals=True):
    return []
"""
LOOK_UP = """
import sys
from tiltmeter.errors import UsageError
for statement in sys.argv[1:]:
    try:
        exec(statement)
    except UsageError as error:
        print(error)
"""


def test_two_components_of_one_name_are_an_error_that_names_both_packages(tmp_path: Path) -> None:
    statements, expected = [], []
    for group, (source, name, look_up) in CLASHES.items():
        install(tmp_path, f"of_{group}", source, f"[tiltmeter.{group}]\n{name} = of_{group}:X")
        statements.append(look_up)
        expected.append((f"of_{group}", name, group))
    install(tmp_path, "of_measures", MEASURES, "[tiltmeter.measures]\npairs = of_measures")
    statements += [
        "import tiltmeter.measures as m; m.get_measure_function('pairs')",
        "import tiltmeter.measures as m; m.list_measures()",
    ]
    expected += [("of_measures", "pairs", "measures"), ("of_measures", "SS", "measures")]
    done = python(tmp_path, "-c", LOOK_UP, *statements)
    for (package, name, group), line in zip(expected, done.stdout.splitlines(), strict=True):
        assert_mentions(line, f"tiltmeter and {package}", f"{name!r} (tiltmeter.{group})")


def test_two_packages_with_the_same_scheme_are_both_named(tmp_path: Path) -> None:
    source = "from tiltmeter.models.scheme import Scheme\nX = Scheme(open=print)"
    for name in ("ada", "bob"):
        install(tmp_path, name, source, f"[tiltmeter.models]\nmine = {name}:X")
    done = python(tmp_path, "-c", "from tiltmeter.models.scheme import find_scheme; find_scheme('mine:m')")
    assert re.search("(ada and bob|bob and ada) both provide 'mine'", done.stderr), done.stderr


def test_a_package_adds_an_export_format_and_a_translation_system(tmp_path: Path) -> None:
    source = (
        "from types import SimpleNamespace\n"
        "from tiltmeter.translators import TranslationSystem\n"
        "def export(result, options): return f'{result} {options.model}'\n"
        "SYSTEM = TranslationSystem(open=lambda url: SimpleNamespace(name=url), argument='URL')\n"
    )
    entries = "[tiltmeter.exports]\nmine = mine:export\n[tiltmeter.translators]\nmine = mine:SYSTEM"
    install(tmp_path, "mine", source, entries)
    use = (
        "from tiltmeter.reports.exports import ExportOptions, list_formats\n"
        "from tiltmeter.translators import open_translator\n"
        "print(list_formats()['mine']('run', ExportOptions(model='m')), open_translator('mine:here').name)"
    )
    done = python(tmp_path, "-c", use)
    assert done.stdout == "run m here\n", done.stderr


def test_no_module_outside_forms_distinguishes_item_classes() -> None:
    """A module that imports two item classes could treat forms differently."""
    source = Path(tiltmeter.__file__).parent
    classes = {"AssociationItem", "PairItem", "GestItem", "GenderedPairItem", "WinoBiasItem"}
    building = {source / "datasets/gest_pair_builder.py"}  # builds pairs from sentences
    for path in set(source.rglob("*.py")) - building:
        if path.parent.name != "forms":
            tree = ast.parse(path.read_text(encoding="utf-8"))
            used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & classes
            assert len(used) < 2, f"{path} uses {used}"
