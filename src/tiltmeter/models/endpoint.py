"""Causal models on an HTTP server that returns the log-probability of each token of a text.

A dialect (`openai.py`, `sglang.py`) implements the requests for one type of server. This module decides which texts are
sent, checks the replies, and computes the fingerprint, which is the key of stored answers.
"""

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np

from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.http_client.client import Client, Request
from tiltmeter.models.checkpoint import find_tokenizer_folder
from tiltmeter.models.error_text import get_first_line
from tiltmeter.models.hub_access import build_access_hint
from tiltmeter.models.served_identity import ServedIdentity
from tiltmeter.models.server_client import open_client
from tiltmeter.models.server_confirmation import (
    KnownAnswer,
    ServerChangedError,
    ServerConfirmation,
    UnconfirmedAnswers,
    split_into_windows,
)
from tiltmeter.models.server_self_test import SelfTestResult, run_self_test
from tiltmeter.models.text_plan import TextPlan, TokenEntry
from tiltmeter.models.tokenizer_text import TokenizerText, reject_empty_vocabulary
from tiltmeter.options import ModelOptions
from tiltmeter.progress.progress import Progress, ReportProgress
from tiltmeter.questions import Answer, Ids, Kind, Question

# Servers send -9999 for the logarithm of a probability of zero. A log-probability below this limit counts as missing.
MISSING = -9000.0
_FLOAT32_ROUNDING = 1e-3


class EndpointDialect(Protocol):
    """The requests and replies of one type of server."""

    scheme: str

    def build_request(self, model: str, ids: Ids) -> Request:
        """Return the request for the log-probability of every token of a text; `ids` are the text's token ids."""

    def relax_request(self) -> bool:
        """After an error, let later requests use another variant; return False if there is no other variant."""

    def parse_token_entries(self, reply: Any) -> list[TokenEntry]:
        """Return the tokens in a reply with their log-probabilities; raise a `BadReplyError` if the reply has none."""

    def get_model_information(self, client: Client, model: str) -> dict[str, Any]:
        """Return the server's information about the model: `id`, and `max_length` if the server reports it."""


class BadReplyError(Exception):
    """A reply is incomplete or wrong; the message describes the problem."""


@dataclass(kw_only=True)
class EndpointModel:
    """A model on a server (see `tiltmeter.models.model_protocol.Model`)."""

    name: str
    served: str
    dialect: EndpointDialect
    client: Client
    tokenizer: Any
    tokenizer_name: str
    cache: Path | None = None
    noise: float | None = field(default=None, init=False)
    requests_sent: int = field(default=0, init=False)

    kinds: tuple[Kind, ...] = ("causal",)

    @cached_property
    def text(self) -> TokenizerText:
        """The tokenizer and its special tokens."""
        return TokenizerText(self.tokenizer, SimpleNamespace(), "causal")

    @cached_property
    def server_information(self) -> dict[str, Any]:
        """The server's information about the model."""
        return self.dialect.get_model_information(self.client, self.served)

    @property
    def max_length(self) -> int | None:
        """The maximum length of an input in tokens; None if the server does not report it."""
        longest = self.server_information.get("max_length")
        return int(longest) if longest else None

    @cached_property
    def _self_test_result(self) -> SelfTestResult:
        """The result of the self-test, which raises a ModelError if the server returns wrong log-probabilities."""
        result = run_self_test(self)
        self.noise = result.noise
        return result

    @cached_property
    def _identity(self) -> ServedIdentity:
        """The identity of the model: address, name, tokenizer and the answers to the probes of the self-test."""
        names = [self.client.public_address, str(self.server_information.get("id", self.served)), self.text.digest]
        return ServedIdentity(names, self._self_test_result.values, self.cache)

    @cached_property
    def _confirmation(self) -> ServerConfirmation:
        probes = [KnownAnswer(question, answer) for question, answer in self._self_test_result.probes]
        return ServerConfirmation(self.client.public_address, self.ask_questions, probes)

    def fingerprint(self, kind: Kind) -> str:
        """Return the key of stored answers: a hash of all known facts that the answers depend on."""
        return hashlib.sha256(f"{self._identity.fingerprint}\n{kind}".encode()).hexdigest()

    def describe(self) -> dict[str, Any]:
        """Return the model's entry in the manifest of a run, without the model's name and fingerprints."""
        return {
            "kind": "causal",
            "endpoint": self.client.public_address,
            "dialect": self.dialect.scheme,
            "served": self.server_information.get("id", self.served),
            "tokenizer": self.tokenizer_name,
            "chat_template": self.text.has_chat_template,
            "noise": None if self.noise is None else max(self.noise, self._confirmation.noise),
            "requests": self.requests_sent,
            "confirmation": None if self.noise is None else self._confirmation.describe(),
        }

    def request_token_entries(self, texts: Iterable[Ids]) -> Iterator[list[tuple[int, list[TokenEntry]]]]:
        """Send texts; yield lists of (index of a text, its checked tokens), one list per group of replies."""
        sent = list(texts)
        for replies in self.client.stream_replies(self.dialect.build_request(self.served, ids) for ids in sent):
            self.requests_sent += len(replies)
            checked = []
            try:
                for index, reply in replies:
                    checked.append((index, validate_entries(self.dialect.parse_token_entries(reply), sent[index])))
            except BadReplyError as problem:
                yield checked
                raise ModelError(f"The server at {self.client.public_address} cannot be measured: {problem}.") from None
            yield checked

    def ask_questions(self, questions: Sequence[Question]) -> dict[bytes, Answer]:
        """Send questions to the server, without the store; return a dictionary from digests to answers.

        The value NaN in an answer means a probability of zero.
        """
        plan = TextPlan(questions)
        return {
            digest: numbers
            for together in self.request_token_entries(plan.texts)
            for index, entries in together
            for digest, numbers in plan.collect_answers(index, entries)
        }

    def answer(
        self,
        questions: Sequence[Question],
        *,
        kind: Kind,
        store: AnswerStore,
        names: Mapping[bytes, str],
        report: ReportProgress,
    ) -> Mapping[bytes, Answer]:
        """Return the answers to all questions as a dictionary; the keys are the digests of the questions.

        New answers are stored only after a confirmation that the server still gives the same earlier answers.
        """
        by_digest = {question.digest: question for question in questions}
        answers = self._find_stored_answers(by_digest, kind, store)
        report(Progress(len(answers), len(by_digest)))
        pending = [question for digest, question in by_digest.items() if digest not in answers]
        if not pending:
            return answers
        store.reject_read_only(len(pending))
        unconfirmed = UnconfirmedAnswers(store, self.fingerprint(kind))
        answers |= unconfirmed.confirm_answers({question.digest: question for question in pending}, self.ask_questions)
        pending = [question for question in pending if question.digest not in answers]
        chosen = self._confirmation.choose_questions(pending)
        plan = TextPlan(pending)
        for window in split_into_windows(plan.order_texts({question.digest for question in chosen})):
            new: dict[bytes, Answer] = {}
            try:
                for completed in self._answer_window(plan, window, names):
                    new |= completed
                    report(Progress(len(answers) + len(new), len(by_digest)))
                self._confirmation.remember_answers(chosen, new)
                self._confirmation.confirm_model(len(new))
            except ServerChangedError:
                raise
            except BaseException:
                unconfirmed.store_answers(new)
                raise
            store.put(self.fingerprint(kind), new)
            self._confirmation.remember_answers([by_digest[digest] for digest in new], new)
            answers |= new
        return answers

    def _find_stored_answers(
        self, questions: Mapping[bytes, Question], kind: Kind, store: AnswerStore
    ) -> dict[bytes, Answer]:
        """Return stored answers that the server still gives when a random sample of the questions is asked again.

        If several earlier models have the same identity (see `ServedIdentity`), their answers are tried in turn.
        """
        candidates = (
            store.get(self.fingerprint(kind), questions) for _ in self._identity.list_candidate_fingerprints()
        )
        return next(stored for stored in candidates if self._confirmation.matches_stored(questions, stored))

    def _answer_window(
        self, plan: TextPlan, window: Sequence[int], names: Mapping[bytes, str]
    ) -> Iterator[dict[bytes, Answer]]:
        """Send the texts with the indices in `window`; yield dictionaries of answers that are now complete."""
        for together in self.request_token_entries(plan.texts[index] for index in window):
            completed = {
                digest: numbers
                for place, entries in together
                for digest, numbers in plan.collect_answers(window[place], entries)
            }
            infinite = [digest for digest, numbers in completed.items() if not np.isfinite(numbers).all()]
            # Finite answers are yielded first, so that they are not lost if an error follows.
            yield {digest: numbers for digest, numbers in completed.items() if digest not in infinite}
            for digest in infinite:
                raise ModelError(
                    f"The server at {self.client.public_address} returns a probability of zero for a token of item "
                    f"{names.get(digest, digest.hex())}, so the item cannot be scored; remove the item."
                )

    def close(self) -> None:
        """Do nothing, because no connection stays open between requests."""


def validate_entries(entries: list[TokenEntry], ids: Ids) -> list[TokenEntry]:
    """Check that a reply has an entry for each of the tokens `ids`, and return these entries.

    An entry for an additional, generated token is removed. Raises a `BadReplyError` if the entries are wrong.
    """
    if len(entries) not in (len(ids), len(ids) + 1):
        raise BadReplyError(
            f"the server returns {len(entries)} log-probabilities for a text of {len(ids)} tokens; "
            "it may ignore `echo`, or add or drop a token at the beginning"
        )
    for index, (entry, token) in enumerate(zip(entries, ids, strict=False)):
        if entry.token != token:
            raise BadReplyError(
                f"the server returns token {index} of a text as {entry.token} instead of {token}; "
                "its tokenizer differs from the local tokenizer (--tokenizer)"
            )
        if index == 0 and entry.log_prob is not None:
            raise BadReplyError(
                "the server returns a log-probability for the first token of a text, which has no context; "
                "it may add a token, or its log-probabilities are off by one"
            )
        if index > 0 and entry.log_prob is None:
            raise BadReplyError(f"the server returns no log-probability for token {index} of a text")
        if entry.log_prob is not None and (math.isnan(entry.log_prob) or entry.log_prob > _FLOAT32_ROUNDING):
            raise BadReplyError(
                f"the server returns {entry.log_prob} as a log-probability, which must be a number of at most 0"
            )
    return [
        entry if entry.log_prob is None or entry.log_prob > MISSING else entry._replace(log_prob=None)
        for entry in entries[: len(ids)]
    ]


def open_endpoint(rest: str, dialect: EndpointDialect, options: ModelOptions) -> EndpointModel:
    """Open a model on a server; `rest` is the name after the scheme, such as `my-model@http://localhost:8000/v1`."""
    served, at, address = rest.partition("@")
    if not at or not served:
        raise UsageError(
            f"{dialect.scheme}:{rest} lacks the model or the server; write {dialect.scheme}:MODEL@ADDRESS, such as "
            f"{dialect.scheme}:{served or 'my-model'}@http://localhost:8000/v1."
        )
    client = open_client(address, options)
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


def _load_tokenizer(name: str, *, given: bool, options: ModelOptions) -> Any:
    from transformers import AutoTokenizer

    try:
        folder = find_tokenizer_folder(name, trust_remote_code=options.trust_remote_code)
        tokenizer = AutoTokenizer.from_pretrained(str(folder), trust_remote_code=options.trust_remote_code)
    except Exception as error:  # transformers and the hub raise many classes of errors
        hint = build_access_hint(error, name)
        if given:
            raise ModelError(f"The tokenizer {name} cannot be loaded: {hint or get_first_line(error)}") from error
        if hint and "is gated" in hint:
            raise ModelError(f"The tokenizer of the served model is needed. {hint}") from error
        raise ModelError(
            f"The tokenizer of the served model {name} was not found under that name; name it with "
            "--tokenizer FOLDER_OR_ID."
        ) from error
    reject_empty_vocabulary(tokenizer, name)
    return tokenizer
