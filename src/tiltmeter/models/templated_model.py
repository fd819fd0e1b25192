"""A causal model inside its own chat template: each scored text is the assistant's turn after a fixed user turn."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.errors import ModelError
from tiltmeter.models.chat_template import ChatTemplate
from tiltmeter.models.model_protocol import Model
from tiltmeter.models.tokenizer_growth import reject_text_growth
from tiltmeter.models.tokenizer_text import TokenizerText
from tiltmeter.progress.progress import ReportProgress
from tiltmeter.questions import Answer, EncodedText, Ids, Kind, Question

USER_TURN = "Write a sentence."
# A placeholder for the template's tokens before the assistant's turn; -1 is never a token id.
_START = -1
_TURN_MARK = "ASSISTANTTURN"
_SAMPLE = "The"


class TemplatedText(TokenizerText):
    """A tokenizer that puts one placeholder before each text, for the template's tokens before the assistant's turn."""

    def __init__(self, tokenizer: Any) -> None:
        super().__init__(tokenizer, None, "causal")
        self.start = _START

    def encode_with_special_tokens(self, texts: Sequence[str], *, offsets: bool = False) -> list[EncodedText]:
        """Tokenize texts, and put the placeholder before each text; the template contains all other special tokens."""
        encoded = self.encode(texts, offsets=offsets)
        return [EncodedText((_START, *text.ids), ((0, 0), *text.offsets) if offsets else ()) for text in encoded]


class TemplatedModel:
    """Wraps a local causal model, and puts each text inside the model's chat template."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._tokenizer = _find_tokenizer(model)
        self.name = model.name
        self.kinds: tuple[Kind, ...] = ("causal",)
        self._prefix_text, self._prefix = _render_prefix(model.name, self._tokenizer)

    @cached_property
    def text(self) -> TemplatedText:
        """The tokenizer and its special tokens."""
        return TemplatedText(self._tokenizer)

    @property
    def max_length(self) -> int | None:
        """The maximum length of a text inside the template, in tokens; None means no limit."""
        longest = self._model.max_length
        return None if longest is None else longest - len(self._prefix) + 1

    def fingerprint(self, kind: Kind) -> str:
        """Return the fingerprint of the wrapped model, because the template is already part of the questions."""
        return self._model.fingerprint(kind)

    def describe(self) -> dict[str, Any]:
        """Return the model's entry in the manifest of a run, with the template's text before each item."""
        return {**self._model.describe(), "chat_template": {"text in front of each item": self._prefix_text}}

    def answer(
        self,
        questions: Sequence[Question],
        *,
        kind: Kind,
        store: AnswerStore,
        names: Mapping[bytes, str],
        report: ReportProgress,
    ) -> Mapping[bytes, Answer]:
        """Return the answers to all questions as a dictionary; the keys are the digests of the questions."""
        inside = {question.digest: self.prepend_template(question) for question in questions}
        items = {inside[digest].digest: name for digest, name in names.items() if digest in inside}
        answers = self._model.answer(list(inside.values()), kind=kind, store=store, names=items, report=report)
        return {digest: answers[question.digest] for digest, question in inside.items()}

    def prepend_template(self, question: Question) -> Question:
        """Return the question with the template's tokens at the beginning; they replace the placeholder, if any."""
        marked = question.ids[:1] == (_START,)
        ids = question.ids[1:] if marked else question.ids
        shift = len(self._prefix) - marked
        wanted = tuple((position + shift, token) for position, token in question.wanted)
        return Question((*self._prefix, *ids), wanted, want=question.want)

    def close(self) -> None:
        """Close the wrapped model."""
        self._model.close()


def _find_tokenizer(model: Model) -> Any:
    if model.kinds[:1] != ("causal",):
        raise ModelError(
            f"{model.name} is a {model.kinds[0]} model, but --chat-template is only for causal models; omit it."
        )
    if "next-sentence" in model.kinds:
        raise ModelError(
            f"{model.name} has a next-sentence head, which was not trained inside a chat template; omit "
            "--chat-template, or measure its base model."
        )
    text = model.text
    if not isinstance(text, TokenizerText) or not text.has_chat_template:
        raise ModelError(f"The tokenizer of {model.name} has no chat template; omit --chat-template.")
    return text.tokenizer


def _render_prefix(name: str, tokenizer: Any) -> tuple[str, Ids]:
    """Return the text of the chat template before the assistant's turn, and its tokens."""
    turns = [{"role": "user", "content": USER_TURN}, {"role": "assistant", "content": _TURN_MARK}]
    rendered = ChatTemplate(name, tokenizer).render(turns)
    prefix, mark, _ = rendered.partition(_TURN_MARK)
    if not mark:
        raise ModelError(f"The chat template of {name} omits the assistant's turn; omit --chat-template.")

    def encode_text(text: str) -> Ids:
        reject_text_growth(tokenizer, [text])
        return tuple(tokenizer(text, add_special_tokens=False)["input_ids"])

    # The prefix is also tried without its last space, because SentencePiece makes the space before a word part of the
    # word's token.
    for front in (prefix, prefix.removesuffix(" ")):
        if encode_text(prefix + _SAMPLE) == encode_text(front) + encode_text(_SAMPLE):
            return prefix, encode_text(front)
    raise ModelError(
        f"The tokenizer of {name} splits a text differently inside its chat template; omit --chat-template."
    )
