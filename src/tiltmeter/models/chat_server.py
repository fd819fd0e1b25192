"""Chat models behind a server: `/chat/completions` as OpenAI, vLLM and many others serve it."""

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from tiltmeter.errors import ModelError
from tiltmeter.models.client import Client, Request
from tiltmeter.models.endpoint import MISSING, read_api_key
from tiltmeter.models.model_protocol import ModelOptions
from tiltmeter.questions import ChatQuestion, Reply, SamplingOptions

# What servers call a request that their filter stops: Azure, OpenAI, OpenRouter and others.
_FILTERED = re.compile(r"content[ _-]?(?:filter|policy|management policy)|responsibleaipolicy|moderation|flagged", re.I)
_TOO_LONG = re.compile(r"context (?:length|window|size)|max_model_len|too many tokens", re.IGNORECASE)
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


@dataclass(kw_only=True)
class ServedChat:
    """A served chat model (see `tiltmeter.models.model_protocol.ChatModel`)."""

    name: str
    served: str
    client: Client
    # A server can exchange its model between two requests.
    can_change: bool = field(default=True, init=False)
    requests_sent: int = field(default=0, init=False)
    # What the server calls the limit of new tokens, and how many log-probabilities it gives.
    _limit: str = field(default="max_tokens", init=False)
    _top: int = field(default=20, init=False)
    _seeds: bool = field(default=True, init=False)

    def chat_fingerprint(self, sampling: SamplingOptions) -> str:
        """The address, the served model and the settings of sampling: a server tells no more of itself."""
        identity = ["chat server", self.client.public_address, self.served, *_describe_sampling(sampling)]
        return hashlib.sha256("\n".join(identity).encode()).hexdigest()

    def describe(self) -> dict[str, Any]:
        """What the manifest says of it."""
        return {
            "kind": "chat",
            "endpoint": self.client.public_address,
            "served": self.served,
            "requests": self.requests_sent,
        }

    def tokens(self, prompt: str) -> int:
        """An estimate, since the server's tokenizer is not known."""
        return estimate_tokens(prompt)

    def stream_replies(
        self, questions: Sequence[ChatQuestion], sampling: SamplingOptions
    ) -> Iterator[tuple[int, Reply]]:
        """The replies as they come. The first question is sent alone, to learn what the server understands."""
        if not questions:
            return
        first = [(0, self._first(questions[0], sampling))]
        others = self._send_others(questions[1:], sampling)
        for index, reply in chain(first, others):
            self.requests_sent += 1
            read = self._read(reply, sampling)
            yield index, read

    def _send_others(self, questions: Sequence[ChatQuestion], sampling: SamplingOptions) -> Iterator[tuple[int, Any]]:
        for together in self.client.stream_replies(self._build_request(question, sampling) for question in questions):
            yield from ((index + 1, reply) for index, reply in together)

    def close(self) -> None:
        """Nothing is kept open between requests."""

    def _first(self, question: ChatQuestion, sampling: SamplingOptions) -> Any:
        while True:
            try:
                return self.client.ask(self._build_request(question, sampling))
            except ModelError as refusal:
                if not self._relax_request(str(refusal), sampling):
                    raise

    def _relax_request(self, message: str, sampling: SamplingOptions) -> bool:
        """Ask in another way from now on, if the server's message says that it takes no such request."""
        if "max_completion_tokens" in message and self._limit == "max_tokens":
            self._limit = "max_completion_tokens"
            return True
        if "top_logprobs" in message and self._top == 20:
            self._top = 5
            return True
        if "seed" in message and sampling.temperature and self._seeds:
            self._seeds = False
            return True
        if "temperature" in message and not (sampling.temperature or sampling.probabilities):
            raise ModelError(
                f"{message} It takes no temperature of 0: give --temperature 1, and --samples for several answers to "
                "each message."
            )
        return False

    def _build_request(self, question: ChatQuestion, sampling: SamplingOptions) -> Request:
        body: dict[str, Any] = {
            "model": self.served,
            "messages": [{"role": "user", "content": question.prompt}],
            "temperature": sampling.temperature,
            self._limit: sampling.max_tokens,
        }
        if sampling.probabilities:
            # Some servers give log-probabilities after dividing by the temperature.
            body |= {"temperature": 1, self._limit: 1, "logprobs": True, "top_logprobs": self._top}
        elif sampling.temperature and self._seeds:
            body["seed"] = question.sample
        return Request("/chat/completions", body)

    def _read(self, reply: Any, sampling: SamplingOptions) -> Reply:
        if isinstance(reply, Mapping) and _TOO_LONG_REPLY in reply:
            return Reply("", too_long=str(reply[_TOO_LONG_REPLY]))
        try:
            choice = reply["choices"][0]
            message = choice["message"]
            text, refusal = _read_text(message.get("content")), _read_text(message.get("refusal"))
            tokens = _read_first_tokens(choice) if sampling.probabilities else ()
            usage = reply.get("usage") or {}
        except (LookupError, TypeError, AttributeError) as error:
            raise ModelError(
                f"The server at {self.client.public_address} does not reply as /chat/completions does; check the "
                "address."
            ) from error
        refused = bool(refusal) or choice.get("finish_reason") == "content_filter"
        if sampling.probabilities and not tokens and not refused:
            raise ModelError(
                f"The server at {self.client.public_address} gives no log-probabilities of its answers (`logprobs`); "
                "leave out --protocol choice-probabilities."
            )
        return Reply(
            text or refusal,
            refused=refused,
            first_tokens=tokens,
            tokens_in=_read_count(usage.get("prompt_tokens")),
            tokens_out=_read_count(usage.get("completion_tokens")),
            model=str(reply.get("model") or ""),
            cut=choice.get("finish_reason") == "length",
        )


def _build_refusal_reply(status: int, content: Any) -> dict[str, Any] | None:
    """A refused request as a reply: if a filter of contents has stopped it, and if it is too long for the model."""
    told = json.dumps(content, ensure_ascii=False)
    if status in (400, 403, 422, 451) and _FILTERED.search(told):
        return {"choices": [{"message": {"refusal": "(stopped by the server's content filter)"}}]}
    if status in (400, 413, 422) and _TOO_LONG.search(told):
        return {_TOO_LONG_REPLY: told[:300]}
    return None


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


def _read_count(value: Any) -> int | None:
    return value if isinstance(value, int) else None


def open_served_chat(served: str, address: str, options: ModelOptions) -> ServedChat:
    """The model of a name such as `chat:MODEL@http://host:8000/v1`."""
    client = Client(
        address,
        key=read_api_key(),
        concurrency=options.concurrency,
        per_minute=options.per_minute,
        timeout=options.timeout,
        excused=_build_refusal_reply,
    )
    return ServedChat(name=f"chat:{served}@{client.public_address}", served=served, client=client)
