"""Passwords of reviewers: hashed, private, and limited in attempts."""

import json
import stat
import sys
from pathlib import Path

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.errors import DataError, UsageError
from tiltmeter.studio import reviewer_accounts
from tiltmeter.studio.reviewer_accounts import (
    add_studio_reviewer,
    check_password,
    find_studio_reviewer,
    get_session_key,
    list_studio_reviewers,
    remove_studio_reviewer,
)

RIGHT = "correct horse"


def test_passwords(tmp_path: Path) -> None:
    add_studio_reviewer(tmp_path, " Ana ", RIGHT)
    add_studio_reviewer(tmp_path, "Zoë", "пароль пароль", is_adjudicator=True)
    assert check_password(tmp_path, "ana", RIGHT)
    assert check_password(tmp_path, "Zoë", "пароль пароль")
    assert not check_password(tmp_path, "Ana", RIGHT + " ")
    assert not check_password(tmp_path, "Ida", RIGHT)
    assert not check_password(tmp_path, "", "")
    assert [(one.name, one.is_adjudicator) for one in list_studio_reviewers(tmp_path)] == [
        ("Ana", False),
        ("Zoë", True),
    ]
    file = tmp_path / ".tiltmeter-studio" / "reviewers.json"
    if sys.platform != "win32":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert RIGHT not in file.read_text(encoding="utf-8")


def test_another_password_ends_sessions(tmp_path: Path) -> None:
    add_studio_reviewer(tmp_path, "Ana", RIGHT)
    before = get_session_key(tmp_path, "Ana")
    add_studio_reviewer(tmp_path, "ANA", "another one")
    assert [one.name for one in list_studio_reviewers(tmp_path)] == ["ANA"]
    assert get_session_key(tmp_path, "ANA") not in ("", before)
    assert not check_password(tmp_path, "Ana", RIGHT)
    assert check_password(tmp_path, "Ana", "another one")
    remove_studio_reviewer(tmp_path, "ana")
    assert find_studio_reviewer(tmp_path, "ana") is None
    assert get_session_key(tmp_path, "ANA") == ""
    with raises_mentioning(UsageError, "not a reviewer"):
        remove_studio_reviewer(tmp_path, "ana")


@pytest.mark.parametrize(("name", "password"), [("", RIGHT), ("a\nb", RIGHT), ("a" * 101, RIGHT), ("Ana", "short")])
def test_invalid_names_and_passwords(tmp_path: Path, name: str, password: str) -> None:
    with pytest.raises(UsageError):
        add_studio_reviewer(tmp_path, name, password)
    assert list_studio_reviewers(tmp_path) == []


def test_a_new_password_keeps_the_role_by_default(tmp_path: Path) -> None:
    roles = [
        add_studio_reviewer(tmp_path, "Ana", RIGHT, is_adjudicator=role).is_adjudicator
        for role in (None, True, None, False, None)
    ]
    assert roles == [False, True, True, False, False]


def test_an_unknown_name_takes_as_many_hashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_studio_reviewer(tmp_path, "Ana", RIGHT)
    hashed: list[bytes] = []
    hash_password = reviewer_accounts._hash_password

    def counted(password: str, salt: bytes) -> bytes:
        found = hash_password(password, salt)
        hashed.append(found)
        return found

    monkeypatch.setattr(reviewer_accounts, "_hash_password", counted)
    assert not check_password(tmp_path, "Ana", "wrong wrong")
    assert not check_password(tmp_path, "Bob", "wrong wrong")
    assert [len(found) for found in hashed] == [64, 64]


def test_a_damaged_file(tmp_path: Path) -> None:
    file = tmp_path / ".tiltmeter-studio" / "reviewers.json"
    file.parent.mkdir()
    for content in ("{", json.dumps({"Ana": {"salt": "x"}}), "[1]"):
        file.write_text(content, encoding="utf-8")
        with raises_mentioning(DataError, "reviewers.json is damaged"):
            list_studio_reviewers(tmp_path)
