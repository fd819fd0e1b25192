"""Passwords of reviewers: hashed, private, and limited in attempts."""

import json
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tiltmeter.errors import DataError, UsageError
from tiltmeter.studio import reviewers
from tiltmeter.studio.reviewers import (
    FREE_ATTEMPTS,
    TooManyAttemptsError,
    add_studio_reviewer,
    check_password,
    remove_studio_reviewer,
    session_key,
    studio_reviewer,
    studio_reviewers,
)

RIGHT = "correct horse"


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(reviewers, "_attempts", reviewers._Attempts(clock))
    return clock


def test_passwords(tmp_path: Path, clock: Clock) -> None:
    add_studio_reviewer(tmp_path, " Ana ", RIGHT)
    add_studio_reviewer(tmp_path, "Zoë", "пароль пароль", is_adjudicator=True)
    assert check_password(tmp_path, "ana", RIGHT)
    assert check_password(tmp_path, "Zoë", "пароль пароль")
    assert not check_password(tmp_path, "Ana", RIGHT + " ")
    assert not check_password(tmp_path, "Ida", RIGHT)
    assert not check_password(tmp_path, "", "")
    assert [(one.name, one.is_adjudicator) for one in studio_reviewers(tmp_path)] == [("Ana", False), ("Zoë", True)]
    file = tmp_path / ".tiltmeter-studio" / "reviewers.json"
    if sys.platform != "win32":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert RIGHT not in file.read_text(encoding="utf-8")


def test_another_password_ends_sessions(tmp_path: Path, clock: Clock) -> None:
    add_studio_reviewer(tmp_path, "Ana", RIGHT)
    before = session_key(tmp_path, "Ana")
    add_studio_reviewer(tmp_path, "ANA", "another one")
    assert [one.name for one in studio_reviewers(tmp_path)] == ["ANA"]
    assert session_key(tmp_path, "ANA") not in ("", before)
    assert not check_password(tmp_path, "Ana", RIGHT)
    assert check_password(tmp_path, "Ana", "another one")
    remove_studio_reviewer(tmp_path, "ana")
    assert studio_reviewer(tmp_path, "ana") is None
    assert session_key(tmp_path, "ANA") == ""
    with pytest.raises(UsageError, match="not a reviewer"):
        remove_studio_reviewer(tmp_path, "ana")


@pytest.mark.parametrize(("name", "password"), [("", RIGHT), ("a\nb", RIGHT), ("a" * 101, RIGHT), ("Ana", "short")])
def test_what_is_refused(tmp_path: Path, name: str, password: str) -> None:
    with pytest.raises(UsageError):
        add_studio_reviewer(tmp_path, name, password)
    assert studio_reviewers(tmp_path) == []


def test_wrong_passwords_wait_longer_each_time(tmp_path: Path, clock: Clock) -> None:
    add_studio_reviewer(tmp_path, "Ana", RIGHT)
    for _ in range(FREE_ATTEMPTS):
        assert not check_password(tmp_path, "Ana", "wrong wrong")
    waits = []
    for _ in range(12):
        with pytest.raises(TooManyAttemptsError) as found:
            check_password(tmp_path, "Ana", RIGHT)
        waits.append(found.value.seconds)
        clock.now += found.value.seconds
        assert not check_password(tmp_path, "Ana", "wrong wrong")
    assert waits == [2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]
    clock.now += 900
    assert check_password(tmp_path, "Ana", RIGHT)
    assert not check_password(tmp_path, "Ana", "wrong wrong")  # the count begins anew
    # Names that nobody has share a count.
    for turn in range(FREE_ATTEMPTS):
        assert not check_password(tmp_path, f"nobody {turn}", RIGHT)
    with pytest.raises(TooManyAttemptsError):
        check_password(tmp_path, "another", RIGHT)


def test_attempts_at_once_do_not_escape_the_count(tmp_path: Path, clock: Clock) -> None:
    add_studio_reviewer(tmp_path, "Ana", RIGHT)

    def attempt(turn: int) -> bool:
        try:
            check_password(tmp_path, "Ana", f"wrong wrong {turn}")
        except TooManyAttemptsError:
            return False
        return True

    with ThreadPoolExecutor(16) as threads:
        assert sum(threads.map(attempt, range(40))) == FREE_ATTEMPTS


def test_a_damaged_file(tmp_path: Path) -> None:
    file = tmp_path / ".tiltmeter-studio" / "reviewers.json"
    file.parent.mkdir()
    for content in ("{", json.dumps({"Ana": {"salt": "x"}}), "[1]"):
        file.write_text(content, encoding="utf-8")
        with pytest.raises(DataError, match="damaged"):
            studio_reviewers(tmp_path)
