"""The interface between runs and models: local transformers models, models on servers, and plug-ins."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.progress.progress import ReportProgress
from tiltmeter.questions import Answer, ChatQuestion, Kind, Question, Reply, SamplingOptions, Tokenizer

# This suffix is added to the name of a scoring protocol if texts are put inside the model's chat template.
CHAT_TEMPLATE = "chat-template"


@runtime_checkable
class Model(Protocol):
    """A model that answers questions with log-probabilities."""

    @property
    def name(self) -> str:
        """The name of the model in results."""

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of question that the model answers; the first is the model's own kind, for example "masked"."""

    @property
    def text(self) -> Tokenizer:
        """The tokenizer and special tokens with which benchmarks build questions for the model."""

    @property
    def max_length(self) -> int | None:
        """The maximum length of an input in tokens; None if there is no limit."""

    def fingerprint(self, kind: Kind) -> str:
        """Return the key of stored answers: a hash of everything that answers to questions of this kind depend on."""

    def describe(self) -> dict[str, Any]:
        """Return the model's entry in the manifest of a run, as JSON values, without its name and fingerprints."""

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

        Answers in `store` are reused, and new answers are stored. `names` maps the digests of questions to item ids,
        for error messages. `report` is called with the progress.
        """

    def close(self) -> None:
        """Free memory and connections; a run calls this when it has no more questions for the model."""


@runtime_checkable
class ChatModel(Protocol):
    """A model that replies to messages: a chat model on a server, or a local model with a chat template."""

    @property
    def name(self) -> str:
        """The name of the model in results."""

    def chat_fingerprint(self, sampling: SamplingOptions) -> str:
        """Return the key of stored replies: a hash of everything that the replies depend on, except the message."""

    def describe(self) -> dict[str, Any]:
        """Return the model's entry in the manifest of a run, as JSON values, without its name and fingerprint."""

    def tokens(self, prompt: str) -> int:
        """Return the number of tokens of a message; the number may be an estimate."""

    def stream_replies(
        self, questions: Sequence[ChatQuestion], sampling: SamplingOptions
    ) -> Iterator[tuple[int, Reply]]:
        """Yield the index of each question and its reply, as replies arrive."""

    def close(self) -> None:
        """Free memory and connections."""
