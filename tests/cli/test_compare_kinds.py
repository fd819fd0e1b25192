"""The kinds of comparison of `tiltmeter compare`: an option of another kind is an error that names the kinds."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.command import command
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.cli.compare_kinds import find_kind, reject_other_options
from tiltmeter.errors import UsageError

NAMES = (
    "by baseline measure group size languages over with before after target quality-margin tuned-on attributes where "
    "across family fixed html figures latex items all json"
)
NOTHING: dict[str, Any] = dict.fromkeys(NAMES.split())


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({}, ""),
        ({"by": "model", "baseline": "a", "items": 0, "all": True}, ""),
        ({"group": "instruct", "by": "language"}, "group"),
        ({"size": True, "figures": Path("f")}, "size"),
        ({"languages": True, "group": "instruct", "over": "protocols"}, "languages"),
        ({"with": "published", "latex": Path("a.tex")}, "with"),
        ({"before": ["a"], "after": ["b"], "quality-margin": 0.0}, "before"),
    ],
)
def test_options_of_a_kind_are_accepted(given: dict[str, Any], kind: str) -> None:
    options = NOTHING | given
    assert find_kind(options) == kind
    reject_other_options(options, kind)


@pytest.mark.parametrize(
    ("given", "option", "kinds"),
    [
        ({"attributes": Path("a.toml")}, "--attributes", ["--languages", "--size", "--group"]),
        ({"over": "protocols"}, "--over", ["--languages"]),
        ({"figures": Path("f")}, "--figures", ["--before", "--with", "--languages", "--size"]),
        ({"latex": Path("a.tex")}, "--latex", ["--before", "--with", "--languages"]),
        ({"target": ["stereoset"]}, "--target", ["--before"]),
        ({"quality-margin": 0.0}, "--quality-margin", ["--before"]),
        ({"group": "instruct", "baseline": "a"}, "--baseline", ["--group"]),
        ({"group": "instruct", "items": 0}, "--items", ["--group"]),
        ({"size": True, "by": "model"}, "--by", ["--size"]),
        ({"size": True, "all": True}, "--all", ["--size"]),
        ({"size": True, "group": "instruct"}, "--group", ["--size"]),
        ({"languages": True, "size": True}, "--size", ["--languages"]),
        ({"with": "published", "languages": True}, "--languages", ["--with"]),
        ({"before": ["a"], "with": "published"}, "--with", ["--before"]),
        ({"after": ["a"], "measure": ["SS"]}, "--measure", ["--after"]),
    ],
)
def test_an_option_of_another_kind_is_an_error(given: dict[str, Any], option: str, kinds: list[str]) -> None:
    options = NOTHING | given
    with raises_mentioning(UsageError, option, *kinds):
        reject_other_options(options, find_kind(options))


def test_all_options_of_the_command_are_checked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for words, parts in (
        (["a", "--size", "--latex", "a.tex"], ["--latex", "--size"]),
        (["--before", "a"], ["--before", "--after"]),
        (["--after", "a"], ["--after", "--before"]),
        (["a", "--before", "b", "--after", "c"], ["a", "--before"]),
        ([], ["No runs"]),
    ):
        assert command(monkeypatch, "compare", *words) == 2
        assert_mentions(capsys.readouterr().err, *parts)
