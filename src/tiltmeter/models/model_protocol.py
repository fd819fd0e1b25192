"""The interface between runs and models: transformers on this machine, an endpoint, or a plug-in."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.progress.progress import ReportProgress
from tiltmeter.questions import Answer, ChatQuestion, Kind, Question, Reply, SamplingOptions, Tokenizer

# Added to the name of a protocol whose texts stand inside the model's chat template.
CHAT_TEMPLATE = "chat-template"


@runtime_checkable
class Model(Protocol):
    """A model that answers questions."""

    @property
    def name(self) -> str:
        """Its name in results."""

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of question that it answers. The first is its kind of language model, which benchmarks go by."""

    @property
    def text(self) -> Tokenizer:
        """The tokenizer and special tokens that questions are built from."""

    @property
    def max_length(self) -> int | None:
        """The longest input, in tokens; None if there is no limit."""

    def fingerprint(self, kind: Kind) -> str:
        """The key of stored answers: a hash of everything that its answers to questions of this kind depend on."""

    def describe(self) -> dict[str, Any]:
        """What the manifest says of it, besides its name and fingerprints: JSON values."""

    def answer(
        self,
        questions: Sequence[Question],
        *,
        kind: Kind,
        store: AnswerStore,
        names: Mapping[bytes, str],
        report: ReportProgress,
    ) -> Mapping[bytes, Answer]:
        """The answers to all questions, by digest; read from the store, and stored as they are computed.

        `names` has the item of each question, for errors; `report` is called with the progress.
        """

    def close(self) -> None:
        """Free memory and connections; the run has no more questions."""


@runtime_checkable
class ChatModel(Protocol):
    """Whatever replies to messages: a chat model behind a server, or a local one with a chat template."""

    @property
    def name(self) -> str:
        """What results call it."""

    def chat_fingerprint(self, sampling: SamplingOptions) -> str:
        """Names everything that its replies depend on besides the message; stored replies are found by it."""

    def describe(self) -> dict[str, Any]:
        """What the manifest says of it, besides its name and fingerprint: JSON values."""

    def tokens(self, prompt: str) -> int:
        """The number of tokens of a message, or an estimate of it."""

    def stream_replies(
        self, questions: Sequence[ChatQuestion], sampling: SamplingOptions
    ) -> Iterator[tuple[int, Reply]]:
        """The index of each question and its reply, as they come."""

    def close(self) -> None:
        """Let go of memory and connections."""
