from pathlib import Path

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.comparing import parse_rule, read_gate_config
from tiltmeter.errors import TiltmeterError, UsageError


@pytest.mark.parametrize(
    ("text", "place", "measure", "distance", "limit"),
    [
        ("stereoset.SS distance 5", ("stereoset", None, ()), "SS", True, 5),
        ("stereoset:de,fr.LMS 70", ("stereoset", None, ("de", "fr")), "LMS", False, 70),
        (
            "stereoset/intrasentence:de.ICAT macro 60.5",
            ("stereoset", "intrasentence", ("de",)),
            "ICAT macro",
            False,
            60.5,
        ),
        ("gender-pairs.B.S_JSD distance 10", ("gender-pairs", None, ()), "B.S_JSD", True, 10),
        ("gender-pairs.S_JSD x 1e3 -2", ("gender-pairs", None, ()), "S_JSD x 1e3", False, -2),
        (
            "./own.items/my.jsonl/intrasentence:de.SS 60",
            ("./own.items/my.jsonl", "intrasentence", ("de",)),
            "SS",
            False,
            60,
        ),
    ],
)
def test_rules(text: str, place: tuple, measure: str, distance: bool, limit: float) -> None:
    rule = parse_rule("max", text)
    assert (rule.benchmark, rule.part, rule.languages) == place
    assert (rule.measure, rule.distance, rule.limit) == (measure, distance, limit)
    assert (rule.view, rule.group) == ("all", "all")


def test_groups() -> None:
    rule = parse_rule("max", "stereoset.SS[bias_type = gender] distance 5")
    assert (rule.measure, rule.view, rule.group) == ("SS", "bias_type", "gender")


@pytest.mark.parametrize("text", ["2", "2.5", "0"])
def test_a_bare_margin(text: str) -> None:
    rule = parse_rule("no-worse-than", text)
    assert (rule.limit, rule.measure) == (float(text), "")


@pytest.mark.parametrize(
    ("kind", "text", "part"),
    [
        ("max", "stereoset", "write BENCHMARK"),
        ("max", "", "cannot be read"),
        ("max", "5", "cannot be read"),
        ("max", "stereoset.SS", "cannot be read"),
        ("max", "stereoset.SS five", "'five'"),
        ("max", "stereoset.SS nan", "not a number"),
        ("min", "stereoset.SS inf", "not a number"),
        ("max", "stereoset.SS distance -1", "negative distance"),
        ("max", "stereoset:.SS 5", "part or language"),
        ("max", "stereoset/.SS 5", "part or language"),
        ("no-worse-than", "two", "not a number"),
        ("no-worse-than", "-2", "negative margin"),
        ("no-worse-than", "stereoset.SS distance 2", "the word distance"),
    ],
)
def test_bad_rules(kind: str, text: str, part: str) -> None:
    with raises_mentioning(UsageError, repr(text), part):
        parse_rule(kind, text)  # type: ignore[arg-type]


def config(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "tiltmeter.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_of_rules(tmp_path: Path) -> None:
    content = read_gate_config(
        config(
            tmp_path,
            """
            [[check]]
            max = ["stereoset.SS distance 5", "stereoset.SS[bias_type=gender] distance 9"]
            min = "stereoset.LMS 70"

            [[check]]
            no-worse-than = 2
            baseline = "runs/released"
            lenient = true
            """,
        )
    )
    assert [str(rule) for rule in content.rules] == [
        "max stereoset.SS distance 5",
        "max stereoset.SS[bias_type=gender] distance 9",
        "min stereoset.LMS 70",
        "no-worse-than 2",
    ]
    assert content.baseline == tmp_path / "runs" / "released"
    assert content.lenient is True


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("nonsense", ["not valid TOML"]),
        ("[check]\nmax = 'stereoset.SS 5'", ["no [[check]] table"]),
        ("", ["no [[check]] table"]),
        ("[[check]]\nmaximum = 'stereoset.SS 5'", ["check 1: ", "'maximum'", "(did you mean max?)"]),
        ("[[check]]\nmax = true", ["check 1: max", "True"]),
        ("[[check]]\nmax = 'stereoset'", ["check 1: ", "'stereoset'"]),
        ("[[check]]\nbaseline = 3", ["baseline is 3"]),
        ("[[check]]\nbaseline = 'a'\n[[check]]\nbaseline = 'b'", ["baseline", "'a' and 'b'"]),
    ],
)
def test_bad_files(tmp_path: Path, text: str, parts: list[str]) -> None:
    with raises_mentioning(TiltmeterError, "tiltmeter.toml", *parts):
        read_gate_config(config(tmp_path, text))


def test_no_file(tmp_path: Path) -> None:
    with raises_mentioning(TiltmeterError, "none.toml"):
        read_gate_config(tmp_path / "none.toml")
