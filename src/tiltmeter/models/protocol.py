"""What runs know of a model, whoever answers: transformers on this machine, an endpoint, somebody else's code."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.execute import Report
from tiltmeter.questions import Answer, ChatQuestion, Kind, Question, Reply, Sampling, Text


@runtime_checkable
class Model(Protocol):
    """Whatever answers questions."""

    @property
    def name(self) -> str:
        """What results call it."""

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of question it can be asked. The first is its kind of language model: how items are put to it."""

    @property
    def text(self) -> Text:
        """Its text side: the tokenizer and special tokens that questions are built with."""

    @property
    def max_length(self) -> int | None:
        """The longest input it can read, in tokens; None where there is no limit."""

    def fingerprint(self, kind: Kind) -> str:
        """Names everything that its answers to questions of this kind depend on; stored answers are found by it."""

    def describe(self) -> dict[str, Any]:
        """What the manifest says of it, besides its name and fingerprints: JSON values."""

    def answer(
        self,
        questions: Sequence[Question],
        *,
        kind: Kind,
        store: AnswerStore,
        names: Mapping[bytes, str],
        report: Report,
    ) -> Mapping[bytes, Answer]:
        """The answers to all questions, by digest, read from the store and put there as they come.

        `names` gives the item of a question, for errors; `report` is told of the progress.
        """

    def close(self) -> None:
        """Let go of memory and connections; the run has no more questions."""


@runtime_checkable
class ChatModel(Protocol):
    """Whatever replies to messages: a chat model behind a server, or a local one with a chat template."""

    @property
    def name(self) -> str:
        """What results call it."""

    def chat_fingerprint(self, sampling: Sampling) -> str:
        """Names everything that its replies depend on besides the message; stored replies are found by it."""

    def describe(self) -> dict[str, Any]:
        """What the manifest says of it, besides its name and fingerprint: JSON values."""

    def tokens(self, prompt: str) -> int:
        """The number of tokens of a message, or an estimate of it."""

    def replies(self, questions: Sequence[ChatQuestion], sampling: Sampling) -> Iterator[tuple[int, Reply]]:
        """The index of each question and its reply, as they come."""

    def close(self) -> None:
        """Let go of memory and connections."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """How models that are named are opened: those that transformers runs on this machine, and those behind a server.

    `devices` names several devices to work side by side. `batch_tokens` is how many tokens are sent at once, if not
    what the model's size suggests. `cache` is a folder for files taken out of GGUF files. `plain` turns all speed-ups
    off (`tiltmeter.engine.speedups`): the same numbers up to rounding, slower.

    `tokenizer` names another tokenizer than the model's own. `concurrency` (requests at a time), `per_minute` (requests
    a minute at most) and `timeout` (seconds) are for models behind a server.
    """

    kind: Kind | None = None
    device: str = "auto"
    devices: tuple[str, ...] = ()
    dtype: str = "auto"
    batch_tokens: int | None = None
    trust_remote_code: bool = False
    cache: Path | None = None
    plain: bool = False
    tokenizer: str | None = None
    concurrency: int = 16
    per_minute: int | None = None
    timeout: float = 300.0
