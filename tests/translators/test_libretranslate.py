from base64 import b64encode

import pytest

from tests.support.messages import raises_mentioning
from tests.translators.conftest import Asked, Failure, Service
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.making.system_languages import check_target_language
from tiltmeter.translators import open_translator

TEXTS = ["I sang.", "I waited & left."]


def libre(asked: Asked) -> dict[str, object]:
    return {"translatedText": [f"{asked.body['target']}: {text}" for text in asked.body["q"]]}


def apy(asked: Asked) -> dict[str, object]:
    translated = f"{asked.body['langpair']}: {asked.body['q']}"
    return {"responseData": {"translatedText": translated}, "responseDetails": None, "responseStatus": 200}


def test_libretranslate(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.answer = libre
    translator = open_translator(f"libretranslate:{service.url}/")
    assert translator.name == f"libretranslate:{service.url}"
    assert translator.price is None
    assert translator.translate(TEXTS, "sk") == ["sk: I sang.", "sk: I waited & left."]
    assert service.asked[0].path == "/translate"
    assert service.asked[0].body == {"q": TEXTS, "source": "en", "target": "sk", "format": "text"}
    monkeypatch.setenv("LIBRETRANSLATE_API_KEY", "not-a-key")
    translator.translate(TEXTS, "sk")
    assert service.asked[1].body["api_key"] == "not-a-key"


def test_a_name_and_password_in_the_address_are_sent_and_not_shown(service: Service) -> None:
    service.answer = libre
    translator = open_translator(f"libretranslate:{service.url.replace('//', '//ada:secret@')}")
    assert translator.name == f"libretranslate:{service.url}"
    translator.translate(TEXTS, "sk")
    assert service.asked[0].headers["authorization"] == f"Basic {b64encode(b'ada:secret').decode()}"
    service.failures = [Failure(302, headers={"Location": service.url})]
    with raises_mentioning(ModelError, f"at {service.url}", "302"):
        translator.translate(TEXTS, "sk")
    assert len(service.asked) == 2


@pytest.mark.parametrize("kind", ["apy", "libretranslate"])
def test_a_login_from_the_environment(kind: str, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.answer = {"apy": apy, "libretranslate": libre}[kind]
    monkeypatch.setenv("TILTMETER_TRANSLATOR_LOGIN", "ada:s:e/c@ret-word")
    translator = open_translator(f"{kind}:{service.url}")
    translator.translate(TEXTS[:1], "sk")
    assert service.asked[0].headers["authorization"] == f"Basic {b64encode(b'ada:s:e/c@ret-word').decode()}"
    assert translator.name == translator.key == f"{kind}:{service.url}"
    service.failures = [Failure(403, {"error": "not s:e/c@ret-word"})]
    with raises_mentioning(ModelError, "403 (not ***)"):
        translator.translate(TEXTS[:1], "sk")


def test_the_api_key_is_in_no_message(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIBRETRANSLATE_API_KEY", "abc1")
    service.failures = [Failure(403, {"error": "abc1 is no key"})]
    with raises_mentioning(ModelError, "403 (***"):
        open_translator(f"libretranslate:{service.url}").translate(TEXTS, "sk")


def test_apy(service: Service) -> None:
    service.answer = apy
    translator = open_translator(f"apy:{service.url}")
    assert translator.translate(TEXTS, "sk") == ["eng|slk: I sang.", "eng|slk: I waited & left."]
    assert len(service.asked) == 2
    assert service.asked[0].body["markUnknown"] == "no"


@pytest.mark.parametrize("kind", ["apy", "libretranslate"])
def test_temporary_failures_are_retried(kind: str, service: Service, slept: list[float]) -> None:
    service.answer = {"apy": apy, "libretranslate": libre}[kind]
    service.failures = [Failure(429, headers={"Retry-After": "2"}), Failure(500)]
    assert len(open_translator(f"{kind}:{service.url}").translate(TEXTS[:1], "sk")) == 1
    assert slept[0] == 2.0
    assert len(slept) == 2


@pytest.mark.parametrize("kind", ["apy", "libretranslate"])
def test_other_failures_are_errors(kind: str, service: Service, slept: list[float]) -> None:
    translator = open_translator(f"{kind}:{service.url}")
    service.failures = [Failure(400, {"error": "sk is not supported"})]
    with raises_mentioning(ModelError, "400 (sk"):
        translator.translate(TEXTS, "sk")
    service.answer = lambda _asked: "<html>"
    with raises_mentioning(ModelError, "JSON"):
        translator.translate(TEXTS, "sk")
    service.answer = lambda _asked: {"hello": "world"}
    with raises_mentioning(ModelError, f"{kind}:{service.url}", "check that this address"):
        translator.translate(TEXTS, "sk")
    assert not slept


def test_a_dead_server_is_retried(slept: list[float]) -> None:
    with raises_mentioning(ModelError, "LibreTranslate at http://127.0.0.1:9", "6 times"):
        open_translator("libretranslate:http://ada:secret@127.0.0.1:9").translate(TEXTS, "sk")
    assert len(slept) == 5


@pytest.mark.parametrize("name", ["apy:localhost:2737", "libretranslate:ftp://example.org", "apy:http://"])
def test_invalid_addresses(name: str) -> None:
    with raises_mentioning(UsageError, "http(s) address", "http://localhost"):
        open_translator(name)


@pytest.mark.parametrize("name", ["", "bing", "nllb", "nllb:", "deepl:pro", "apertium", "libretranslate"])
def test_unknown_systems(name: str) -> None:
    with raises_mentioning(UsageError, f"{name!r}", "nllb:MODEL, amazon,"):
        open_translator(name)


def test_the_languages_of_a_server(service: Service) -> None:
    service.answer = lambda asked: {
        "/languages": [{"code": "en", "targets": ["es", "gl"]}, {"code": "es", "targets": ["en"]}],
        "/listPairs": {
            "responseData": [
                {"sourceLanguage": "eng", "targetLanguage": "glg"},
                {"sourceLanguage": "spa", "targetLanguage": "cat"},
            ]
        },
    }[asked.path]
    assert check_target_language(f"libretranslate:{service.url}", "gl") == ""
    assert check_target_language(f"apy:{service.url}", "gl") == ""
    with raises_mentioning(UsageError, "into 'ca'", "es, gl"):
        check_target_language(f"libretranslate:{service.url}", "ca")
    with raises_mentioning(UsageError, "into 'ca'", ": glg."):
        check_target_language(f"apy:{service.url}", "ca")


@pytest.mark.parametrize("kind", ["apy", "libretranslate"])
def test_a_server_that_does_not_list_its_languages_is_not_refused(
    kind: str, service: Service, slept: list[float]
) -> None:
    service.answer = lambda _asked: {}
    assert "list of languages" in check_target_language(f"{kind}:{service.url}", "gl")
    service.failures = [Failure(500)]
    assert "500" in check_target_language(f"{kind}:{service.url}", "gl")
    assert not slept
