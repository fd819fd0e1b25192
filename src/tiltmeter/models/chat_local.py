"""Chat models that transformers runs on this machine, asked through their chat template."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import nn
from transformers import GenerationConfig

from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.errors import ModelError
from tiltmeter.models.local import LocalModel
from tiltmeter.models.protocol import ModelOptions
from tiltmeter.models.quiet import quiet_transformers
from tiltmeter.models.text import TokenizerText
from tiltmeter.questions import ChatQuestion, Question, Reply, Sampling

# Tokens of messages and answers in a batch. Replies are stored after each, so that a killed run loses few.
_BATCH_TOKENS = 8_192
# Messages whose label probabilities are computed, and stored, at a time.
_AT_ONCE = 128


@dataclass(kw_only=True)
class LocalChat:
    """A local chat model (see `tiltmeter.models.protocol.ChatModel`)."""

    name: str
    model: LocalModel

    def chat_fingerprint(self, sampling: Sampling) -> str:
        """The model's own fingerprint, its template, and the settings of sampling."""
        template = hashlib.sha256(str(self.model.tokenizer.chat_template).encode()).hexdigest()
        settings = "probabilities" if sampling.probabilities else f"{sampling.temperature:g} {sampling.max_tokens}"
        parts = ("chat", self.model.fingerprint("causal"), template, settings)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def describe(self) -> dict[str, Any]:
        """What the manifest says of it."""
        template = hashlib.sha256(str(self.model.tokenizer.chat_template).encode()).hexdigest()
        return {**self.model.describe(), "kind": "chat", "template": template}

    @property
    def text(self) -> TokenizerText:
        """Its tokenizer and special tokens."""
        return self.model.text

    def tokens(self, prompt: str) -> int:
        """The number of tokens of a message in the template."""
        return len(self._ids(prompt))

    def longest_message(self, sampling: Sampling) -> int | None:
        """The longest message, in tokens, that leaves room for the answer; None if there is no limit."""
        longest = self.model.max_length
        return longest if longest is None or sampling.probabilities else longest - sampling.max_tokens

    def replies(self, questions: Sequence[ChatQuestion], sampling: Sampling) -> Iterator[tuple[int, Reply]]:
        """The replies, a batch at a time."""
        with self.model.measuring():
            if sampling.probabilities:
                yield from self._label_probabilities(questions)
            else:
                yield from self._texts(questions, sampling)

    def close(self) -> None:
        """Let go of the weights."""
        self.model.close()
        self.__dict__.pop("_generating", None)

    def _ids(self, prompt: str) -> tuple[int, ...]:
        messages = [{"role": "user", "content": prompt}]
        # Templates that can let a model think aloud are told not to; others ignore it.
        text = self.model.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, enable_thinking=False
        )
        return tuple(self.model.tokenizer(text, add_special_tokens=False).input_ids)

    @cached_property
    def _generating(self) -> nn.Module:
        return self.model._module("causal")

    def _texts(self, questions: Sequence[ChatQuestion], sampling: Sampling) -> Iterator[tuple[int, Reply]]:
        """Generated texts, the longest messages first, so that a batch needs little padding, and no later one more."""
        encoded = [self._ids(question.prompt) for question in questions]
        self._refuse_long(max(map(len, encoded), default=0) + sampling.max_tokens)
        waiting = sorted(range(len(encoded)), key=lambda index: -len(encoded[index]))
        while waiting:
            width = len(encoded[waiting[0]]) + sampling.max_tokens
            size = max(1, _BATCH_TOKENS // width)
            batch, waiting = waiting[:size], waiting[size:]
            rows, samples = [encoded[index] for index in batch], [questions[index].sample for index in batch]
            yield from zip(batch, self._generate(rows, samples, sampling), strict=True)

    @quiet_transformers()
    @torch.inference_mode()
    def _generate(self, rows: Sequence[tuple[int, ...]], samples: Sequence[int], sampling: Sampling) -> list[Reply]:
        tokenizer = self.model.tokenizer
        ends = _end_tokens(self._generating, tokenizer)
        # A config of our own: that of a model may hold penalties and cuts, which are not what is asked for.
        config = GenerationConfig(  # type: ignore[no-untyped-call]
            max_new_tokens=sampling.max_tokens,
            do_sample=sampling.temperature > 0,
            temperature=sampling.temperature or None,
            top_k=0 if sampling.temperature else None,
            top_p=1.0 if sampling.temperature else None,
            eos_token_id=ends,
            pad_token_id=tokenizer.pad_token_id if tokenizer.pad_token_id is not None else ends[0],
        )
        width = max(map(len, rows))
        padded = [[config.pad_token_id] * (width - len(row)) + list(row) for row in rows]
        mask = [[0] * (width - len(row)) + [1] * len(row) for row in rows]
        device = self.model.device
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(_seed(rows, samples))
            made: Any = self._generating.generate(  # type: ignore[operator]
                torch.tensor(padded, device=device),
                attention_mask=torch.tensor(mask, device=device),
                generation_config=config,
            )
        answers = [_until_end(answer, ends) for answer in made[:, width:].tolist()]
        texts = tokenizer.batch_decode(answers, skip_special_tokens=True)
        return [
            Reply(text, tokens_in=len(row), tokens_out=len(answer), cut=answer[-1] not in ends)
            for row, answer, text in zip(rows, answers, texts, strict=True)
        ]

    def _label_probabilities(self, questions: Sequence[ChatQuestion]) -> Iterator[tuple[int, Reply]]:
        """The log-probability of each label as the first token of the answer, by the engine."""
        for start in range(0, len(questions), _AT_ONCE):
            chunk = questions[start : start + _AT_ONCE]
            asked = []
            for question in chunk:
                ids, tokens = self._ids(question.prompt), self._label_tokens(question.labels)
                self._refuse_long(len(ids))
                asked.append((tokens, Question(ids, tuple((len(ids) - 1, token) for _, token in tokens))))
            with AnswerStore(":memory:") as store:
                answers = self.model.answer(
                    [message for _, message in asked], kind="causal", store=store, names={}, report=lambda _: None
                )
            for index, (tokens, message) in enumerate(asked):
                values = answers[message.digest].tolist()
                firsts = tuple((text, value) for (text, _), value in zip(tokens, values, strict=True))
                yield start + index, Reply("", first_tokens=firsts, tokens_in=len(message.ids))

    def _label_tokens(self, labels: Sequence[str]) -> list[tuple[str, int]]:
        """The tokens that stand for each label, with and without a space before it."""
        tokens = []
        for label in labels:
            for text in (label, f" {label}"):
                ids = self.model.tokenizer(text, add_special_tokens=False).input_ids
                if len(ids) == 1 and (label, ids[0]) not in tokens:
                    tokens.append((label, ids[0]))
            if not any(name == label for name, _ in tokens):
                raise ModelError(
                    f"The tokenizer of {self.name} has no token for the label {label}; leave out "
                    "--protocol choice-probabilities."
                )
        return tokens

    def _refuse_long(self, length: int) -> None:
        longest = self.model.max_length
        if longest is not None and length > longest:
            raise ModelError(
                f"A message and its answer have {length} tokens, but {self.name} reads at most {longest}; lower "
                "--max-tokens, or leave the longest items out."
            )


def _end_tokens(module: nn.Module, tokenizer: Any) -> list[int]:
    """The tokens that end an answer, by the model's config and its tokenizer."""
    named = getattr(getattr(module, "generation_config", None), "eos_token_id", None)
    listed = named if isinstance(named, list) else [named]
    found = [token for token in (*listed, tokenizer.eos_token_id) if token is not None]
    if not found:
        raise ModelError("The model names no token that ends an answer, so it cannot be asked as a chat model.")
    return list(dict.fromkeys(map(int, found)))


def _until_end(tokens: Sequence[int], ends: Sequence[int]) -> list[int]:
    """The tokens of an answer with the one that ends it, without padding.

    >>> _until_end([5, 6, 2, 2, 2], [2])
    [5, 6, 2]
    """
    length = next((place + 1 for place, token in enumerate(tokens) if token in ends), len(tokens))
    return list(tokens[:length])


def _seed(rows: Sequence[tuple[int, ...]], samples: Sequence[int]) -> int:
    """A seed that depends on the messages of a batch and their samples, so that repeating a run repeats its samples."""
    digest = hashlib.sha256(repr((rows, samples)).encode()).digest()
    return int.from_bytes(digest[:4], "big")


def open_chat_local(name: str, options: ModelOptions) -> LocalChat:
    """The model of a name such as `chat:./folder`, `chat:HUB_ID` or `chat:embedded`."""
    from tiltmeter.models.opening import open_given

    # A chat model is asked inside its template anyway; the caller refuses the option.
    model = open_given(name, replace(options, chat_template=False))
    if not isinstance(model, LocalModel) or model.kind != "causal":
        raise ModelError(f"{name} is not a causal model on this machine, so it cannot be asked as a chat model.")
    return local_chat(model)


def local_chat(model: LocalModel) -> LocalChat:
    """A local model as a chat model; an error if it has no chat template."""
    if not getattr(model.tokenizer, "chat_template", None):
        raise ModelError(
            f"{model.name} has no chat template, so it is not a chat model; leave out `chat:` to measure it as a "
            "language model."
        )
    return LocalChat(name=f"chat:{model.name}", model=model)
