"""DeepL's package against a local server that implements its protocol."""

import sys

import pytest

from tests.support.messages import assert_mentions, raises_mentioning
from tests.translators.conftest import Asked, Failure, Service
from tiltmeter.cli import main
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.http_client import retries
from tiltmeter.translators import open_translator
from tiltmeter.translators.deepl import DeepLTranslator

TEXTS = ["I sang.", "I waited."]


def answer(asked: Asked) -> dict[str, object]:
    texts = [f"{asked.body['target_lang']}: {text}" for text in asked.body["text"]]
    metadata = {"detected_source_language": "EN", "billed_characters": 7}
    return {"translations": [{**metadata, "text": text} for text in texts]}


@pytest.fixture
def deepl(service: Service, monkeypatch: pytest.MonkeyPatch) -> DeepLTranslator:
    pytest.importorskip("deepl", reason="the package deepl is not installed: pip install 'tiltmeter[deepl]'")
    service.answer = answer
    monkeypatch.setenv("DEEPL_AUTH_KEY", "not-a-key")
    monkeypatch.setenv("DEEPL_SERVER_URL", service.url)
    return DeepLTranslator()


def test_texts_go_together_and_come_back_in_order(deepl: DeepLTranslator, service: Service) -> None:
    assert deepl.translate(TEXTS, "sk") == ["SK: I sang.", "SK: I waited."]
    (asked,) = service.asked
    assert asked.path == "/v2/translate"
    assert asked.headers["authorization"] == "DeepL-Auth-Key not-a-key"
    assert asked.body["source_lang"] == "EN"
    assert deepl.price


def test_throttled_requests_are_retried(deepl: DeepLTranslator, service: Service, slept: list[float]) -> None:
    service.failures = [Failure(429, headers={"Retry-After": "3"}), Failure(503), Failure(502)]
    assert len(deepl.translate(TEXTS, "sk")) == 2
    assert slept[0] == 3.0
    assert len(slept) == 3
    assert len(service.asked) == 4


def test_an_exceeded_quota_is_not_retried(deepl: DeepLTranslator, service: Service, slept: list[float]) -> None:
    service.failures = [Failure(456, {"message": "Quota Exceeded"})]
    with raises_mentioning(ModelError, "DeepL", "'sk'", "Quota Exceeded."):
        deepl.translate(TEXTS, "sk")
    assert not slept


def test_an_incomplete_reply_is_an_error(deepl: DeepLTranslator, service: Service) -> None:
    service.answer = lambda _asked: {"translations": [{"detected_source_language": "EN", "text": "Spal som."}]}
    with raises_mentioning(ModelError, "DeepL", "expected format"):
        deepl.translate(TEXTS, "sk")


def test_an_unsupported_language(deepl: DeepLTranslator, service: Service) -> None:
    service.failures = [Failure(400, {"message": "Value for 'target_lang' not supported."})]
    with raises_mentioning(ModelError, "'xx'", "not supported"):
        deepl.translate(TEXTS, "xx")


def test_a_wrong_key(deepl: DeepLTranslator, service: Service) -> None:
    service.failures = [Failure(403)]
    with raises_mentioning(UsageError, "DEEPL_AUTH_KEY"):
        deepl.translate(TEXTS, "sk")


def test_the_command_pays_once_and_only_after_yes(
    deepl: DeepLTranslator, service: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def command(*words: str) -> int:
        monkeypatch.setattr(sys, "argv", ["tiltmeter", "run", "--translator", "deepl", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0)

    def say(asked: Asked) -> dict[str, object]:
        return {
            "translations": [{"detected_source_language": "EN", "billed_characters": 9, "text": "Bola som doma."}]
            * len(asked.body["text"])
        }

    service.answer = say
    on = ("--on", "starter-gest-mt:sk")
    assert command(*on) == 2
    assert_mentions(capsys.readouterr().err, "Nothing was sent", "--yes")
    assert not service.asked
    # The quota is exceeded in the second request; the translations of the first are kept.
    service.failures = [Failure(500), Failure(456)]
    service.failures.insert(1, Failure(200, say(Asked("", {}, {"text": [""] * 50}))))
    monkeypatch.setattr(retries, "PAUSES", (0.0,))
    assert command(*on, "--yes") == 2
    assert_mentions(capsys.readouterr().err, "50 of 64 translations")
    assert command(*on, "--yes") == 0
    assert len(service.asked[-1].body["text"]) == 14
    asked = len(service.asked)
    assert command(*on) == 0
    assert len(service.asked) == asked


def test_no_key(deepl: DeepLTranslator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEEPL_AUTH_KEY")
    with raises_mentioning(UsageError, "set DEEPL_AUTH_KEY"):
        open_translator("deepl")


def test_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "deepl", None)
    with raises_mentioning(UsageError, "pip install 'tiltmeter[deepl]'"):
        open_translator("deepl")
