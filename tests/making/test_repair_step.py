"""The step `repair` of a project, run again with some of its steps."""

import re
from pathlib import Path

import tiltmeter.making.repair
from tiltmeter.making.project import Project
from tiltmeter.making.repair import STEPS, get_step_of_rule
from tiltmeter.making.repair_step import repair_project


def list_open(project: Project) -> list[tuple[str, tuple[str, ...]]]:
    """Return the rule and the proposals of each open finding about item i0 that repair steps found."""
    found = project.store.list_findings("i0", ("proposed", "open"))
    return sorted((one.finding.rule, one.finding.proposals) for one in found if one.step == "repair")


def test_findings_of_steps_that_do_not_run_stay_open(translated: Project) -> None:
    with translated.store.begin_transaction():
        text = "El  cocinero, BLANK-hoy."
        translated.store.set_text("i0", "text", "context", text, step="translate", by="x", why="x")
        translated.store.set_text("i0", "text", "target_term", "jefe", step="translate", by="x", why="x")
    repair_project(translated)
    before = list_open(translated)
    assert {rule for rule, _ in before} >= {"spaces", "dash-at-blank", "target-not-in-context"}
    repair_project(translated, steps=["casing"])
    assert list_open(translated) == before
    # The findings of a step that runs are replaced, and the proposals of other steps follow the new text.
    with translated.store.begin_transaction():
        text = "El cocinero, BLANK-hoy."
        translated.store.set_text("i0", "text", "context", text, step="translate", by="x", why="x")
    repair_project(translated, steps=["spacing"])
    after = dict(list_open(translated))
    assert "spaces" not in after
    assert after["dash-at-blank"] == ("El cocinero, BLANK hoy.",)
    assert after["target-not-in-context"] == dict(before)["target-not-in-context"]
    # The figure of the stages counts the kept findings too.
    (stage,) = translated.store.list_steps()[-1].facts["stages"]
    assert "target-not-in-context" in {reason for _, reason, _, _ in stage["open"]}


def test_every_rule_in_the_code_has_its_step() -> None:
    folder = Path(tiltmeter.making.repair.__file__).parent
    constants = re.compile(r"^[\w, ]*RULE[\w, ]* = (.*)$", re.MULTILINE)
    literals = re.compile(r'"([a-z-]+)", "(?:open|proposed)"|yield "([a-z-]+)", "')
    for name, step in STEPS.items():
        text = (folder / f"{step.__module__.rpartition('.')[2]}.py").read_text(encoding="utf-8")
        rules = {rule for line in constants.findall(text) for rule in re.findall(r'"([a-z-]+)"', line)}
        rules |= {rule for pair in literals.findall(text) for rule in pair if rule}
        assert rules or name == "rewriting"
        assert {get_step_of_rule(rule) for rule in rules} <= {name}
