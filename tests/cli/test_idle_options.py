"""Options without an effect on the run are errors."""

from typing import Any

import pytest

from tests.support.command import command
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.errors import UsageError
from tiltmeter.http_client.client import Client
from tiltmeter.options import ChatOptions
from tiltmeter.translators import open_translator

SERVED = "openai:m@http://127.0.0.1:1/v1"
CHAT = "chat:m@http://127.0.0.1:1/v1"
IDLE: dict[str, tuple[Any, ...]] = {
    "local-concurrency": (["embedded", "--concurrency", "4"], "--concurrency is for", "server"),
    "local-per-minute": (["embedded", "--per-minute", "4"], "--per-minute is for", "server"),
    "local-timeout": (["embedded", "--timeout", "4"], "--timeout is for", "server"),
    "local-beams": (["embedded", "--beams", "4"], "--beams is for", "translation systems"),
    "local-system": (["embedded", "--system", "Mine"], "--system is for", "translation systems"),
    "local-gender": (["embedded", "--gender-from", "stanza"], "--gender-from is for", "translation systems"),
    "local-yes": (["embedded", "--yes"], "--yes is for", "translation systems"),
    "served-device": ([SERVED, "--device", "cpu"], "--device is for", "on this machine"),
    "served-dtype": ([SERVED, "--dtype", "float32"], "--dtype is for", "on this machine"),
    "served-kind": ([SERVED, "--kind", "causal"], "--kind is for", "on this machine"),
    "served-batch": ([SERVED, "--batch-tokens", "64"], "--batch-tokens is for", "on this machine"),
    "served-quantize": ([SERVED, "--quantize", "4bit"], "--quantize is for", "on this machine"),
    "served-split": ([SERVED, "--split"], "--split is for", "on this machine"),
    "served-plain": ([SERVED, "--plain"], "--plain is for", "on this machine"),
    "chat-tokenizer": ([CHAT, "--tokenizer", "gpt2"], "--tokenizer is for"),
    "chat-tokens": ([CHAT, "--keep-tokens"], "Chat models", "tokens"),
    "translator-kind": (
        ["--translator", "deepl", "--on", "gest-mt:sk", "--kind", "causal"],
        "--kind is for",
        "language models",
    ),
    "translator-protocol": (
        ["--translator", "deepl", "--on", "gest-mt:sk", "--protocol", "in-context"],
        "--protocol is for",
        "language models",
    ),
    "translator-plain": (
        ["--translator", "deepl", "--on", "gest-mt:sk", "--plain"],
        "--plain is for",
        "language models",
    ),
    "translator-samples": (
        ["--translator", "deepl", "--on", "gest-mt:sk", "--samples", "3"],
        "--samples is for",
        "language models",
    ),
    "translator-beams": (["--translator", "deepl", "--on", "gest-mt:sk", "--beams", "3"], "deepl", "--beams"),
    "file-beams": (
        ["--translations", "none.csv", "--system", "S", "--on", "gest-mt:sk", "--beams", "3"],
        "--beams is for translating",
        "--translations",
    ),
    "file-device": (
        ["--translations", "none.csv", "--system", "S", "--on", "gest-mt:sk", "--device", "cpu"],
        "--device is for translating",
        "--translations",
    ),
    "no-edition": (
        ["--translations", "none.csv", "--system", "S", "--on", "mt-geneval:es", "--edition", "1.0"],
        "--edition",
        "gest-mt",
        "mt-geneval:es",
    ),
}


@pytest.mark.parametrize("name", IDLE)
def test_an_option_without_effect_is_an_error(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words, *parts = IDLE[name]
    assert command(monkeypatch, "run", *words) == 2
    error = capsys.readouterr().err
    assert_mentions(error, *parts)
    assert error.count("\n") == 1


@pytest.mark.parametrize("system", ["amazon", "deepl", "google", "apertium:eng-spa", "apy:http://x", "file:x.csv"])
@pytest.mark.parametrize("option", [{"beams": 2}, {"device": "cpu"}, {"dtype": "float32"}, {"trust_remote_code": True}])
def test_options_of_systems_that_have_none(system: str, option: dict[str, object]) -> None:
    (name,) = option
    with raises_mentioning(UsageError, system.partition(":")[0], f"--{name.replace('_', '-')}"):
        open_translator(system, **option)  # type: ignore[arg-type]


def test_a_password_in_an_address_is_not_shown() -> None:
    with pytest.raises(UsageError) as error:
        open_translator("libretranslate:http://ada:secret@localhost", beams=2)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["temperature", "max_requests", "max_cost", "price_in", "price_out"])
def test_invalid_numbers_are_rejected(name: str, value: float) -> None:
    with raises_mentioning(UsageError, name.replace("_", "-"), f"{value:g}"):
        ChatOptions(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("timeout", [0.0, -1.0, float("nan"), float("inf")])
def test_invalid_timeouts_are_rejected(timeout: float) -> None:
    with raises_mentioning(UsageError, "timeout"):
        Client("http://localhost:1", timeout=timeout)
