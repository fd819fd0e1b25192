"""Messages for models on the hub that need a login or an accepted licence."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest
from huggingface_hub import constants

from tests.support.command import command
from tests.support.messages import raises_mentioning
from tests.support.serving import serving
from tiltmeter.errors import ModelError
from tiltmeter.models.checkpoint import find_checkpoint
from tiltmeter.models.checkpoint_model import load_tokenizer

TOKEN = "hf_averysecrettoken"


class Hub(BaseHTTPRequestHandler):
    """Answers as the hub does: `gated` models need a token of an account that has access, `none` is not there."""

    def do_GET(self) -> None:
        token = self.headers.get("Authorization")
        if "expired" in (token or ""):
            self._refuse(401, "", "Invalid credentials in Authorization header")
        elif "/gated/" in self.path:
            self._refuse(403 if token else 401, "GatedRepo", f"Access to {self.path} is restricted. {token}")
        else:
            self._refuse(404 if token else 401, "RepoNotFound", "Repository not found")

    do_HEAD = do_GET  # noqa: N815

    def _refuse(self, status: int, code: str, message: str) -> None:
        self.send_response(status)
        if code:
            self.send_header("X-Error-Code", code)
        self.send_header("X-Error-Message", message)
        self.send_header("Content-Length", "0")
        self.end_headers()


@pytest.fixture(autouse=True)
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(Hub) as address:
        monkeypatch.setattr(constants, "ENDPOINT", address)
        monkeypatch.setattr(
            constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}"
        )
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", "/nowhere/token")
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path_factory.mktemp("hub")))
        monkeypatch.delenv("HF_TOKEN", raising=False)
        monkeypatch.delenv("HUGGING_FACE_HUB_TOKEN", raising=False)
        yield address


def test_a_gated_model_without_a_login(hub: str) -> None:
    with raises_mentioning(ModelError, "gated/model@v1", f"{hub}/gated/model,", "hf auth login", "HF_TOKEN") as caught:
        find_checkpoint("gated/model@v1")
    assert "\n" not in str(caught.value)


def test_a_gated_model_with_a_token_that_has_no_access(hub: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with raises_mentioning(ModelError, "gated/model", "your token") as caught:
        find_checkpoint("gated/model")
    assert f"{hub}/gated/model" in str(caught.value)
    assert TOKEN not in str(caught.value)


def test_a_token_that_is_not_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_expired")
    with raises_mentioning(ModelError, "accept your token", "hf auth login"):
        find_checkpoint("some/model")


@pytest.mark.parametrize(("token", "words"), [(None, "hf auth login"), (TOKEN, "your token")])
def test_a_model_that_is_private_or_not_there(token: str | None, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if token:
        monkeypatch.setenv("HF_TOKEN", token)
    with raises_mentioning(ModelError, "some/model", words):
        find_checkpoint("some/model")


def test_a_gated_tokenizer(hub: str) -> None:
    with raises_mentioning(ModelError, "my-model", f"{hub}/gated/tokenizer"):
        load_tokenizer("my-model", False, {"pretrained_model_name_or_path": "gated/tokenizer"})


def test_the_command_prints_no_token(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert command(monkeypatch, "--debug", "run", "gated/model", "--on", "starter:en", "--device", "cpu") == 2
    printed = "".join(capsys.readouterr())
    assert "gated/model is gated" in printed
    assert TOKEN not in printed
