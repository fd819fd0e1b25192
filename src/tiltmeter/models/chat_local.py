"""Chat models that transformers runs on this machine; their chat template formats the messages."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import tokenizers

from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.speedups import ALL
from tiltmeter.errors import ModelError
from tiltmeter.models.chat_template import ChatTemplate, start_template_worker
from tiltmeter.models.chat_variant import THINKING_END, THINKING_START, ChatVariant, list_special_marks, split_thinking
from tiltmeter.models.end_tokens import find_end_tokens
from tiltmeter.models.error_text import describe_error
from tiltmeter.models.local_model import LocalModel
from tiltmeter.models.text_generation import SeededPrompt, TextGenerator
from tiltmeter.models.thinking_limit import ThinkingLimit, find_mark_token, generate_with_limited_thinking
from tiltmeter.models.tokenizer_growth import reject_text_growth
from tiltmeter.models.tokenizer_text import TokenizerText, compute_settings_digest
from tiltmeter.options import ModelOptions
from tiltmeter.questions import ChatQuestion, Question, Reply, SamplingOptions

# Number of messages whose label probabilities are computed together.
_CHUNK_SIZE = 128
# This version is part of the fingerprint, the key of stored replies. Increase it if new code changes replies.
_VERSION = 4
_NO_VARIANT = ChatVariant()


@dataclass(kw_only=True)
class LocalChat:
    """A chat model on this machine (see `tiltmeter.models.model_protocol.ChatModel`)."""

    name: str
    model: LocalModel
    variant: ChatVariant = field(default_factory=ChatVariant)
    _takes_batches: bool = True

    def chat_fingerprint(self, sampling: SamplingOptions) -> str:
        """Return the SHA-256 of everything that a reply depends on, except the message."""
        settings = "probabilities" if sampling.probabilities else f"{sampling.temperature!r} {sampling.max_tokens}"
        parts = (
            f"chat {_VERSION}",
            self.model.fingerprint("causal"),
            self._template_digest,
            compute_settings_digest(self.model.tokenizer),
            f"tokenizers {tokenizers.__version__}",
            f"ends {sorted(self.end_tokens)}",
            settings,
            *self.variant.fingerprint_parts,
            *(["message opens the thinking"] if self.opens_thinking else []),
            *(["marks of thinking are special tokens"] if self._special_marks else []),
        )
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def describe(self) -> dict[str, Any]:
        """Return the model's entry in the manifest of a run."""
        entry = {**self.model.describe(), **self.variant.describe(), "kind": "chat"}
        entry["template"] = self._template_digest
        return (
            entry if self._takes_batches else {**entry, "batches": "one message each, because batches change numbers"}
        )

    @cached_property
    def chat_template(self) -> ChatTemplate:
        """The chat template of the model."""
        return ChatTemplate(self.model.name, self.model.tokenizer, thinking=bool(self.variant.thinking))

    @property
    def _template_digest(self) -> str:
        return self.chat_template.digest

    @cached_property
    def opens_thinking(self) -> bool:
        """Whether a message ends with the mark at which the thinking begins, so that replies do not contain it."""
        return self._render_prompt("Tea or milk?").rstrip().endswith(THINKING_START)

    @cached_property
    def _special_marks(self) -> list[str]:
        return list_special_marks(map(str, getattr(self.model.tokenizer, "all_special_tokens", ())))

    @cached_property
    def end_tokens(self) -> tuple[int, ...]:
        """The ids of the tokens that end a reply."""
        return find_end_tokens(self.model)

    @property
    def text(self) -> TokenizerText:
        """The tokenizer and special tokens of the model."""
        return self.model.text

    def tokens(self, prompt: str) -> int:
        """Return the number of tokens of the message `prompt`, including the tokens of the chat template."""
        return len(self._encode_prompt(prompt))

    def compute_message_limit(self, sampling: SamplingOptions) -> int | None:
        """Return the maximum length of a message in tokens, with room for the reply; None means no limit."""
        longest = self.model.max_length
        if longest is None or sampling.probabilities:
            return longest
        return longest - self._compute_reply_room(sampling)

    def _compute_reply_room(self, sampling: SamplingOptions) -> int:
        """Return the maximum number of tokens after a message, with the token that ends a limited thinking."""
        has_limit = self.variant.thinking_tokens is not None
        return self.variant.compute_reply_limit(sampling.max_tokens) + has_limit

    def stream_replies(
        self, questions: Sequence[ChatQuestion], sampling: SamplingOptions
    ) -> Iterator[tuple[int, Reply]]:
        """Yield pairs of a question's index and its reply, as batches of questions are finished."""
        with self.model.measure_hardware_usage(), _translate_errors(self.name):
            if sampling.probabilities and self.variant.thinking:
                raise ModelError(
                    f"{self.name} thinks before it replies, so its first token is not a choice; omit --thinking."
                )
            if sampling.probabilities:
                yield from self._compute_label_probabilities(questions)
            else:
                yield from self._generate_texts(questions, sampling)

    def close(self) -> None:
        """Free the memory of the weights."""
        self.model.close()
        self.__dict__.pop("_generator", None)

    def _encode_prompt(self, prompt: str) -> tuple[int, ...]:
        ids = self._encode_text(self._render_prompt(prompt))
        if not ids:
            raise ModelError(f"The chat template of {self.name} turns a message into no tokens; correct the template.")
        return ids

    def _render_prompt(self, prompt: str) -> str:
        return self.chat_template.render(self.variant.build_messages(prompt), add_generation_prompt=True)

    def _encode_text(self, text: str) -> tuple[int, ...]:
        reject_text_growth(self.model.tokenizer, [text])
        return tuple(self.model.tokenizer(text, add_special_tokens=False).input_ids)

    @cached_property
    def _generator(self) -> TextGenerator:
        padding = (self.model.tokenizer.pad_token_id, *self.end_tokens, 0)
        vocabulary = self.model.vocabulary_size or len(self.model.tokenizer)
        return TextGenerator(
            name=self.name,
            module=self.model._load_module("causal"),
            device=self.model.device,
            dtype=self.model.dtype,
            ends=self.end_tokens,
            # Padding is masked, but the padding token still needs an embedding.
            padding=next(token for token in padding if token is not None and 0 <= token < vocabulary),
            vocabulary=vocabulary,
            max_length=self.model.max_length,
            plain=self.model.without >= ALL,
        )

    def _generate_texts(
        self, questions: Sequence[ChatQuestion], sampling: SamplingOptions
    ) -> Iterator[tuple[int, Reply]]:
        prompts = []
        for question in questions:
            ids = self._encode_prompt(question.prompt)
            self._reject_long_prompt(len(ids) + self._compute_reply_room(sampling))
            prompts.append(SeededPrompt(ids, _compute_seed(ids, question.sample)))
        if not prompts:
            return
        self._takes_batches = self._generator.has_batches or self._generator.plain
        for places, answers in self._generate_tokens(prompts, sampling):
            for place, answer, text in zip(places, answers, self._decode_replies(answers), strict=True):
                thinking, reply = split_thinking(text, is_open=self.opens_thinking)
                reply, thinking = map(self._remove_special_tokens, (reply, thinking))
                cut, asked = answer[-1] not in self.end_tokens, len(prompts[place].ids)
                yield place, Reply(reply, thinking=thinking, tokens_in=asked, tokens_out=len(answer), cut=cut)

    def _generate_tokens(
        self, prompts: Sequence[SeededPrompt], sampling: SamplingOptions
    ) -> Iterator[tuple[Sequence[int], list[list[int]]]]:
        longest, temperature = sampling.max_tokens, sampling.temperature
        if self.variant.thinking_tokens is None:
            yield from self._generator.generate_texts(prompts, longest=longest, temperature=temperature)
            return
        yield from generate_with_limited_thinking(
            self._generator,
            prompts,
            self._build_thinking_limit(self.variant.thinking_tokens),
            longest=longest,
            temperature=temperature,
        )

    def _build_thinking_limit(self, tokens: int) -> ThinkingLimit:
        end = find_mark_token(THINKING_END, self._encode_text)
        if end is None:
            raise ModelError(
                f"{self.name} has no single token {THINKING_END}, so its thinking cannot be ended; omit "
                "--thinking-tokens, and set --max-tokens for thinking and answer together."
            )
        start = None if self.opens_thinking else find_mark_token(THINKING_START, self._encode_text)
        return ThinkingLimit(tokens, start, end, self.end_tokens, is_open=self.opens_thinking)

    def _decode_replies(self, answers: Sequence[Sequence[int]]) -> list[str]:
        """Return the texts of replies; special tokens are kept if the marks around the thinking are special tokens."""
        texts: list[str] = self.model.tokenizer.batch_decode(answers, skip_special_tokens=not self._special_marks)
        return texts

    def _remove_special_tokens(self, text: str) -> str:
        if self._special_marks:
            for token in map(str, self.model.tokenizer.all_special_tokens):
                text = text.replace(token, "")
        return text

    def _compute_label_probabilities(self, questions: Sequence[ChatQuestion]) -> Iterator[tuple[int, Reply]]:
        """Yield for each question its index, and a `Reply` with the log-probability of each label as first token."""
        for start in range(0, len(questions), _CHUNK_SIZE):
            chunk = questions[start : start + _CHUNK_SIZE]
            prepared = []
            for question in chunk:
                ids, tokens = self._encode_prompt(question.prompt), self._list_label_tokens(question.labels)
                self._reject_long_prompt(len(ids))
                prepared.append((tokens, Question(ids, tuple((len(ids) - 1, token) for _, token in tokens))))
            with AnswerStore(":memory:") as store:
                answers = self.model.answer(
                    [message for _, message in prepared], kind="causal", store=store, names={}, report=lambda _: None
                )
            for index, (tokens, message) in enumerate(prepared):
                values = answers[message.digest].tolist()
                firsts = tuple((text, value) for (text, _), value in zip(tokens, values, strict=True))
                yield start + index, Reply("", first_tokens=firsts, tokens_in=len(message.ids))

    def _list_label_tokens(self, labels: Sequence[str]) -> list[tuple[str, int]]:
        """Return the labels with their token ids; a label has up to two ids, with and without a space before it."""
        tokens = []
        for label in labels:
            for text in (label, f" {label}"):
                ids = self._encode_text(text)
                if len(ids) == 1 and (label, ids[0]) not in tokens:
                    tokens.append((label, ids[0]))
            if not any(name == label for name, _ in tokens):
                raise ModelError(
                    f"The tokenizer of {self.name} has no single token for the label {label}; omit "
                    "--protocol choice-probabilities."
                )
        return tokens

    def _reject_long_prompt(self, length: int) -> None:
        longest = self.model.max_length
        if longest is not None and length > longest:
            raise ModelError(
                f"A message and its reply have {length} tokens, but {self.name} reads at most {longest}; lower "
                "--max-tokens, or remove the longest items."
            )


def _compute_seed(ids: Sequence[int], sample: int) -> int:
    # The seed depends only on the message and the index of the sample, so that a resumed run draws the same samples.
    digest = hashlib.sha256(repr((tuple(ids), sample)).encode()).digest()
    return int.from_bytes(digest[:8], "big")


@contextmanager
def _translate_errors(name: str) -> Iterator[None]:
    """Convert errors of torch, transformers or the model's own code to ModelError."""
    try:
        yield
    except (RuntimeError, LookupError, ValueError, TypeError, AttributeError, ArithmeticError, AssertionError) as error:
        raise ModelError(
            f"{name} cannot reply: {describe_error(error)}; check its config and files, or try --device cpu. Earlier "
            "replies are kept."
        ) from error


def open_local_chat(name: str, options: ModelOptions) -> LocalChat:
    """Open a chat model; `name` is a folder, a hub id or `embedded` (the built-in model)."""
    from tiltmeter.models.model_opener import open_given_model

    start_template_worker()
    # The option --chat-template is turned off here, because a chat model always uses its chat template. The caller
    # raises an error if the option is set. The language model inside has no variants.
    plain = replace(options, chat_template=False, system_prompt=None, persona=None, thinking=None, thinking_tokens=None)
    model = open_given_model(name, plain)
    if not isinstance(model, LocalModel) or model.kind != "causal":
        raise ModelError(f"{name} is not a causal model on this machine, so it cannot be a chat model; omit `chat:`.")
    return wrap_local_model(model, ChatVariant.from_options(options))


def wrap_local_model(model: LocalModel, variant: ChatVariant = _NO_VARIANT) -> LocalChat:
    """Return a local model as a chat model; raise an error if the model has no usable chat template."""
    if "next-sentence" in model.kinds:
        raise ModelError(f"{model.name} has a next-sentence head, which writes no replies; use its base model instead.")
    if not getattr(model.tokenizer, "chat_template", None):
        raise ModelError(
            f"{model.name} has no chat template, so it is not a chat model; omit `chat:` to measure it as a "
            "language model."
        )
    chat = LocalChat(name=f"chat:{model.name}{variant.suffix}", model=model, variant=variant)
    _ = chat.end_tokens
    if chat._encode_prompt("Tea or milk?") == chat._encode_prompt("A brook or a river?"):
        raise ModelError(f"The chat template of {model.name} omits the user's message; correct the template.")
    _reject_idle_variant(chat)
    return chat


def _reject_idle_variant(chat: LocalChat) -> None:
    """Raise an error if the chat template ignores the system prompt or the thinking of the variant."""
    variants = {
        "--system-prompt": replace(chat.variant, system_prompt="") if chat.variant.system_prompt else None,
        "--persona": replace(chat.variant, persona="") if chat.variant.persona else None,
        "--thinking": replace(chat.variant, thinking=False, thinking_tokens=None) if chat.variant.thinking else None,
    }
    for option, other in variants.items():
        if other is None:
            continue
        plain = LocalChat(name=chat.name, model=chat.model, variant=other)
        if plain._encode_prompt("Tea or milk?") == chat._encode_prompt("Tea or milk?"):
            raise ModelError(f"The chat template of {chat.model.name} ignores {option}; omit the option.")
