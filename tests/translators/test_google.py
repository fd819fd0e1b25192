"""Google's package against a local server that implements its protocol."""

import sys

import pytest

from tests.support.messages import raises_mentioning
from tests.translators.conftest import Asked, Failure, Service
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.translators import open_translator
from tiltmeter.translators.google import GoogleTranslator

TEXTS = ["I sang.", "I don't know."]
NEEDED = "the package google-cloud-translate is not installed: pip install 'tiltmeter[google]'"


def answer(asked: Asked) -> dict[str, object]:
    texts = [f"{asked.body['target']}: {text}" for text in asked.body["q"]]
    return {"data": {"translations": [{"translatedText": text, "model": "nmt"} for text in texts]}}


def refusal(code: int, reason: str) -> dict[str, object]:
    return {"error": {"code": code, "message": f"Because of {reason}.", "errors": [{"reason": reason}]}}


@pytest.fixture
def google(service: Service) -> GoogleTranslator:
    pytest.importorskip("google.cloud.translate_v2", reason=NEEDED)
    from google.auth.credentials import AnonymousCredentials

    service.answer = answer
    return GoogleTranslator(endpoint=service.url, credentials=AnonymousCredentials())


def test_texts_go_together_and_come_back_in_order(google: GoogleTranslator, service: Service) -> None:
    assert google.translate(TEXTS, "sk") == ["sk: I sang.", "sk: I don't know."]
    (asked,) = service.asked
    assert asked.path.startswith("/language/translate/v2")
    assert (asked.body["source"], asked.body["format"], asked.body["model"]) == ("en", "text", "nmt")
    assert google.price


def test_throttled_requests_are_retried(google: GoogleTranslator, service: Service, slept: list[float]) -> None:
    service.failures = [
        Failure(429, refusal(429, "quota"), {"Retry-After": "5"}),
        Failure(403, refusal(403, "userRateLimitExceeded")),
        Failure(503, "busy"),
    ]
    assert len(google.translate(TEXTS, "sk")) == 2
    assert slept[0] == 5.0
    assert len(slept) == 3


def test_other_errors_are_not_retried(google: GoogleTranslator, service: Service, slept: list[float]) -> None:
    service.failures = [Failure(400, refusal(400, "an invalid target"))]
    with raises_mentioning(ModelError, "Google Translate", "'xx'", "an invalid target."):
        google.translate(TEXTS, "xx")
    service.failures = [Failure(403, refusal(403, "dailyLimitExceeded"))]
    with raises_mentioning(ModelError, "dailyLimitExceeded"):
        google.translate(TEXTS, "sk")
    assert not slept


def test_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("google.cloud.translate_v2", reason=NEEDED)
    import google.auth
    from google.auth.exceptions import DefaultCredentialsError

    def none(*_args: object, **_options: object) -> None:
        raise DefaultCredentialsError("none")

    monkeypatch.setattr(google.auth, "default", none)
    with raises_mentioning(UsageError, "GOOGLE_APPLICATION_CREDENTIALS"):
        open_translator("google")


def test_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.cloud.translate_v2", None)
    with raises_mentioning(UsageError, "pip install 'tiltmeter[google]'"):
        open_translator("google")
