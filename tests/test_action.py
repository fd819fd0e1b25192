"""The GitHub Action: its steps are run in a repository made by the test, with a stand-in for GitHub's command line."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.runs.made import association_scores, run, saved
from tests.support.messages import assert_mentions

ROOT = Path(__file__).resolve().parents[1]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]

# Records its arguments; lists the artifacts and comments in files of the folder GH_STATE, and "downloads" an artifact.
GH = """#!{python}
import json, os, pathlib, shutil, sys
state, words = pathlib.Path(os.environ["GH_STATE"]), sys.argv[1:]
with open(state / "calls.jsonl", "a") as calls:
    calls.write(json.dumps(words) + "\\n")
if words[:2] == ["run", "download"]:
    shutil.copytree(state / "artifact", words[words.index("--dir") + 1])
elif "--method" in words:
    field = words[words.index("--field") + 1]
    shutil.copy(field.removeprefix("body=@"), state / "comment.md")
else:
    print((state / ("comments" if "comments" in words[2] else "artifacts")).read_text())
"""

# `run` copies a finished run instead of measuring a model; all other commands are real.
TILTMETER = """#!{python}
import os, pathlib, shutil, sys
state, words = pathlib.Path(os.environ["GH_STATE"]), sys.argv[1:]
if words[0] == "run":
    (state / "run").write_text("\\n".join(words))
    shutil.copytree(state / "measured", words[words.index("--out") + 1])
else:
    os.execv(sys.executable, [sys.executable, "-m", "tiltmeter", *words])
"""

pytestmark = pytest.mark.skipif(shutil.which("bash") is None or os.name != "posix", reason="needs bash")


class Workflow:
    """A job that runs the shell steps of the action, with the files that GitHub gives them."""

    def __init__(self, folder: Path, **inputs: str) -> None:
        self.folder = folder
        self.state = folder / "gh"
        self.repository = folder / "repository"
        self.inputs = {name: str(given.get("default", "")) for name, given in ACTION["inputs"].items()} | inputs
        self.outputs: dict[str, dict[str, str]] = {}
        self.summary = folder / "summary"
        for path in (self.state, self.repository, folder / "bin", folder / "temp"):
            path.mkdir()
        for name in ("artifacts", "comments", "calls.jsonl"):
            (self.state / name).write_text("", encoding="utf-8")
        self.write_program("gh", GH.format(python=sys.executable))
        self.write_program("tiltmeter", TILTMETER.format(python=sys.executable))
        self.write_program("python", '#!/bin/sh\necho "$@" >> "$GH_STATE/python"\n')

    def write_program(self, name: str, text: str) -> None:
        path = self.folder / "bin" / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def expand(self, text: str) -> str:
        """Replace the expressions of GitHub in a value of `env`."""
        known = {
            **{f"inputs.{name}": value for name, value in self.inputs.items()},
            "github.token": "secret",
            "github.run_id": "77",
            "github.event.repository.default_branch": "main",
            "github.event.pull_request.number": "5",
        }

        def look_up(match: re.Match[str]) -> str:
            step = re.fullmatch(r"steps\.(\w+)\.outputs\.(\w+)", match[1])
            return self.outputs.get(step[1], {}).get(step[2], "") if step else known[match[1]]

        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", look_up, text)

    def run_step(self, step: dict[str, Any]) -> subprocess.CompletedProcess[str]:
        output = self.folder / "output"
        output.write_text("", encoding="utf-8")
        environment = {
            **os.environ,
            "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "GH_STATE": str(self.state),
            "GITHUB_ACTION_PATH": "/action",
            "GITHUB_OUTPUT": str(output),
            "GITHUB_REPOSITORY": "owner/name",
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "RUNNER_TEMP": str(self.folder / "temp"),
            "PYTHONPATH": str(ROOT / "src"),
            **{name: self.expand(str(value)) for name, value in step.get("env", {}).items()},
        }
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        ended = subprocess.run(shell, cwd=self.repository, env=environment, capture_output=True, text=True, check=False)
        if "id" in step:
            lines = output.read_text(encoding="utf-8").splitlines()
            self.outputs[step["id"]] = dict(line.split("=", 1) for line in lines)
        return ended

    def run(self) -> int:
        """Run all shell steps; return the exit code of the last one. All others must succeed."""
        *steps, last = [step for step in STEPS if "run" in step]
        for step in steps:
            if "if" in step and not self.outputs["baseline"].get("run"):
                assert step["if"] == "steps.baseline.outputs.run != ''"
                continue
            ended = self.run_step(step)
            assert ended.returncode == 0, ended.stdout + ended.stderr
        return self.run_step(last).returncode

    def list_calls(self) -> list[list[str]]:
        return [json.loads(line) for line in (self.state / "calls.jsonl").read_text(encoding="utf-8").splitlines()]


def test_expressions_are_only_in_the_environment_of_scripts() -> None:
    """A script with `${{ … }}` would run commands in the text of an input."""
    for step in STEPS:
        assert "${{" not in step.get("run", "")
        if "run" in step:
            assert step["shell"] == "bash"
    inputs = set(re.findall(r"inputs\.([\w-]+)", json.dumps(ACTION["runs"])))
    assert inputs == set(ACTION["inputs"])
    page = (ROOT / "docs" / "how-to" / "gates.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in inputs - {"token"})


def test_the_example_workflow_uses_inputs_of_the_action() -> None:
    page = (ROOT / "docs" / "how-to" / "gates.md").read_text(encoding="utf-8")
    blocks = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)]
    (workflow,) = (block for block in blocks if "jobs" in block)
    # YAML 1.1 reads the key `on` as true, also in `with`.
    step = workflow["jobs"]["bias"]["steps"][-1]
    given = {"on" if name is True else name for name in step["with"]}
    assert given <= ACTION["inputs"].keys()
    assert {name for name, entry in ACTION["inputs"].items() if entry.get("required")} <= given
    (gitlab,) = (block for block in blocks if "bias" in block)
    assert gitlab["bias"]["artifacts"]["reports"]["junit"] == "bias/junit.xml"


def test_a_pull_request_is_compared_with_the_default_branch(tmp_path: Path) -> None:
    rules = {"max": "stereoset.SS distance 0\n", "min": "\nstereoset.LMS 1\n", "no-worse-than": "60\n"}
    data = {
        "model": "a model",
        "on": "stereoset:en,de\ncrows-pairs",
        "arguments": "--limit 20 --device 'cuda 1; $HOME'",
    }
    workflow = Workflow(tmp_path, **data, **rules)
    saved(workflow.state / "artifact" / "run", run(association_scores("made/one", seed=1)))
    saved(workflow.state / "measured", run(association_scores("made/one", seed=2)))
    (workflow.state / "artifacts").write_text("4711\n", encoding="utf-8")
    (workflow.state / "comments").write_text("99\n", encoding="utf-8")
    assert workflow.run() == 1
    assert workflow.outputs["check"] == {"outcome": "failed"}
    assert "-m pip install --quiet /action" in (workflow.state / "python").read_text(encoding="utf-8")
    folder = Path(workflow.outputs["measure"]["folder"])
    suite = ElementTree.parse(folder / "junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("3", "1")
    words = (workflow.state / "run").read_text(encoding="utf-8").splitlines()
    given = ["--on=stereoset:en,de", "--on=crows-pairs", "--limit", "20", "--device", "cuda 1; $HOME"]
    assert words[:8] == ["run", "a model", *given]
    assert (folder / "change.html").is_file()
    comment = (workflow.state / "comment.md").read_text(encoding="utf-8")
    assert comment.startswith("<!-- tiltmeter: tiltmeter -->")
    assert_mentions(comment, ":x:", ":white_check_mark:", "items flipped", "actions/runs/77")
    assert workflow.summary.read_text(encoding="utf-8").strip() in comment
    calls = workflow.list_calls()
    assert calls[1][:3] == ["run", "download", "4711"]
    assert calls[-1][:4] == ["api", "--method", "PATCH", "repos/owner/name/issues/comments/99"]


def test_a_rule_that_is_invalid_is_an_outcome_of_its_own(tmp_path: Path) -> None:
    workflow = Workflow(tmp_path, model="unused", on="unused", max="stereoset.SSS 5")
    folder = tmp_path / "measured"
    saved(folder / "run", run(association_scores("made/one", seed=1)))
    workflow.outputs["measure"] = {"folder": str(folder)}
    check = next(step for step in STEPS if step.get("id") == "check")
    assert workflow.run_step(check).returncode == 0
    assert workflow.outputs["check"] == {"outcome": "invalid"}
    assert "did you mean SS?" in (folder / "summary.md").read_text(encoding="utf-8")
    assert workflow.run_step(STEPS[-1]).returncode == 2
    baseline = next(step for step in STEPS if step.get("id") == "baseline")
    assert "::notice::" in workflow.run_step(baseline).stdout
    # Without a baseline, margins are no rules.
    workflow.inputs |= {"max": "", "no-worse-than": "2"}
    workflow.run_step(check)
    assert workflow.outputs["check"] == {"outcome": "unchecked"}
    assert workflow.run_step(STEPS[-1]).returncode == 0
