"""The outcome of `tiltmeter check` as a JUnit file, which CI systems show as a list of tests.

A test case is one rule for one value. It fails exactly if the rule fails, also if the value is not interpretable or the
items are too few, so that the file and the exit code agree.
"""

from collections.abc import Sequence
from itertools import groupby
from xml.etree import ElementTree

from tiltmeter.comparing import RuleVerdict
from tiltmeter.printable_text import escape_unsafe
from tiltmeter.reports.check_results import (
    describe_numbers,
    describe_outcome,
    describe_strictness,
    describe_subject,
    list_notes,
)

_NAME = "tiltmeter check"


def render_junit(verdicts: Sequence[RuleVerdict], *, lenient: bool) -> str:
    """Return the verdicts as XML with a test suite for each rule and a test case for each value that it checked."""
    root = ElementTree.Element("testsuites", _count(verdicts) | {"name": _NAME})
    for rule, group in groupby(verdicts, key=lambda verdict: verdict.rule):
        checked = list(group)
        name = escape_unsafe(str(rule))
        suite = ElementTree.SubElement(root, "testsuite", _count(checked) | {"name": name})
        for verdict in checked:
            _add_case(suite, name, verdict)
        notes = "\n".join([*list_notes(checked), describe_strictness(lenient)])
        ElementTree.SubElement(suite, "system-out").text = escape_unsafe(notes)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _count(verdicts: Sequence[RuleVerdict]) -> dict[str, str]:
    failures = sum(not verdict.passed for verdict in verdicts)
    return {"tests": str(len(verdicts)), "failures": str(failures), "errors": "0", "skipped": "0", "time": "0"}


def _add_case(suite: ElementTree.Element, rule: str, verdict: RuleVerdict) -> None:
    # CI systems identify a test by class and name, so that both together name the rule, the model and the value.
    names = {"classname": rule, "name": escape_unsafe(describe_subject(verdict)), "time": "0"}
    case = ElementTree.SubElement(suite, "testcase", names)
    sentence = escape_unsafe(f"{describe_outcome(verdict)}: {describe_numbers(verdict)}")
    if verdict.passed:
        ElementTree.SubElement(case, "system-out").text = sentence
        return
    note = f"\n{escape_unsafe(verdict.note)}." if verdict.note else ""
    failure = ElementTree.SubElement(case, "failure", type=verdict.outcome, message=sentence)
    failure.text = f"{rule}\n{sentence}{note}"
