"""Chat models on a server, and the API `/chat/completions` of OpenAI, vLLM and others."""

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
from tiltmeter.models.chat_variant import ChatVariant, split_thinking
from tiltmeter.models.endpoint import MISSING
from tiltmeter.models.server_client import open_client
from tiltmeter.options import ModelOptions
from tiltmeter.questions import ChatQuestion, Reply, SamplingOptions

# Words in the error messages of servers (Azure, OpenAI, OpenRouter and others) whose content filter stopped a request.
_FILTERED = re.compile(r"content[ _-]?(?:filter|policy|management policy)|responsibleaipolicy|moderation|flagged", re.I)
_TOO_LONG = re.compile(
    r"context ?(?:length|window|size)|max_model_len|too many tokens|prompt is too long", re.IGNORECASE
)
# Words in the error messages of servers that do not support a JSON schema.
_SCHEMA = re.compile(r"response_format|json_schema|structured output|guided|grammar", re.IGNORECASE)
# If a message is too long for the model, the server's error is replaced by a reply with this key.
_TOO_LONG_REPLY = "tiltmeter: the message is too long"
# Estimated number of tokens that the chat template adds to a message.
_TEMPLATE_TOKENS = 12
_CHARACTERS_PER_TOKEN = 3.0
_NO_VARIANT = ChatVariant()
_LATIN = re.compile(r"[\u0000-\u024f]")


def estimate_tokens(prompt: str) -> int:
    """Return an upper estimate of the number of tokens of a message, including its chat template.

    The estimate is one token per three Latin characters and one per other character, plus `_TEMPLATE_TOKENS`.

    >>> estimate_tokens("Tea or water?")
    17
    """
    latin = len(_LATIN.findall(prompt))
    return _TEMPLATE_TOKENS + math.ceil(latin / _CHARACTERS_PER_TOKEN) + len(prompt) - latin


class ChatDialect(Protocol):
    """The requests and replies of one type of chat server."""

    # The path of the API below the server's address.
    path: str

    variant: ChatVariant

    def build_request(self, model: str, question: ChatQuestion, sampling: SamplingOptions) -> Request:
        """Return the request that asks for the reply to a message."""

    def relax_request(self, message: str, sampling: SamplingOptions) -> bool:
        """Change later requests so that they avoid this error of the server; return False if no change is possible."""

    def parse_reply(self, reply: Any, sampling: SamplingOptions) -> Reply:
        """Return the reply that the server's JSON contains.

        Raises a LookupError, TypeError or AttributeError if the JSON has another structure.
        """


@dataclass(kw_only=True)
class ServedChat:
    """A chat model on a server (see `tiltmeter.models.model_protocol.ChatModel`)."""

    name: str
    served: str
    client: Client
    dialect: ChatDialect
    # The server may replace the model between two requests, so the run repeats messages and compares the replies.
    can_change: bool = field(default=True, init=False)
    requests_sent: int = field(default=0, init=False)

    @property
    def variant(self) -> ChatVariant:
        """The system prompt and the thinking of the model."""
        return self.dialect.variant

    @property
    def thinking_tokens(self) -> int:
        """The number of tokens that a reply may have for thinking, in addition to those of the answer."""
        return int(getattr(self.dialect, "thinking_tokens", self.variant.thinking_tokens or 0))

    def chat_fingerprint(self, sampling: SamplingOptions) -> str:
        """Return a hash of the server's address, the name of the model and the sampling settings."""
        identity = ["chat server", self.client.public_address, self.served, *_describe_sampling(sampling)]
        identity += self.variant.fingerprint_parts
        return hashlib.sha256("\n".join(identity).encode()).hexdigest()

    def describe(self) -> dict[str, Any]:
        """Return the model's entry in the manifest of a run."""
        return {
            "kind": "chat",
            "endpoint": self.client.public_address or self.client.service,
            "served": self.served,
            **self.variant.describe(),
            "requests": self.requests_sent,
        }

    def tokens(self, prompt: str) -> int:
        """Return an estimated number of tokens, because the server's tokenizer is unknown."""
        system = self.variant.system_message
        return estimate_tokens(prompt) + (estimate_tokens(system) if system else 0)

    def stream_replies(
        self, questions: Sequence[ChatQuestion], sampling: SamplingOptions
    ) -> Iterator[tuple[int, Reply]]:
        """Yield the index of each question and its reply, as replies arrive.

        The first question is sent alone, to find out which request options the server accepts.
        """
        if not questions:
            return
        if sampling.probabilities and self.variant.thinking:
            raise ModelError(
                f"{self.name} thinks before it replies, so its first token is not a choice; omit --thinking."
            )
        first = [(0, self._ask_first_message(questions[0], sampling))]
        for index, reply in chain(first, self._ask_other_messages(questions[1:], sampling)):
            self.requests_sent += 1
            yield index, self._parse_reply(reply, sampling)

    def close(self) -> None:
        """Do nothing, because no connection stays open between requests."""

    def _ask_first_message(self, question: ChatQuestion, sampling: SamplingOptions) -> Any:
        while True:
            try:
                return self.client.send_request(self.dialect.build_request(self.served, question, sampling))
            except ModelError as refusal:
                message = str(refusal)
                if not self.dialect.relax_request(message, sampling):
                    if "temperature" in message and not (sampling.temperature or sampling.probabilities):
                        raise ModelError(
                            f"{message} The server accepts no temperature of 0: use --temperature 1, with --samples "
                            "for several replies to each message."
                        ) from refusal
                    raise

    def _ask_other_messages(
        self, questions: Sequence[ChatQuestion], sampling: SamplingOptions
    ) -> Iterator[tuple[int, Any]]:
        requests = (self.dialect.build_request(self.served, question, sampling) for question in questions)
        for together in self.client.stream_replies(requests):
            yield from ((index + 1, reply) for index, reply in together)

    def _parse_reply(self, reply: Any, sampling: SamplingOptions) -> Reply:
        if isinstance(reply, Mapping) and _TOO_LONG_REPLY in reply:
            return Reply("", too_long=str(reply[_TOO_LONG_REPLY]))
        try:
            found = self.dialect.parse_reply(reply, sampling)
        except (LookupError, TypeError, AttributeError) as error:
            raise ModelError(
                f"{self.client.label} does not reply in the format of {self.dialect.path}; check the address."
            ) from error
        if sampling.probabilities and not found.first_tokens and not found.refused:
            raise ModelError(
                f"{self.client.label} returns no log-probabilities (`logprobs`) with its replies; omit --protocol "
                "choice-probabilities."
            )
        return found


class ChatCompletions:
    """Requests to `/chat/completions` and their replies, for OpenAI, vLLM and many other servers."""

    path = "/chat/completions"

    def __init__(self, variant: ChatVariant = _NO_VARIANT, *, has_templates: bool = True) -> None:
        """Set the variant of the model; `has_templates` says whether the server may accept `chat_template_kwargs`."""
        self.variant = variant
        # vLLM and SGLang pass `chat_template_kwargs` to the template; hosted models have `reasoning_effort` instead.
        self._thinking_name = "chat_template_kwargs" if has_templates else "reasoning_effort"
        # `relax_request` changes these attributes if the server does not accept them.
        self._limit_name, self._top_logprobs, self._sends_seed, self._sends_schema = "max_tokens", 20, True, True

    def build_request(self, model: str, question: ChatQuestion, sampling: SamplingOptions) -> Request:
        """Return the request that asks for the reply to a message."""
        body: dict[str, Any] = {
            "model": model,
            "messages": self.variant.build_messages(question.prompt),
            "temperature": sampling.temperature,
            self._limit_name: self.variant.compute_reply_limit(sampling.max_tokens),
            **self._build_thinking(),
        }
        if sampling.probabilities:
            # The temperature is 1, because some servers divide the logits by it before they compute log-probabilities.
            body |= {"temperature": 1, self._limit_name: 1, "logprobs": True, "top_logprobs": self._top_logprobs}
        elif sampling.temperature and self._sends_seed:
            body["seed"] = question.sample
        if question.schema is not None and self._sends_schema:
            schema = {"name": "reply", "strict": True, "schema": dict(question.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return Request(self.path, body)

    def relax_request(self, message: str, sampling: SamplingOptions) -> bool:
        """Rename the token limit, request fewer log-probabilities, or omit the seed or the schema in later requests.

        The error message decides which of these is changed; returns False if the message names none of them.
        """
        if "max_completion_tokens" in message and self._limit_name == "max_tokens":
            self._limit_name = "max_completion_tokens"
        elif "top_logprobs" in message and self._top_logprobs == 20:
            self._top_logprobs = 5
        elif self._thinking_name in message and self._thinking_name == "chat_template_kwargs":
            self._thinking_name = "reasoning_effort"
        elif "seed" in message and sampling.temperature and self._sends_seed:
            self._sends_seed = False
        elif _SCHEMA.search(message) and self._sends_schema:
            self._sends_schema = False
        else:
            return False
        return True

    def _build_thinking(self) -> dict[str, Any]:
        """Return the part of a request that turns thinking on or off; empty if the variant does not set it."""
        thinking = self.variant.thinking
        if thinking is None:
            return {}
        if self._thinking_name == "chat_template_kwargs":
            return {self._thinking_name: {"enable_thinking": thinking}}
        return {self._thinking_name: "medium" if thinking else "none"}

    def parse_reply(self, reply: Any, sampling: SamplingOptions) -> Reply:
        """Return the first choice in the server's JSON as a reply."""
        choice = reply["choices"][0]
        message = choice["message"]
        content, refusal = _read_text(message.get("content")), _read_text(message.get("refusal"))
        # A server with a reasoning parser returns the thinking in a field of its own; otherwise it is in the content.
        reasoning = _read_text(message.get("reasoning_content") or message.get("reasoning"))
        is_cut = choice.get("finish_reason") == "length"
        # A model that was cut off before the end of its thinking gives no answer, even if the server adds no marks.
        is_open = is_cut and bool(self.variant.thinking)
        thinking, text = (reasoning, content) if reasoning else split_thinking(content, is_open=is_open)
        tokens = _read_first_tokens(choice) if sampling.probabilities else ()
        usage = reply.get("usage") or {}
        return Reply(
            text or refusal,
            refused=bool(refusal) or choice.get("finish_reason") == "content_filter",
            first_tokens=tokens,
            tokens_in=parse_count(usage.get("prompt_tokens")),
            tokens_out=parse_count(usage.get("completion_tokens")),
            model=str(reply.get("model") or ""),
            cut=is_cut,
            thinking=thinking,
        )


def build_refusal_reply(status: int, content: Any) -> dict[str, Any] | None:
    """Return a reply that replaces a server's error if a content filter stopped the message or the message is too long.

    Returns None for other errors.
    """
    error = json.dumps(content, ensure_ascii=False)
    if status in (400, 403, 422, 451) and _FILTERED.search(error):
        return {"choices": [{"message": {"refusal": "(stopped by the server's content filter)"}}]}
    return build_too_long_reply(status, content)


def build_too_long_reply(status: int, content: Any) -> dict[str, Any] | None:
    """Return a reply that replaces a server's error, if the message is too long; None for other errors."""
    error = json.dumps(content, ensure_ascii=False)
    return {_TOO_LONG_REPLY: error[:300]} if status in (400, 413, 422) and _TOO_LONG.search(error) else None


def _describe_sampling(sampling: SamplingOptions) -> list[str]:
    if sampling.probabilities:
        return ["probabilities"]
    return [f"temperature {sampling.temperature:g}", f"max_tokens {sampling.max_tokens}"]


def _read_text(content: Any) -> str:
    """Return the text of a message; its content may be a text, a list of parts or null."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    if not isinstance(content, str | None):
        raise TypeError(f"{content!r} is not a text")
    return content or ""


def _read_first_tokens(choice: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
    """Return the most probable first tokens with their log-probabilities; tokens of probability zero are left out."""
    entries = (choice.get("logprobs") or {}).get("content") or []
    if not entries:
        return ()
    tops = entries[0].get("top_logprobs") or [entries[0]]
    return tuple((str(top["token"]), float(top["logprob"])) for top in tops if float(top["logprob"]) > MISSING)


def parse_count(value: Any) -> int | None:
    """Return a number of tokens from the server's JSON; None if the value is not an integer."""
    return value if isinstance(value, int) else None


def open_served_chat(served: str, address: str, options: ModelOptions) -> ServedChat:
    """Open a model on a server with `/chat/completions`; an example of `address` is `http://localhost:8000/v1`."""
    client = open_client(address, options, excused=build_refusal_reply)
    variant = ChatVariant.from_options(options)
    name = f"chat:{served}@{client.public_address}{variant.suffix}"
    return ServedChat(name=name, served=served, client=client, dialect=ChatCompletions(variant))
