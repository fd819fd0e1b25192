"""Causal models behind an HTTP server that gives the log-probabilities of a text's tokens.

A dialect (`openai.py`, `sglang.py`, `tgi.py`) implements the requests of one kind of server. This module decides which
texts are sent, checks replies, and computes the fingerprint by which answers are stored.
"""

import hashlib
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol

import numpy as np

from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.execute import Progress, Report
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.files import write_text
from tiltmeter.models.checkpoint import tokenizer_folder
from tiltmeter.models.client import Client, Request
from tiltmeter.models.hub_access import access_hint
from tiltmeter.models.protocol import ModelOptions
from tiltmeter.models.text import TokenizerText, refuse_empty_vocabulary
from tiltmeter.questions import Answer, Ids, Kind, Question, Want

# Servers send -9999 for a probability of zero; values below this mean that there is none.
MISSING = -9000.0
# The largest change of the probes' values since the last start with which it is still the same model.
SAME_PROBES = 0.05
_FLOAT32_ROUNDING = 1e-3


class Entry(NamedTuple):
    """A token of a text in a reply; `log_prob` is None for the first token, which has no context."""

    token: int
    log_prob: float | None
    is_top: bool | None = None


class Dialect(Protocol):
    """The requests and replies of one kind of server."""

    scheme: str

    def request(self, model: str, ids: Ids) -> Request:
        """The request for the log-probability of every token of a text."""

    def relax(self) -> bool:
        """Switch to the next-best request after a refusal; False if there is none."""

    def entries(self, reply: Any) -> list[Entry]:
        """The tokens of a reply; raises `BadReply` if it lacks them."""

    def about(self, client: Client, model: str) -> dict[str, Any]:
        """The server's information on the model: `id`, and `max_length` if it has it."""


class BadReply(Exception):  # noqa: N818 - a statement about the server; it becomes a ModelError with its address
    """A reply that lacks something; the message says what."""


@dataclass(kw_only=True)
class EndpointModel:
    """A served model (see `tiltmeter.models.protocol.Model`)."""

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
    def _tested(self) -> str:
        """The fingerprint: a hash of address, served model, tokenizer, and answers to the probes.

        Computing it runs the self-test, which refuses a server that would give wrong numbers.
        """
        from tiltmeter.models.self_test import self_test

        outcome = self_test(self)
        self.noise = outcome.noise
        identity = [self.client.public_address, str(self.about.get("id", self.served)), self.text.digest]
        return _matching_fingerprint(identity, outcome.probes, self.cache)

    def fingerprint(self, kind: Kind) -> str:
        """The key of stored answers: everything that they depend on, as far as a client can see it."""
        return hashlib.sha256(f"{self._tested}\n{kind}".encode()).hexdigest()

    def describe(self) -> dict[str, Any]:
        """What the manifest says of it, besides its name and fingerprints."""
        return {
            "kind": "causal",
            "endpoint": self.client.public_address,
            "dialect": self.dialect.scheme,
            "served": self.about.get("id", self.served),
            "tokenizer": self.tokenizer_name,
            "chat_template": self.text.has_chat_template,
            "noise": self.noise,
            "requests": self.requests_sent,
        }

    def entries(self, texts: Iterable[Ids]) -> Iterator[list[tuple[int, list[Entry]]]]:
        """The index and checked entries of each text, in lists of all that arrived since the list before."""
        sent = list(texts)
        for replies in self.client.replies(self.dialect.request(self.served, ids) for ids in sent):
            self.requests_sent += len(replies)
            good = []
            try:
                for index, reply in replies:
                    good.append((index, checked(self.dialect.entries(reply), sent[index])))
            except BadReply as problem:
                yield good
                raise ModelError(f"The server at {self.client.public_address} cannot be measured: {problem}.") from None
            yield good

    def answer(
        self,
        questions: Sequence[Question],
        *,
        kind: Kind,
        store: AnswerStore,
        names: Mapping[bytes, str],
        report: Report,
    ) -> Mapping[bytes, Answer]:
        """The answers to all questions, by digest; read from the store, and stored as replies arrive."""
        fingerprint = self.fingerprint(kind)
        by_digest = {question.digest: question for question in questions}
        answers = dict(store.get(fingerprint, by_digest))
        report(Progress(len(answers), len(by_digest), 0.0))
        plan = _Plan([question for digest, question in by_digest.items() if digest not in answers])
        for together in self.entries(plan.texts):
            finished = {
                digest: numbers for index, entries in together for digest, numbers in plan.answered(index, entries)
            }
            impossible = [digest for digest, numbers in finished.items() if not np.isfinite(numbers).all()]
            good = {digest: numbers for digest, numbers in finished.items() if digest not in impossible}
            store.put(fingerprint, good)
            answers.update(good)
            report(Progress(len(answers), len(by_digest), 0.0))
            for digest in impossible:
                raise ModelError(
                    f"The server at {self.client.public_address} gives no log-probability for a token of item "
                    f"{names.get(digest, digest.hex())} (a probability of zero); it cannot be scored."
                )
        return answers

    def close(self) -> None:
        """Nothing is kept open between requests."""


class _Plan:
    """The texts to send for some questions, and the answers that their replies complete.

    A wanted token t at position p needs the text of the first p + 1 tokens followed by t. A text that is a prefix of
    another one is not sent: the reply to the longer one has its log-probabilities, too.
    """

    def __init__(self, questions: Sequence[Question]) -> None:
        self._questions = questions
        needed = [_texts_for(question) for question in questions]
        self.texts: list[Ids] = []
        text_of: dict[Ids, int] = {}
        # In reverse order a prefix comes right after the texts that begin with it.
        for ids in sorted({ids for texts in needed for ids in texts}, reverse=True):
            if not self.texts or self.texts[-1][: len(ids)] != ids:
                self.texts.append(ids)
            text_of[ids] = len(self.texts) - 1
        self._places = [
            [(text_of[ids], position + 1) for ids, (position, _) in zip(texts, question.wanted, strict=True)]
            for question, texts in zip(questions, needed, strict=True)
        ]
        self._waiting: dict[int, list[int]] = {}
        self._open = [{text for text, _ in places} for places in self._places]
        for number, texts in enumerate(self._open):
            for text in texts:
                self._waiting.setdefault(text, []).append(number)
        self._replies: dict[int, list[Entry]] = {}

    def answered(self, text: int, entries: list[Entry]) -> Iterator[tuple[bytes, Answer]]:
        """The questions that are complete with the reply to a text, with their answers."""
        self._replies[text] = entries
        for number in self._waiting.pop(text, ()):
            self._open[number].discard(text)
            if not self._open[number]:
                yield self._questions[number].digest, self._numbers(number)

    def _numbers(self, number: int) -> Answer:
        entries = [self._replies[text][position] for text, position in self._places[number]]
        values = [math.nan if entry.log_prob is None else entry.log_prob for entry in entries]
        if self._questions[number].want is Want.LOG_PROB_AND_TOP:
            values += [math.nan if entry.is_top is None else float(entry.is_top) for entry in entries]
        return np.array(values, dtype=np.float32)


def _texts_for(question: Question) -> list[Ids]:
    """For each wanted token a text in which it stands at its position, the same one for as many as possible.

    >>> _texts_for(Question((5, 6, 7, 8), ((0, 6), (1, 7), (1, 9))))
    [(5, 6, 7), (5, 6, 7), (5, 6, 9)]
    """
    own = [position for position, token in question.wanted if question.ids[position + 1 : position + 2] == (token,)]
    longest = question.ids[: max(own) + 2] if own else ()
    return [
        longest if question.ids[position + 1 : position + 2] == (token,) else (*question.ids[: position + 1], token)
        for position, token in question.wanted
    ]


def checked(entries: list[Entry], ids: Ids) -> list[Entry]:
    """The entries of a text's tokens, without one that was generated; raises `BadReply` if they do not match."""
    if len(entries) not in (len(ids), len(ids) + 1):
        raise BadReply(
            f"it gives {len(entries)} log-probabilities for a text of {len(ids)} tokens; "
            "it may ignore `echo`, or add or drop a token at the beginning"
        )
    for index, (entry, token) in enumerate(zip(entries, ids, strict=False)):
        if entry.token != token:
            raise BadReply(
                f"token {index} of a text comes back as {entry.token} where {token} was sent; "
                "its tokens do not match the tokenizer's"
            )
        if index == 0 and entry.log_prob is not None:
            raise BadReply(
                "it gives a log-probability to the first token of a text, which nothing comes before; "
                "it adds a token of its own, or its values are off by one"
            )
        if index > 0 and entry.log_prob is None:
            raise BadReply(f"it gives no log-probability to token {index} of a text")
        if entry.log_prob is not None and (math.isnan(entry.log_prob) or entry.log_prob > _FLOAT32_ROUNDING):
            raise BadReply(f"it gives {entry.log_prob} as a log-probability")
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
        key=api_key(),
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
        tokenizer=_tokenizer(named, given=options.tokenizer is not None, options=options),
        tokenizer_name=named,
        cache=options.cache,
    )


def api_key() -> str | None:
    """The API key, which is read only from the environment."""
    return os.environ.get("TILTMETER_API_KEY") or os.environ.get("OPENAI_API_KEY") or None


def _tokenizer(name: str, *, given: bool, options: ModelOptions) -> Any:
    from transformers import AutoTokenizer

    try:
        folder = tokenizer_folder(name, trust_remote_code=options.trust_remote_code)
        tokenizer = AutoTokenizer.from_pretrained(str(folder), trust_remote_code=options.trust_remote_code)
    except Exception as error:  # of transformers or the hub
        hint = access_hint(error, name)
        if given:
            reason = hint or next(iter(str(error).strip().splitlines()), type(error).__name__)
            raise ModelError(f"The tokenizer {name} cannot be loaded: {reason}") from error
        if hint and "is gated" in hint:
            raise ModelError(f"The tokenizer of the served model is needed. {hint}") from error
        raise ModelError(
            f"The tokenizer of the served model {name} was not found under that name; say which it is with "
            "--tokenizer FOLDER_OR_ID."
        ) from error
    refuse_empty_vocabulary(tokenizer, name)
    return tokenizer


def _matching_fingerprint(identity: Sequence[str], probes: Sequence[float], cache: Path | None) -> str:
    """The fingerprint of an earlier start whose probes are equal up to noise; otherwise a new one, which is saved."""
    key = hashlib.sha256("\n".join(identity).encode()).hexdigest()
    path = cache / "endpoints" / f"{key}.json" if cache is not None else None
    known: list[list[float]] = []
    if path is not None and path.exists():
        try:
            known = [list(map(float, earlier)) for earlier in json.loads(path.read_text(encoding="utf-8"))]
        except (ValueError, TypeError):
            known = []
    for earlier in known:
        if len(earlier) == len(probes) and all(
            abs(one - other) <= SAME_PROBES for one, other in zip(earlier, probes, strict=True)
        ):
            probes = earlier
            break
    else:
        if path is not None:
            write_text(path, json.dumps([*known, list(probes)]))
    return hashlib.sha256(json.dumps([*identity, list(probes)]).encode()).hexdigest()
