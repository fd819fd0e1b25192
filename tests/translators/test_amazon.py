"""boto3 against a local server that implements Amazon Translate's protocol."""

import sys
from base64 import b64decode
from pathlib import Path

import pytest

from tests.support.messages import raises_mentioning
from tests.translators.conftest import Asked, Failure, Service
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.translators import open_translator
from tiltmeter.translators.amazon import AmazonTranslator


def answer(asked: Asked) -> dict[str, str]:
    body = asked.body
    return {
        "TranslatedText": f"{body['TargetLanguageCode']}: {body['Text']}",
        "SourceLanguageCode": body["SourceLanguageCode"],
        "TargetLanguageCode": body["TargetLanguageCode"],
    }


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Isolate the test from the user's AWS configuration."""
    for name in ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "not-an-id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-a-secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")


@pytest.fixture
def amazon(service: Service, settings: None) -> AmazonTranslator:
    pytest.importorskip("boto3", reason="the package boto3 is not installed: pip install 'tiltmeter[amazon]'")
    service.answer = answer
    return AmazonTranslator(endpoint=service.url)


def test_a_terminology_protects_a_word(amazon: AmazonTranslator, service: Service) -> None:
    service.answer = lambda asked: {} if "TerminologyData" in asked.body else answer(asked)
    protecting = amazon.with_protected_word("BLANK", "de")
    assert service.asked == []
    assert protecting.translate(["He was BLANK.", "She was BLANK."], "de") == [
        "de: He was BLANK.",
        "de: She was BLANK.",
    ]
    imported, *translated = service.asked
    assert imported.headers["x-amz-target"].endswith("ImportTerminology")
    assert b64decode(imported.body["TerminologyData"]["File"]) == b"en,de\nBLANK,BLANK"
    assert [asked.body["TerminologyNames"] for asked in translated] == [[imported.body["Name"]]] * 2
    assert protecting.key != amazon.key
    amazon.translate(["I sang."], "de")
    assert "TerminologyNames" not in service.asked[-1].body


def test_each_text_is_a_request(amazon: AmazonTranslator, service: Service) -> None:
    assert amazon.translate(["I sang.", "I waited."], "sk") == ["sk: I sang.", "sk: I waited."]
    assert len(service.asked) == 2
    assert service.asked[0].headers["x-amz-target"].endswith("TranslateText")
    assert service.asked[0].body["SourceLanguageCode"] == "en"
    assert amazon.price


def test_throttled_requests_are_retried(amazon: AmazonTranslator, service: Service, slept: list[float]) -> None:
    throttled = {"__type": "ThrottlingException", "message": "Rate exceeded"}
    service.failures = [Failure(400, throttled), Failure(503, {}, {"Retry-After": "4"}), Failure(500, {})]
    assert amazon.translate(["I sang."], "sk") == ["sk: I sang."]
    assert slept[1] == 4.0
    assert len(slept) == 3


def test_an_unsupported_language(amazon: AmazonTranslator, service: Service, slept: list[float]) -> None:
    service.failures = [Failure(400, {"__type": "UnsupportedLanguagePairException", "message": "No en to be"})]
    with raises_mentioning(ModelError, "Amazon Translate", "'be'", "No en to be"):
        amazon.translate(["I sang."], "be")
    assert not slept


def test_a_dead_server_is_retried(settings: None, slept: list[float]) -> None:
    pytest.importorskip("boto3", reason="the package boto3 is not installed: pip install 'tiltmeter[amazon]'")
    with raises_mentioning(ModelError, "Amazon Translate", "6 times"):
        AmazonTranslator(endpoint="http://127.0.0.1:9").translate(["I sang."], "sk")
    assert len(slept) == 5


def test_no_credentials(amazon: AmazonTranslator, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with raises_mentioning(UsageError, "set AWS_ACCESS_KEY_ID"):
        AmazonTranslator(endpoint=service.url).translate(["I sang."], "sk")
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    with raises_mentioning(UsageError, "set AWS_DEFAULT_REGION"):
        open_translator("amazon")


def test_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    with raises_mentioning(UsageError, "pip install 'tiltmeter[amazon]'"):
        open_translator("amazon")
