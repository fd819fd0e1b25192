"""Chat models that transformers runs on this machine, asked through their chat template."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import tokenizers

from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.errors import ModelError
from tiltmeter.models.chat_template import ChatTemplate, start_template_worker
from tiltmeter.models.end_tokens import find_end_tokens
from tiltmeter.models.local_model import LocalModel
from tiltmeter.models.model_protocol import ModelOptions
from tiltmeter.models.text_generation import SeededPrompt, TextGenerator
from tiltmeter.models.tokenizer_growth import reject_text_growth
from tiltmeter.models.tokenizer_text import TokenizerText, compute_settings_digest
from tiltmeter.questions import ChatQuestion, Question, Reply, SamplingOptions

# Messages whose label probabilities are computed, and stored, at a time.
_AT_ONCE = 128
# Changes with the way in which messages are generated from a model's files and settings.
_VERSION = 2


@dataclass(kw_only=True)
class LocalChat:
    """A local chat model (see `tiltmeter.models.model_protocol.ChatModel`)."""

    name: str
    model: LocalModel
    _takes_batches: bool = True

    def chat_fingerprint(self, sampling: SamplingOptions) -> str:
        """SHA-256 of everything that a reply depends on besides the message."""
        settings = "probabilities" if sampling.probabilities else f"{sampling.temperature!r} {sampling.max_tokens}"
        parts = (
            f"chat {_VERSION}",
            self.model.fingerprint("causal"),
            self.template.digest,
            compute_settings_digest(self.model.tokenizer),
            f"tokenizers {tokenizers.__version__}",
            f"ends {sorted(self.ends)}",
            settings,
        )
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def describe(self) -> dict[str, Any]:
        """What the manifest says of it."""
        found = {**self.model.describe(), "kind": "chat", "template": self.template.digest}
        return found if self._takes_batches else {**found, "batches": "of one message, for others change its numbers"}

    @cached_property
    def template(self) -> ChatTemplate:
        """Its chat template."""
        return ChatTemplate(self.model.name, self.model.tokenizer)

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """The tokens that end a reply."""
        return find_end_tokens(self.model)

    @property
    def text(self) -> TokenizerText:
        """Its tokenizer and special tokens."""
        return self.model.text

    def tokens(self, prompt: str) -> int:
        """The number of tokens of a message in the template."""
        return len(self._ids(prompt))

    def compute_message_limit(self, sampling: SamplingOptions) -> int | None:
        """The longest message, in tokens, that leaves room for the answer; None if there is no limit."""
        longest = self.model.max_length
        return longest if longest is None or sampling.probabilities else longest - sampling.max_tokens

    def stream_replies(
        self, questions: Sequence[ChatQuestion], sampling: SamplingOptions
    ) -> Iterator[tuple[int, Reply]]:
        """The replies, a batch at a time."""
        with self.model.measuring(), _translate_errors(self.name):
            if sampling.probabilities:
                yield from self._compute_label_probabilities(questions)
            else:
                yield from self._generate_texts(questions, sampling)

    def close(self) -> None:
        """Let go of the weights."""
        self.model.close()
        self.__dict__.pop("_generator", None)

    def _ids(self, prompt: str) -> tuple[int, ...]:
        text = self.template.render([{"role": "user", "content": prompt}], add_generation_prompt=True)
        ids = self._encode(text)
        if not ids:
            raise ModelError(f"The chat template of {self.name} makes no tokens of a message; correct the template.")
        return ids

    def _encode(self, text: str) -> tuple[int, ...]:
        """The tokens of a rendered message, whose special tokens are tokens."""
        reject_text_growth(self.model.tokenizer, [text])
        return tuple(self.model.tokenizer(text, add_special_tokens=False).input_ids)

    @cached_property
    def _generator(self) -> TextGenerator:
        padding = (self.model.tokenizer.pad_token_id, *self.ends, 0)
        vocabulary = self.model.vocabulary_size or len(self.model.tokenizer)
        return TextGenerator(
            name=self.name,
            module=self.model._load_module("causal"),
            device=self.model.device,
            dtype=self.model.dtype,
            ends=self.ends,
            # Masked anyway; it needs an embedding.
            padding=next(token for token in padding if token is not None and 0 <= token < vocabulary),
            vocabulary=vocabulary,
            max_length=self.model.max_length,
        )

    def _generate_texts(
        self, questions: Sequence[ChatQuestion], sampling: SamplingOptions
    ) -> Iterator[tuple[int, Reply]]:
        """Generated texts, a batch at a time."""
        prompts = []
        for question in questions:
            ids = self._ids(question.prompt)
            self._reject_long(len(ids) + sampling.max_tokens)
            prompts.append(SeededPrompt(ids, _compute_seed(ids, question.sample)))
        if not prompts:
            return
        self._takes_batches = self._generator.takes_batches
        batches = self._generator.texts(prompts, longest=sampling.max_tokens, temperature=sampling.temperature)
        for places, answers in batches:
            texts = self.model.tokenizer.batch_decode(answers, skip_special_tokens=True)
            for place, answer, text in zip(places, answers, texts, strict=True):
                cut = answer[-1] not in self.ends
                yield place, Reply(text, tokens_in=len(prompts[place].ids), tokens_out=len(answer), cut=cut)

    def _compute_label_probabilities(self, questions: Sequence[ChatQuestion]) -> Iterator[tuple[int, Reply]]:
        """The log-probability of each label as the first token of the answer, by the engine."""
        for start in range(0, len(questions), _AT_ONCE):
            chunk = questions[start : start + _AT_ONCE]
            asked = []
            for question in chunk:
                ids, tokens = self._ids(question.prompt), self._list_label_tokens(question.labels)
                self._reject_long(len(ids))
                asked.append((tokens, Question(ids, tuple((len(ids) - 1, token) for _, token in tokens))))
            with AnswerStore(":memory:") as store:
                answers = self.model.answer(
                    [message for _, message in asked], kind="causal", store=store, names={}, report=lambda _: None
                )
            for index, (tokens, message) in enumerate(asked):
                values = answers[message.digest].tolist()
                firsts = tuple((text, value) for (text, _), value in zip(tokens, values, strict=True))
                yield start + index, Reply("", first_tokens=firsts, tokens_in=len(message.ids))

    def _list_label_tokens(self, labels: Sequence[str]) -> list[tuple[str, int]]:
        """The tokens that stand for each label, with and without a space before it."""
        tokens = []
        for label in labels:
            for text in (label, f" {label}"):
                ids = self._encode(text)
                if len(ids) == 1 and (label, ids[0]) not in tokens:
                    tokens.append((label, ids[0]))
            if not any(name == label for name, _ in tokens):
                raise ModelError(
                    f"The tokenizer of {self.name} has no token for the label {label}; leave out "
                    "--protocol choice-probabilities."
                )
        return tokens

    def _reject_long(self, length: int) -> None:
        longest = self.model.max_length
        if longest is not None and length > longest:
            raise ModelError(
                f"A message and its answer have {length} tokens, but {self.name} reads at most {longest}; lower "
                "--max-tokens, or leave the longest items out."
            )


def _compute_seed(ids: Sequence[int], sample: int) -> int:
    """A seed that depends on a message and its sample only, so that repeating or resuming a run repeats its samples."""
    digest = hashlib.sha256(repr((tuple(ids), sample)).encode()).digest()
    return int.from_bytes(digest[:8], "big")


@contextmanager
def _translate_errors(name: str) -> Iterator[None]:
    """Turn errors of torch, transformers or code that comes with the model into a ModelError."""
    try:
        yield
    except (RuntimeError, LookupError, ValueError, TypeError, AttributeError, ArithmeticError, AssertionError) as error:
        first, *_ = [*str(error).strip().splitlines(), ""]
        raise ModelError(
            f"{name} cannot reply: {type(error).__name__}{f' ({first[:300]})' if first else ''}; check its config and "
            "files, or try --device cpu. Replies that came before are kept."
        ) from error


def open_local_chat(name: str, options: ModelOptions) -> LocalChat:
    """The model of a name such as `chat:./folder`, `chat:HUB_ID` or `chat:embedded`."""
    from tiltmeter.models.model_opener import open_given

    start_template_worker()
    # A chat model is asked inside its template anyway; the caller refuses the option.
    model = open_given(name, replace(options, chat_template=False))
    if not isinstance(model, LocalModel) or model.kind != "causal":
        raise ModelError(f"{name} is not a causal model on this machine, so it cannot be asked as a chat model.")
    return wrap_local_model(model)


def wrap_local_model(model: LocalModel) -> LocalChat:
    """A local model as a chat model; an error if it has no chat template that can be used."""
    if "next-sentence" in model.kinds:
        raise ModelError(f"{model.name} has a next-sentence head, which writes no replies; ask its base model instead.")
    if not getattr(model.tokenizer, "chat_template", None):
        raise ModelError(
            f"{model.name} has no chat template, so it is not a chat model; leave out `chat:` to measure it as a "
            "language model."
        )
    chat = LocalChat(name=f"chat:{model.name}", model=model)
    _ = chat.ends
    if chat._ids("Tea or milk?") == chat._ids("A brook or a river?"):
        raise ModelError(f"The chat template of {model.name} leaves out the user's message; correct the template.")
    return chat
