"""Chat models behind a server, and `/chat/completions` as OpenAI, vLLM and many others serve it."""

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Protocol

from tiltmeter.errors import ModelError
from tiltmeter.http_client.client import Client, Request
from tiltmeter.models.endpoint import MISSING
from tiltmeter.models.server_client import open_client
from tiltmeter.options import ModelOptions
from tiltmeter.questions import ChatQuestion, Reply, SamplingOptions

# What servers call a request that their filter stops: Azure, OpenAI, OpenRouter and others.
_FILTERED = re.compile(r"content[ _-]?(?:filter|policy|management policy)|responsibleaipolicy|moderation|flagged", re.I)
_TOO_LONG = re.compile(
    r"context ?(?:length|window|size)|max_model_len|too many tokens|prompt is too long", re.IGNORECASE
)
# The key of a reply that stands for such a refusal.
_TOO_LONG_REPLY = "tiltmeter: the message is too long"
# Tokens that frame a message.
_FRAME = 12
_CHARACTERS_PER_TOKEN = 3.0
_LATIN = re.compile(r"[\u0000-\u024f]")


def estimate_tokens(prompt: str) -> int:
    """The number of tokens of a message, rather too high: three Latin letters, or one of another script, are a token.

    >>> estimate_tokens("Tea or water?")
    17
    """
    latin = len(_LATIN.findall(prompt))
    return _FRAME + math.ceil(latin / _CHARACTERS_PER_TOKEN) + len(prompt) - latin


class ChatDialect(Protocol):
    """The requests and replies of one kind of chat server."""

    # Where messages are sent, below the server's address.
    path: str

    def request(self, model: str, question: ChatQuestion, sampling: SamplingOptions) -> Request:
        """The request for the reply to a message."""

    def relax_request(self, message: str, sampling: SamplingOptions) -> bool:
        """Change later requests after a refusal with this message; False if nothing can be changed."""

    def read(self, reply: Any, sampling: SamplingOptions) -> Reply:
        """The reply in the server's JSON; raises a LookupError, TypeError or AttributeError if it has another form."""


@dataclass(kw_only=True)
class ServedChat:
    """A served chat model (see `tiltmeter.models.model_protocol.ChatModel`)."""

    name: str
    served: str
    client: Client
    dialect: ChatDialect
    # A server can exchange its model between two requests.
    can_change: bool = field(default=True, init=False)
    requests_sent: int = field(default=0, init=False)

    def chat_fingerprint(self, sampling: SamplingOptions) -> str:
        """A hash of the address, the served model and the sampling settings: a server tells no more about itself."""
        identity = ["chat server", self.client.public_address, self.served, *_describe_sampling(sampling)]
        return hashlib.sha256("\n".join(identity).encode()).hexdigest()

    def describe(self) -> dict[str, Any]:
        """The model's entry in the manifest."""
        return {
            "kind": "chat",
            "endpoint": self.client.public_address or self.client.service,
            "served": self.served,
            "requests": self.requests_sent,
        }

    def tokens(self, prompt: str) -> int:
        """An estimate, since the server's tokenizer is not known."""
        return estimate_tokens(prompt)

    def stream_replies(
        self, questions: Sequence[ChatQuestion], sampling: SamplingOptions
    ) -> Iterator[tuple[int, Reply]]:
        """The replies as they come. The first question is sent alone, to find out which requests the server accepts."""
        if not questions:
            return
        first = [(0, self._ask_first_message(questions[0], sampling))]
        for index, reply in chain(first, self._ask_others(questions[1:], sampling)):
            self.requests_sent += 1
            yield index, self._read(reply, sampling)

    def close(self) -> None:
        """Nothing is kept open between requests."""

    def _ask_first_message(self, question: ChatQuestion, sampling: SamplingOptions) -> Any:
        while True:
            try:
                return self.client.ask(self.dialect.request(self.served, question, sampling))
            except ModelError as refusal:
                message = str(refusal)
                if not self.dialect.relax_request(message, sampling):
                    if "temperature" in message and not (sampling.temperature or sampling.probabilities):
                        raise ModelError(
                            f"{message} It takes no temperature of 0: give --temperature 1, and --samples for several "
                            "answers to each message."
                        ) from refusal
                    raise

    def _ask_others(self, questions: Sequence[ChatQuestion], sampling: SamplingOptions) -> Iterator[tuple[int, Any]]:
        requests = (self.dialect.request(self.served, question, sampling) for question in questions)
        for together in self.client.stream_replies(requests):
            yield from ((index + 1, reply) for index, reply in together)

    def _read(self, reply: Any, sampling: SamplingOptions) -> Reply:
        if isinstance(reply, Mapping) and _TOO_LONG_REPLY in reply:
            return Reply("", too_long=str(reply[_TOO_LONG_REPLY]))
        try:
            found = self.dialect.read(reply, sampling)
        except (LookupError, TypeError, AttributeError) as error:
            raise ModelError(
                f"{self.client.label} does not reply as {self.dialect.path} does; check the address."
            ) from error
        if sampling.probabilities and not found.first_tokens and not found.refused:
            raise ModelError(
                f"{self.client.label} gives no log-probabilities of its answers (`logprobs`); leave out --protocol "
                "choice-probabilities."
            )
        return found


class ChatCompletions:
    """`/chat/completions`, as OpenAI, vLLM and many other servers have it."""

    path = "/chat/completions"

    def __init__(self) -> None:
        # The server's name for the limit of new tokens, and the number of log-probabilities that it gives.
        self._limit, self._top = "max_tokens", 20
        self._seeds = True

    def request(self, model: str, question: ChatQuestion, sampling: SamplingOptions) -> Request:
        """The request for the reply to a message."""
        body: dict[str, Any] = {
            "model": model,
            "messages": [{"role": "user", "content": question.prompt}],
            "temperature": sampling.temperature,
            self._limit: sampling.max_tokens,
        }
        if sampling.probabilities:
            # Some servers give log-probabilities after dividing by the temperature.
            body |= {"temperature": 1, self._limit: 1, "logprobs": True, "top_logprobs": self._top}
        elif sampling.temperature and self._seeds:
            body["seed"] = question.sample
        return Request(self.path, body)

    def relax_request(self, message: str, sampling: SamplingOptions) -> bool:
        """Use another name for the limit of tokens, ask for fewer log-probabilities, or send no seed."""
        if "max_completion_tokens" in message and self._limit == "max_tokens":
            self._limit = "max_completion_tokens"
        elif "top_logprobs" in message and self._top == 20:
            self._top = 5
        elif "seed" in message and sampling.temperature and self._seeds:
            self._seeds = False
        else:
            return False
        return True

    def read(self, reply: Any, sampling: SamplingOptions) -> Reply:
        """The first choice of a completion."""
        choice = reply["choices"][0]
        message = choice["message"]
        text, refusal = _read_text(message.get("content")), _read_text(message.get("refusal"))
        tokens = _read_first_tokens(choice) if sampling.probabilities else ()
        usage = reply.get("usage") or {}
        return Reply(
            text or refusal,
            refused=bool(refusal) or choice.get("finish_reason") == "content_filter",
            first_tokens=tokens,
            tokens_in=parse_count(usage.get("prompt_tokens")),
            tokens_out=parse_count(usage.get("completion_tokens")),
            model=str(reply.get("model") or ""),
            cut=choice.get("finish_reason") == "length",
        )


def excuse_refusal(status: int, content: Any) -> dict[str, Any] | None:
    """A reply for a refused request that a content filter stopped or that is too long; None for other refusals."""
    error = json.dumps(content, ensure_ascii=False)
    if status in (400, 403, 422, 451) and _FILTERED.search(error):
        return {"choices": [{"message": {"refusal": "(stopped by the server's content filter)"}}]}
    return excuse_length(status, content)


def excuse_length(status: int, content: Any) -> dict[str, Any] | None:
    """A reply for a request that was refused because it is too long; None for other refusals."""
    error = json.dumps(content, ensure_ascii=False)
    return {_TOO_LONG_REPLY: error[:300]} if status in (400, 413, 422) and _TOO_LONG.search(error) else None


def _describe_sampling(sampling: SamplingOptions) -> list[str]:
    if sampling.probabilities:
        return ["probabilities"]
    return [f"temperature {sampling.temperature:g}", f"max_tokens {sampling.max_tokens}"]


def _read_text(content: Any) -> str:
    """The text of a message, which may come in parts; none of one without content, as of a refusal."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    if not isinstance(content, str | None):
        raise TypeError(f"{content!r} is no text")
    return content or ""


def _read_first_tokens(choice: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
    """The most probable first tokens of the answer; a value that stands for a probability of zero is left out."""
    entries = (choice.get("logprobs") or {}).get("content") or []
    if not entries:
        return ()
    tops = entries[0].get("top_logprobs") or [entries[0]]
    return tuple((str(top["token"]), float(top["logprob"])) for top in tops if float(top["logprob"]) > MISSING)


def parse_count(value: Any) -> int | None:
    """A count of tokens in a reply; None if the server sends none."""
    return value if isinstance(value, int) else None


def open_served_chat(served: str, address: str, options: ModelOptions) -> ServedChat:
    """The model of a name such as `chat:MODEL@http://host:8000/v1`."""
    client = open_client(address, options, excused=excuse_refusal)
    name = f"chat:{served}@{client.public_address}"
    return ServedChat(name=name, served=served, client=client, dialect=ChatCompletions())
