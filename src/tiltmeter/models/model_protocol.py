"""The interface between runs and models: transformers on this machine, an endpoint, or a plug-in."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.execution import OnProgress
from tiltmeter.questions import Answer, ChatQuestion, Kind, Question, Reply, SamplingOptions, Tokenizer

# Added to the name of a protocol whose texts stand inside the model's chat template.
CHAT_TEMPLATE = "chat-template"
# The dtypes that weights can be loaded in.
DTYPES = ("auto", "float32", "float16", "bfloat16")


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
        report: OnProgress,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """Options for models that are opened by name.

    `devices` names several devices to work in parallel. `batch_tokens` is the number of tokens in a batch; by default
    it follows from the model's size. `cache` is a folder for files extracted from GGUF files. `plain` turns all
    speed-ups off (`tiltmeter.engine.speedups`): slower, with the same numbers up to rounding. `quantize` is `8bit` or
    `4bit`. `split` divides a model over all GPUs, main memory and disk, which is also done if it does not fit on one
    device; `max_memory` limits what it takes of each, as in `{"0": "10GiB", "cpu": "4GiB"}`.

    `tokenizer` names another tokenizer than the model's own. `chat_template` puts every text into the model's chat
    template. `keep_heads` keeps both heads of a model with a next-sentence head in memory, if they fit: for several
    runs with the same model. `concurrency` (requests at a time), `per_minute` (most requests a minute) and `timeout`
    (seconds) are for models behind a server.
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
    quantize: str | None = None
    split: bool = False
    max_memory: Mapping[str, str] | None = None
    chat_template: bool = False
    concurrency: int = 16
    per_minute: int | None = None
    timeout: float = 300.0
    keep_heads: bool = False
