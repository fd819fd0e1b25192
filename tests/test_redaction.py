"""Passwords and keys are removed from messages and files."""

from pathlib import Path

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.making.project import create_project
from tiltmeter.redaction import redact_secrets


@pytest.mark.parametrize(
    ("text", "public"),
    [
        ("http://a:b@host/x and https://c@other", "http://host/x and https://other"),
        ("http://a:p@ss@host:80/x?key=k&q=1", "http://host:80/x?key=***&q=1"),
        ("chat:m@https://me:secret@host/v1", "chat:m@https://host/v1"),
        ("https://host/model@v1, me@example.org", "https://host/model@v1, me@example.org"),
        ("proxy socks5://u:p@host", "proxy socks5://host"),
        ("https://host/?access_token=abc'", "https://host/?access_token=***'"),
        ("a monkey=1, token=word", "a monkey=1, token=word"),
    ],
)
def test_addresses_in_a_text(text: str, public: str) -> None:
    assert redact_secrets(text) == public
    assert str(UsageError(text)) == public


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("DEEPL_AUTH_KEY", "0123456789", "the key 0123456789 is wrong"),
        ("TILTMETER_API_KEY", "sk-secret-1", "Bearer sk-secret-1"),
        ("HF_TOKEN", "hf_secret_1", "hf_secret_1"),
        ("HTTPS_PROXY", "http://ada:hunter22-@proxy:1", "cannot log in as ada:hunter22-"),
        ("http_proxy", "ada:p%40ssword@proxy:1", "not with p@ssword"),
        ("TILTMETER_MIRROR", "https://ada:hunter22-@host/", "hunter22- is wrong"),
        ("TILTMETER_TRANSLATOR_LOGIN", "ada:hunter22-", "hunter22- is wrong"),
    ],
)
def test_keys_of_the_environment(name: str, value: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert redact_secrets(text) == text
    monkeypatch.setenv(name, value)
    assert "***" in redact_secrets(text)
    assert not any(secret in redact_secrets(text) for secret in ("0123456789", "secret", "hunter22", "p@ssword"))


def test_the_path_of_a_key_is_not_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_KEY", "/home/ada/key")
    assert redact_secrets("/home/ada/key cannot be read") == "/home/ada/key cannot be read"


def test_a_project_contains_no_password(tmp_path: Path) -> None:
    with raises_mentioning(UsageError, "TILTMETER_TRANSLATOR_LOGIN"):
        create_project(
            tmp_path / "new", "starter", language="sk", system="libretranslate:http://ada:secret@localhost:1"
        )
    assert not (tmp_path / "new").exists()
