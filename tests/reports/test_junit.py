"""JUnit files of `tiltmeter check`."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.runs.made import association_scores, chosen_scores, run, saved
from tests.support.command import command
from tests.support.messages import assert_mentions
from tiltmeter.comparing import RuleVerdict, check, parse_rule
from tiltmeter.reports.junit import render_junit

RUN = run(association_scores("made/one", seed=1, lean=0.4, n=200))


def judge(lenient: bool = False, **rules: str) -> list[RuleVerdict]:
    return check(RUN, [parse_rule(kind, text) for kind, text in rules.items()], lenient=lenient)  # type: ignore[arg-type]


def read(verdicts: list[RuleVerdict], lenient: bool = False) -> ElementTree.Element:
    return ElementTree.fromstring(render_junit(verdicts, lenient=lenient).encode())


def test_each_rule_is_a_suite_and_each_value_a_case() -> None:
    verdicts = judge(max="stereoset/*.SS distance 1", min="stereoset.LMS 20")
    root = read(verdicts)
    assert (root.tag, root.get("tests"), root.get("failures")) == ("testsuites", "4", "3")
    first, second = root.findall("testsuite")
    assert (first.get("name"), first.get("tests"), first.get("failures")) == ("max stereoset/*.SS distance 1", "3", "3")
    assert (second.get("tests"), second.get("failures")) == ("1", "0")
    cases = root.findall(".//testcase")
    assert len({(case.get("classname"), case.get("name")) for case in cases}) == len(cases) == len(verdicts)
    for case, verdict in zip(cases, verdicts, strict=True):
        failure = case.find("failure")
        assert (failure is None) == verdict.passed
        if failure is not None:
            assert failure.get("type") == verdict.outcome
            assert_mentions(failure.text or "", str(verdict.rule), "made/one", f"{verdict.judged:.2f}", "n = ")
            assert_mentions(failure.get("message") or "", verdict.outcome, f"{verdict.value:.2f}")


@pytest.mark.parametrize(("lenient", "failures"), [(False, "1"), (True, "0")])
def test_too_few_items_fail_as_the_exit_code_does(lenient: bool, failures: str) -> None:
    (verdict,) = verdicts = judge(lenient, max="stereoset.SS distance 10.1")
    assert verdict.outcome == "not shown"
    assert read(verdicts, lenient).get("failures") == failures


def test_an_uninterpretable_value_is_a_failure_with_its_reason() -> None:
    senseless = run(chosen_scores("made/one", 50.0, n=400, sense=False))
    for lenient in (False, True):
        verdicts = check(senseless, [parse_rule("max", "stereoset.SS distance 40")], lenient=lenient)
        failure = read(verdicts, lenient).find(".//failure")
        assert failure is not None
        assert failure.get("type") == "not interpretable"
        assert_mentions(failure.text or "", "LMS 50")


def test_characters_that_xml_forbids_are_escaped() -> None:
    odd = run(association_scores("made/\x00<\uffff\x1b&", seed=1))
    case = read(check(odd, [parse_rule("min", "stereoset.LMS 20")])).find(".//testcase")
    assert case is not None
    assert_mentions(case.get("name") or "", "made/⟨U+0000⟩<⟨U+FFFF⟩⟨U+001B⟩&")


def test_the_command_writes_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    folder, out = saved(tmp_path / "run", RUN), tmp_path / "deep" / "tests.xml"
    assert command(monkeypatch, "check", folder, "--max", "stereoset.SSS 1", "--junit", str(out)) == 2
    assert not out.exists()
    assert command(monkeypatch, "check", folder, "--max", "stereoset.SS distance 1", "--junit", str(out)) == 1
    assert ElementTree.parse(out).getroot().get("failures") == "1"
    assert command(monkeypatch, "check", folder, "--min", "stereoset.LMS 20", "--junit", str(out)) == 0
    assert ElementTree.parse(out).getroot().get("failures") == "0"
    assert command(monkeypatch, "check", folder, "--min", "stereoset.LMS 20", "--junit", str(tmp_path)) == 2
    assert_mentions(capsys.readouterr().err, "is a folder")
