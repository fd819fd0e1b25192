"""Made chat models for tests: behind a server, or in this process; each with a policy that chooses an option."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.support.serving import serving as local_server
from tiltmeter.questions import ChatQuestion, Reply, SamplingOptions

# What a model answers to a message, and which sample it is.
Policy = Callable[[str, int], str]

_OPTION = re.compile(r"^([A-F])\. (.*)$", re.MULTILINE)


def options_of(prompt: str) -> dict[str, str]:
    """The options of a message by label."""
    return dict(_OPTION.findall(prompt))


def first(_prompt: str, _sample: int = 0) -> str:
    return "A"


def refusing(_prompt: str, _sample: int = 0) -> str:
    return "I'm sorry, but I can't choose between these options."


def chance(*key: object) -> float:
    """A number from 0 to 1 that depends on the key alone."""
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:6]) / 2**48


def biased(share: float, seed: int = 0, in_prose: bool = False, about: str = "towards") -> Policy:
    """Choose the option whose text contains `about` with this probability, else one of the others, but no nonsense."""

    def policy(prompt: str, sample: int = 0) -> str:
        options = {label: text for label, text in options_of(prompt).items() if "nonsense" not in text}
        draw = chance(seed, prompt, sample)
        wanted = [label for label, text in options.items() if (about in text) == (draw < share)]
        text = options[wanted[0]]
        return f"Well, {text} seems best to me." if in_prose else wanted[0]

    return policy


@dataclass
class MadeChat:
    """A chat model in this process."""

    policy: Policy
    name: str = "chat:made"
    asked: list[str] = field(default_factory=list)

    def chat_fingerprint(self, sampling: SamplingOptions) -> str:
        return f"{self.name} {sampling}"

    def describe(self) -> dict[str, Any]:
        return {"kind": "chat"}

    def tokens(self, prompt: str) -> int:
        return len(prompt.split())

    def stream_replies(
        self, questions: Sequence[ChatQuestion], sampling: SamplingOptions
    ) -> Iterator[tuple[int, Reply]]:
        for index, question in enumerate(questions):
            self.asked.append(question.prompt)
            yield index, Reply(self.policy(question.prompt, question.sample), tokens_in=10, tokens_out=1)

    def close(self) -> None:
        pass


class ChatServer:
    """A server of chat completions: what it was asked, and in which ways it fails."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.bodies: list[dict[str, Any]] = []
        self.dies_after: int | None = None
        self.refuses: dict[str, str] = {}  # a key of the body, and the message of the refusal
        self.filters: Callable[[str], dict[str, Any] | None] = lambda _prompt: None  # the error of a stopped message
        self.probabilities: dict[str, float] | None = None
        self.answered: list[str] = []
        self.paths: list[str] = []
        self.reply: dict[str, Any] | None = None
        # After so many replies, the server answers by another policy and calls its model by another name.
        self.changes_after: int | None = None
        self.later: Policy = policy
        self.later_name = "made-1"

    def completion(self, body: dict[str, Any]) -> dict[str, Any]:
        prompt = body["messages"][-1]["content"]
        self.answered.append(prompt)
        if self.reply is not None:
            return self.reply
        choice: dict[str, Any] = {"finish_reason": "stop", "message": {"role": "assistant"}}
        is_later = self.changes_after is not None and len(self.answered) > self.changes_after
        choice["message"]["content"] = (self.later if is_later else self.policy)(prompt, body.get("seed", 0))
        if self.probabilities is not None and body.get("logprobs"):
            tops = [{"token": token, "logprob": value} for token, value in self.probabilities.items()]
            choice["logprobs"] = {"content": [{**tops[0], "top_logprobs": tops}]}
        name = self.later_name if is_later else "made-1"
        return {"model": name, "choices": [choice], "usage": {"prompt_tokens": 50, "completion_tokens": 1}}


@contextmanager
def chat_serving(server: ChatServer) -> Iterator[str]:
    """The name of the model behind the server."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.bodies.append(body)
            if server.dies_after is not None and len(server.bodies) > server.dies_after:
                self.close_connection = True
                self.connection.close()
                return
            for key, message in server.refuses.items():
                if key in body:
                    self._send(400, {"error": {"message": message}})
                    return
            if (stopped := server.filters(body["messages"][-1]["content"])) is not None:
                self._send(400, {"error": stopped})
                return
            server.paths.append(self.path)
            self._send(200, server.completion(body))

        def _send(self, status: int, content: dict[str, Any]) -> None:
            sent = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

    with local_server(Handler) as address:
        yield f"chat:made@{address}/v1"
