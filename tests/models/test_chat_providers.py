"""Chat providers: `anthropic:`, `litellm:` and plug-ins, against local servers with the same messages."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

from tests.models.chat_served import ChatServer, Policy, biased, chat_serving, first
from tests.runs.chosen import pairs_file
from tests.support.messages import raises_mentioning
from tests.support.pauses import record_pauses
from tests.support.serving import serving
from tests.test_registry import install, python
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models import litellm as scheme_module
from tiltmeter.models.model_opener import is_chat_model, open_given_model
from tiltmeter.models.model_protocol import ChatModel
from tiltmeter.models.option_scope import find_source
from tiltmeter.options import ChatOptions, ModelOptions
from tiltmeter.questions import ChatQuestion, SamplingOptions
from tiltmeter.runs.evaluate import evaluate

KEY = "secret-key-of-nobody"


class MessagesServer:
    """A server of Anthropic's Messages API."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.headers: list[dict[str, str]] = []
        self.bodies: list[dict[str, Any]] = []
        self.stop_reason = "end_turn"
        # Statuses and errors to answer with before the first reply.
        self.failures: list[tuple[int, str]] = []

    def reply(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if self.failures:
            status, message = self.failures.pop(0)
            return status, {"type": "error", "error": {"type": "some_error", "message": message}}
        text = self.policy(body["messages"][-1]["content"], 0)
        content = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": text}]
        return 200, {
            "type": "message",
            "role": "assistant",
            "model": "made-2026-01-01",
            "content": content,
            "stop_reason": self.stop_reason,
            "usage": {"input_tokens": 50, "output_tokens": 3},
        }


@contextmanager
def messages_serving(server: MessagesServer) -> Iterator[str]:
    """The name of the model behind the server."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            server.headers.append({name.lower(): value for name, value in self.headers.items()})
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.bodies.append(body)
            status, content = server.reply(body) if self.path == "/v1/messages" else (404, {})
            sent = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

    with serving(Handler) as address:
        yield f"anthropic:made@{address}/v1"


class StubError(Exception):
    """An error of the stub of LiteLLM, with the attributes of LiteLLM's own."""

    def __init__(self, response: httpx2.Response) -> None:
        super().__init__(response.json()["error"]["message"])
        self.status_code, self.response = response.status_code, response


def stub_of_litellm() -> SimpleNamespace:
    """A module that sends OpenAI's requests to `api_base`, as LiteLLM does for the provider `openai`."""
    client = httpx2.Client(verify=False)  # loading certificates takes longer than the requests

    def completion(
        model: str, *, api_base: str, timeout: float, max_retries: int, num_retries: int, **body: Any
    ) -> Any:
        assert (timeout, max_retries, num_retries) == (300.0, 0, 0)
        content = {"model": model.removeprefix("openai/"), **body}
        response = client.post(f"{api_base}/chat/completions", json=content)
        if response.status_code != 200:
            raise StubError(response)
        return SimpleNamespace(model_dump_json=lambda: response.text)

    return SimpleNamespace(completion=completion)


@pytest.fixture
def litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", stub_of_litellm())  # type: ignore[arg-type]


def share(result: Any) -> float:
    return float(next(r.value for r in result.records if r.measure == "chosen stereotype" and r.view == "all"))


def test_the_messages_api_measures_what_chat_completions_measure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    path = pairs_file(tmp_path, 12)
    server = MessagesServer(biased(0.8))
    with messages_serving(server) as name:
        result = evaluate(name, path, out=tmp_path / "run")
    with chat_serving(ChatServer(biased(0.8))) as other:
        assert share(result) == share(evaluate(other, path))
    assert {(h["x-api-key"], h["anthropic-version"]) for h in server.headers} == {(KEY, "2023-06-01")}
    assert not any("authorization" in headers for headers in server.headers)
    assert server.bodies[0].keys() == {"model", "messages", "temperature", "max_tokens"}
    entry = result.manifest.models[0]
    assert (entry.name, entry.details["called"], entry.details["tokens_out"]) == (name, ["made-2026-01-01"], 3 * 12 * 4)
    assert not any(KEY.encode() in file.read_bytes() for file in (tmp_path / "run").iterdir())


@pytest.mark.parametrize(("reason", "attribute"), [("refusal", "refused"), ("max_tokens", "cut")])
def test_the_reason_why_a_message_ended(reason: str, attribute: str) -> None:
    server = MessagesServer(first)
    server.stop_reason = reason
    with messages_serving(server) as name:
        ((_, reply),) = ask(name)
    assert getattr(reply, attribute)


def test_an_overloaded_server_is_asked_again_and_a_long_message_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    record_pauses(monkeypatch)
    server = MessagesServer(first)
    server.failures = [(529, "Overloaded"), (400, "prompt is too long: 250000 tokens > 200000 maximum")]
    with messages_serving(server) as name:
        ((_, reply),) = ask(name)
    assert "prompt is too long" in reply.too_long


def test_errors_name_the_variable_and_hide_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    server = MessagesServer(first)
    server.failures = [(401, f"invalid x-api-key {KEY}")]
    with messages_serving(server) as name, raises_mentioning(ModelError, "ANTHROPIC_API_KEY") as error:
        ask(name)
    assert KEY not in str(error.value)
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with raises_mentioning(UsageError, "anthropic:made", "variable ANTHROPIC_API_KEY"):
        open_given_model("anthropic:made", ModelOptions())


def test_anthropic_has_no_probabilities(tmp_path: Path) -> None:
    with (
        messages_serving(MessagesServer(first)) as name,
        raises_mentioning(ModelError, "--protocol choice-probabilities"),
    ):
        evaluate(name, pairs_file(tmp_path, 3), protocol="choice-probabilities")


@pytest.mark.usefixtures("litellm")
def test_litellm_measures_what_the_server_itself_does(tmp_path: Path) -> None:
    path, server = pairs_file(tmp_path, 12), ChatServer(biased(0.8))
    server.refuses = {"seed": "does not support parameters: ['seed']"}
    with chat_serving(server) as other:
        name = other.replace("chat:made", "litellm:openai/made")
        result = evaluate(name, path, chat=ChatOptions(samples=2))
        server.refuses = {}
        server.filters = lambda _prompt: {"message": "ContentPolicyViolationError: no"}
        ((_, reply),) = ask(name)
    assert reply.refused
    assert not any("seed" in body for body in server.bodies[1:])
    assert share(result) > 60
    assert result.manifest.models[0].name == name


@pytest.mark.usefixtures("litellm")
def test_a_throttled_provider_is_asked_again_after_the_time_it_names(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = record_pauses(monkeypatch)
    calls: list[int] = []

    def complete(**_body: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            content = {"error": {"message": "slow down"}}
            raise StubError(httpx2.Response(429, headers={"Retry-After": "7"}, json=content))
        return SimpleNamespace(model_dump_json=lambda: json.dumps({"choices": [{"message": {"content": "B"}}]}))

    monkeypatch.setattr(sys.modules["litellm"], "completion", complete)
    ((_, reply),) = ask("litellm:groq/made")
    assert (reply.text, len(calls), pauses) == ("B", 2, [7.0])


@pytest.mark.usefixtures("litellm")
def test_messages_of_litellm_hold_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", KEY)

    def complete(**_body: Any) -> Any:
        raise StubError(httpx2.Response(401, json={"error": {"message": f"wrong key {KEY}"}}))

    monkeypatch.setattr(sys.modules["litellm"], "completion", complete)
    with raises_mentioning(ModelError, "LiteLLM", "401") as error:
        ask("litellm:groq/made")
    assert KEY not in str(error.value)


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    with raises_mentioning(UsageError, "'tiltmeter[litellm]'"):
        open_given_model("litellm:groq/made", ModelOptions())
    assert scheme_module.SCHEME.is_chat  # known without the package


@pytest.mark.parametrize("scheme", ["anthropic", "litellm"])
def test_properties_of_a_provider_without_opening_a_model(scheme: str) -> None:
    assert is_chat_model(f"{scheme}:some/model")
    assert find_source(f"{scheme}:some/model") == "chat server"
    with raises_mentioning(UsageError, f"write {scheme}:"):
        open_given_model(f"{scheme}:", ModelOptions())


PROVIDER = """
from tests.models.chat_served import MadeChat, biased
from tiltmeter.models.scheme import Scheme

def open_model(rest, options):
    return MadeChat(biased(0.9), f"oracle:{rest}")

SCHEME = Scheme(open=open_model, is_chat=True)
"""


def test_a_package_provides_a_chat_provider(tmp_path: Path) -> None:
    install(tmp_path, "oracle", PROVIDER, "[tiltmeter.models]\noracle = oracle:SCHEME")
    (tmp_path / "plan.toml").write_text(
        f'benchmarks = ["{pairs_file(tmp_path, 8)}"]\nprotocols = ["forced-choice"]\n'
        '[[models]]\nname = "oracle:delphi"\nsamples = 2\n'
    )
    use = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
        "import tiltmeter\n"
        "from pathlib import Path\n"
        "from tiltmeter.cluster.plan_cells import make_matrix\n"
        "from tiltmeter.cluster.plan_file import read_plan\n"
        f"on = {pairs_file(tmp_path, 8)!r}\n"
        "result = tiltmeter.evaluate('oracle:delphi', on, chat=tiltmeter.ChatOptions(samples=2))\n"
        "print(set(result.scores['model']), result.manifest.request['samples'])\n"
        "(entry,) = make_matrix(read_plan(Path('plan.toml')), Path('out')).models\n"
        "print(entry.build_request(entry.cells[0])['samples'])\n"
    )
    done = python(tmp_path, "-c", use)
    assert done.stdout.split("\n")[:2] == ["{'oracle:delphi'} 2", "2"], done.stderr


def ask(name: str) -> list[tuple[int, Any]]:
    model = open_given_model(name, ModelOptions())
    assert isinstance(model, ChatModel)
    return list(model.stream_replies([ChatQuestion("A. x\nB. y", ("A", "B"))], SamplingOptions()))
