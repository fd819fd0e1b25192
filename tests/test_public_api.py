"""The public names: their list, that all can be imported, and that no module hides one of them."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import tiltmeter
from tests.runs.made import association_scores, run, saved
from tests.support.messages import raises_mentioning
from tests.support.modules import list_modules

FUNCTIONS = {
    "assess_change",
    "check",
    "compare",
    "compare_groups",
    "compare_languages",
    "compare_sizes",
    "compare_with_references",
    "evaluate",
    "evaluate_translator",
    "load_run",
    "plan_run",
    "plot",
    "report",
    "score_predictions",
    "score_translations",
    "statement",
    "strongest_items",
    "summary",
}
TYPES = {
    "Benchmark",
    "BiasCallback",
    "ChatOptions",
    "Comparison",
    "Dataset",
    "Difference",
    "Form",
    "GroupComparison",
    "Item",
    "LanguageComparison",
    "Measure",
    "Model",
    "ModelChange",
    "Record",
    "ReferenceComparison",
    "Result",
    "Rule",
    "RuleVerdict",
    "SizeComparison",
    "Verdict",
}
ERRORS = {"DataError", "DownloadError", "ModelError", "TiltmeterError", "UsageError"}


def test_the_names() -> None:
    assert set(tiltmeter.__all__) == FUNCTIONS | TYPES | ERRORS | {"datasets"}
    assert tiltmeter.__all__ == sorted(tiltmeter.__all__)
    assert {name for name in dir(tiltmeter) if not name.startswith("__")} == set(tiltmeter.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with raises_mentioning(AttributeError, "'evaluat'"):
        tiltmeter.evaluat  # noqa: B018


def test_imports_for_type_checkers_agree_with_lazy_imports() -> None:
    tree = ast.parse(Path(tiltmeter.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    typed = {alias.name: node.module for node in block.body for alias in node.names if isinstance(node, ast.ImportFrom)}
    assert typed.pop("datasets") == "tiltmeter"
    assert typed == tiltmeter._LAZY


def test_names_are_defined_in_the_listed_modules() -> None:
    for name, module in tiltmeter._LAZY.items():
        assert getattr(tiltmeter, name).__module__ == module, name


def test_importing_the_package_imports_nothing_heavy() -> None:
    script = "import sys, tiltmeter; dir(tiltmeter); print({'torch', 'pandas', 'numpy', 'altair'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_commands_studio_and_runs_start_without_slow_imports() -> None:
    heavy = {"torch", "transformers", "altair", "scipy.stats", "scipy.optimize"}
    script = (
        "import sys, tiltmeter.cli, tiltmeter.studio.app, tiltmeter.runs.evaluate, tiltmeter.measures as measures; "
        f"measures.list_measures(); print({heavy} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_every_name_after_every_module_was_imported(tmp_path: Path) -> None:
    """Importing a module with a public name would replace the name in the package."""
    for module in list_modules():
        import_module(module)
    for name in FUNCTIONS:
        assert callable(getattr(tiltmeter, name)), name
        assert not isinstance(getattr(tiltmeter, name), ModuleType), name
    for name in TYPES | ERRORS:
        assert isinstance(getattr(tiltmeter, name), type), name

    one, two = (saved(tmp_path / name, run(association_scores(name, seed=3 + len(name)))) for name in ("a", "bb"))
    assert tiltmeter.datasets.names() == list(tiltmeter.datasets.DATASETS)
    assert isinstance(tiltmeter.load_run(one), tiltmeter.Result)
    assert isinstance(tiltmeter.compare([one, two]), tiltmeter.Comparison)
    assert isinstance(tiltmeter.check(one, min="stereoset.LMS 1")[0], tiltmeter.RuleVerdict)
    assert tiltmeter.report([one, two], tmp_path / "page.html").is_file()
    # tests/runs tests the results of these functions; here it is enough that they can be called.
    for call in (
        lambda: tiltmeter.evaluate([], "starter"),
        lambda: tiltmeter.evaluate_translator("nosuch", on="gest-mt:sk"),
        lambda: tiltmeter.score_predictions(tmp_path / "none.json", form="stereoset", on="starter"),
        lambda: tiltmeter.score_translations(tmp_path / "none.csv", system="none", on="gest-mt:sk"),
    ):
        with pytest.raises(tiltmeter.TiltmeterError):
            call()
