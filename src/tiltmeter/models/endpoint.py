"""Causal models behind an HTTP server that gives the log-probabilities of a text's tokens.

A dialect (`openai.py`, `sglang.py`, `tgi.py`) implements the requests of one kind of server. This module decides which
texts are sent, checks replies, and computes the fingerprint by which answers are stored.
"""

import hashlib
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np

from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.execution import OnProgress, Progress
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models.checkpoint import find_tokenizer_folder
from tiltmeter.models.client import Client, Request
from tiltmeter.models.confirmation import (
    Confirmation,
    KnownAnswer,
    ServerChangedError,
    UnconfirmedAnswers,
    split_into_windows,
)
from tiltmeter.models.hub_access import build_access_hint
from tiltmeter.models.model_protocol import ModelOptions
from tiltmeter.models.self_test import SelfTestResult, run_self_test
from tiltmeter.models.served_identity import ServedIdentity
from tiltmeter.models.text_plan import TextPlan, TokenEntry
from tiltmeter.models.tokenizer_text import TokenizerText, reject_empty_vocabulary
from tiltmeter.questions import Answer, Ids, Kind, Question

# Servers send -9999 for a probability of zero; values below this mean that there is none.
MISSING = -9000.0
_FLOAT32_ROUNDING = 1e-3


class Dialect(Protocol):
    """The requests and replies of one kind of server."""

    scheme: str

    def request(self, model: str, ids: Ids) -> Request:
        """The request for the log-probability of every token of a text."""

    def relax_request(self) -> bool:
        """Switch to the next-best request after a refusal; False if there is none."""

    def entries(self, reply: Any) -> list[TokenEntry]:
        """The tokens of a reply; raises `BadReplyError` if it lacks them."""

    def about(self, client: Client, model: str) -> dict[str, Any]:
        """The server's information on the model: `id`, and `max_length` if it has it."""


class BadReplyError(Exception):
    """A reply that lacks something; the message says what."""


@dataclass(kw_only=True)
class EndpointModel:
    """A served model (see `tiltmeter.models.model_protocol.Model`)."""

    name: str
    served: str
    dialect: Dialect
    client: Client
    tokenizer: Any
    tokenizer_name: str
    cache: Path | None = None
    noise: float | None = field(default=None, init=False)
    requests_sent: int = field(default=0, init=False)

    kinds: tuple[Kind, ...] = ("causal",)

    @cached_property
    def text(self) -> TokenizerText:
        """The tokenizer that was named."""
        return TokenizerText(self.tokenizer, SimpleNamespace(), "causal")

    @cached_property
    def about(self) -> dict[str, Any]:
        """The server's information on the model."""
        return self.dialect.about(self.client, self.served)

    @property
    def max_length(self) -> int | None:
        """The longest input, in tokens, if the server tells it."""
        longest = self.about.get("max_length")
        return int(longest) if longest else None

    @cached_property
    def _tested(self) -> SelfTestResult:
        """The outcome of the self-test, which refuses a server that would give wrong numbers."""
        outcome = run_self_test(self)
        self.noise = outcome.noise
        return outcome

    @cached_property
    def _identity(self) -> ServedIdentity:
        """The fingerprint: a hash of address, served model, tokenizer, and answers to the probes."""
        names = [self.client.public_address, str(self.about.get("id", self.served)), self.text.digest]
        return ServedIdentity(names, self._tested.values, self.cache)

    @cached_property
    def _confirmation(self) -> Confirmation:
        probes = [KnownAnswer(question, answer) for question, answer in self._tested.probes]
        return Confirmation(self.client.public_address, self.ask, probes)

    def fingerprint(self, kind: Kind) -> str:
        """The key of stored answers: everything that they depend on, as far as a client can see it."""
        return hashlib.sha256(f"{self._identity.fingerprint}\n{kind}".encode()).hexdigest()

    def describe(self) -> dict[str, Any]:
        """What the manifest says of it, besides its name and fingerprints."""
        return {
            "kind": "causal",
            "endpoint": self.client.public_address,
            "dialect": self.dialect.scheme,
            "served": self.about.get("id", self.served),
            "tokenizer": self.tokenizer_name,
            "chat_template": self.text.has_chat_template,
            "noise": None if self.noise is None else max(self.noise, self._confirmation.noise),
            "requests": self.requests_sent,
            "confirmation": None if self.noise is None else self._confirmation.describe(),
        }

    def entries(self, texts: Iterable[Ids]) -> Iterator[list[tuple[int, list[TokenEntry]]]]:
        """The index and checked entries of each text, in lists of all that arrived since the list before."""
        sent = list(texts)
        for replies in self.client.stream_replies(self.dialect.request(self.served, ids) for ids in sent):
            self.requests_sent += len(replies)
            good = []
            try:
                for index, reply in replies:
                    good.append((index, validate_entries(self.dialect.entries(reply), sent[index])))
            except BadReplyError as problem:
                yield good
                raise ModelError(f"The server at {self.client.public_address} cannot be measured: {problem}.") from None
            yield good

    def ask(self, questions: Sequence[Question]) -> dict[bytes, Answer]:
        """The server's answers to questions, by digest, without the store; NaN for a probability of zero."""
        plan = TextPlan(questions)
        return {
            digest: numbers
            for together in self.entries(plan.texts)
            for index, entries in together
            for digest, numbers in plan.answered(index, entries)
        }

    def answer(
        self,
        questions: Sequence[Question],
        *,
        kind: Kind,
        store: AnswerStore,
        names: Mapping[bytes, str],
        report: OnProgress,
    ) -> Mapping[bytes, Answer]:
        """The answers to all questions, by digest; read from the store, and stored when the model is confirmed."""
        by_digest = {question.digest: question for question in questions}
        answers = self._find_stored_answers(by_digest, kind, store)
        report(Progress(len(answers), len(by_digest), 0.0))
        pending = [question for digest, question in by_digest.items() if digest not in answers]
        if not pending:
            return answers
        store.reject_read_only(len(pending))
        waiting = UnconfirmedAnswers(store, self.fingerprint(kind))
        answers |= waiting.settle({question.digest: question for question in pending}, self.ask)
        pending = [question for question in pending if question.digest not in answers]
        chosen = self._confirmation.choose(pending)
        plan = TextPlan(pending)
        for window in split_into_windows(plan.order({question.digest for question in chosen})):
            new: dict[bytes, Answer] = {}
            try:
                for some in self._answer_window(plan, window, names):
                    new |= some
                    report(Progress(len(answers) + len(new), len(by_digest), 0.0))
                self._confirmation.remember(chosen, new)
                self._confirmation.confirm(len(new))
            except ServerChangedError:
                raise
            except BaseException:
                waiting.keep(new)
                raise
            store.put(self.fingerprint(kind), new)
            self._confirmation.remember([by_digest[digest] for digest in new], new)
            answers |= new
        return answers

    def _find_stored_answers(
        self, questions: Mapping[bytes, Question], kind: Kind, store: AnswerStore
    ) -> dict[bytes, Answer]:
        """The stored answers of the model that is served now, which is the first one that gives them again."""
        found = (store.get(self.fingerprint(kind), questions) for _ in self._identity.candidates())
        return next(stored for stored in found if self._confirmation.matches_stored(questions, stored))

    def _answer_window(
        self, plan: TextPlan, window: Sequence[int], names: Mapping[bytes, str]
    ) -> Iterator[dict[bytes, Answer]]:
        """The answers that the texts of a window complete; a ModelError after those before an impossible one."""
        for together in self.entries(plan.texts[index] for index in window):
            finished = {
                digest: numbers
                for place, entries in together
                for digest, numbers in plan.answered(window[place], entries)
            }
            impossible = [digest for digest, numbers in finished.items() if not np.isfinite(numbers).all()]
            yield {digest: numbers for digest, numbers in finished.items() if digest not in impossible}
            for digest in impossible:
                raise ModelError(
                    f"The server at {self.client.public_address} gives no log-probability for a token of item "
                    f"{names.get(digest, digest.hex())} (a probability of zero); it cannot be scored."
                )

    def close(self) -> None:
        """Nothing is kept open between requests."""


def validate_entries(entries: list[TokenEntry], ids: Ids) -> list[TokenEntry]:
    """The entries of a text's tokens, without one that was generated; raises `BadReplyError` if they do not match."""
    if len(entries) not in (len(ids), len(ids) + 1):
        raise BadReplyError(
            f"it gives {len(entries)} log-probabilities for a text of {len(ids)} tokens; "
            "it may ignore `echo`, or add or drop a token at the beginning"
        )
    for index, (entry, token) in enumerate(zip(entries, ids, strict=False)):
        if entry.token != token:
            raise BadReplyError(
                f"token {index} of a text comes back as {entry.token} where {token} was sent; "
                "its tokens do not match the tokenizer's"
            )
        if index == 0 and entry.log_prob is not None:
            raise BadReplyError(
                "it gives a log-probability to the first token of a text, which nothing comes before; "
                "it adds a token of its own, or its values are off by one"
            )
        if index > 0 and entry.log_prob is None:
            raise BadReplyError(f"it gives no log-probability to token {index} of a text")
        if entry.log_prob is not None and (math.isnan(entry.log_prob) or entry.log_prob > _FLOAT32_ROUNDING):
            raise BadReplyError(f"it gives {entry.log_prob} as a log-probability")
    return [
        entry if entry.log_prob is None or entry.log_prob > MISSING else entry._replace(log_prob=None)
        for entry in entries[: len(ids)]
    ]


def open_endpoint(rest: str, dialect: Dialect, options: ModelOptions) -> EndpointModel:
    """The model of a name such as `openai:MODEL@http://host:8000/v1`; `rest` is what stands after the scheme."""
    served, at, address = rest.partition("@")
    if not at or not served:
        raise UsageError(
            f"{dialect.scheme}:{rest} names no server; write {dialect.scheme}:MODEL@ADDRESS, such as "
            f"{dialect.scheme}:{served or 'my-model'}@http://localhost:8000/v1."
        )
    client = Client(
        address,
        key=read_api_key(),
        concurrency=options.concurrency,
        per_minute=options.per_minute,
        timeout=options.timeout,
    )
    named = options.tokenizer or served
    return EndpointModel(
        name=f"{dialect.scheme}:{served}@{client.public_address}",
        served=served,
        dialect=dialect,
        client=client,
        tokenizer=_load_tokenizer(named, given=options.tokenizer is not None, options=options),
        tokenizer_name=named,
        cache=options.cache,
    )


def read_api_key() -> str | None:
    """The API key, which is read only from the environment."""
    return os.environ.get("TILTMETER_API_KEY") or os.environ.get("OPENAI_API_KEY") or None


def _load_tokenizer(name: str, *, given: bool, options: ModelOptions) -> Any:
    from transformers import AutoTokenizer

    try:
        folder = find_tokenizer_folder(name, trust_remote_code=options.trust_remote_code)
        tokenizer = AutoTokenizer.from_pretrained(str(folder), trust_remote_code=options.trust_remote_code)
    except Exception as error:  # of transformers or the hub
        hint = build_access_hint(error, name)
        if given:
            reason = hint or next(iter(str(error).strip().splitlines()), type(error).__name__)
            raise ModelError(f"The tokenizer {name} cannot be loaded: {reason}") from error
        if hint and "is gated" in hint:
            raise ModelError(f"The tokenizer of the served model is needed. {hint}") from error
        raise ModelError(
            f"The tokenizer of the served model {name} was not found under that name; say which it is with "
            "--tokenizer FOLDER_OR_ID."
        ) from error
    reject_empty_vocabulary(tokenizer, name)
    return tokenizer
