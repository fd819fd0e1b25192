"""A causal model measured inside its own chat template: every text as the assistant's turn after a fixed user turn."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.execution import OnProgress
from tiltmeter.errors import ModelError
from tiltmeter.models.chat_template import ChatTemplate
from tiltmeter.models.model_protocol import Model
from tiltmeter.models.tokenizer_growth import reject_text_growth
from tiltmeter.models.tokenizer_text import TokenizerText
from tiltmeter.questions import Answer, EncodedText, Ids, Kind, Question

USER_TURN = "Write a sentence."
# Not a token: where a text begins, to be replaced by the tokens of the template in front of the assistant's words.
_START = -1
_MARK = "ASSISTANTTURN"
_SAMPLE = "The"


class TemplatedText(TokenizerText):
    """A tokenizer whose texts begin with a mark that stands for the chat template up to the assistant's words."""

    def __init__(self, tokenizer: Any) -> None:
        super().__init__(tokenizer, None, "causal")
        self.start = _START

    def encode_whole(self, texts: Sequence[str], *, offsets: bool = False) -> list[EncodedText]:
        """The texts after the mark; the template has all other special tokens."""
        found = self.encode(texts, offsets=offsets)
        return [EncodedText((_START, *one.ids), ((0, 0), *one.offsets) if offsets else ()) for one in found]


class TemplatedModel:
    """Another model (see `tiltmeter.models.model_protocol.Model`), asked inside its chat template."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._tokenizer = _find_tokenizer(model)
        self.name = model.name
        self.kinds: tuple[Kind, ...] = ("causal",)
        self._prefix_text, self._prefix = _render_prefix(model.name, self._tokenizer)

    @cached_property
    def text(self) -> TemplatedText:
        """Its tokenizer."""
        return TemplatedText(self._tokenizer)

    @property
    def max_length(self) -> int | None:
        """The longest text, in tokens, that fits into the template."""
        longest = self._model.max_length
        return None if longest is None else longest - len(self._prefix) + 1

    def fingerprint(self, kind: Kind) -> str:
        """That of the model itself; the template is part of the questions."""
        return self._model.fingerprint(kind)

    def describe(self) -> dict[str, Any]:
        """What the manifest says of it, with the text in front of every item."""
        return {**self._model.describe(), "chat_template": {"text in front of each item": self._prefix_text}}

    def answer(
        self,
        questions: Sequence[Question],
        *,
        kind: Kind,
        store: AnswerStore,
        names: Mapping[bytes, str],
        report: OnProgress,
    ) -> Mapping[bytes, Answer]:
        """The answers to all questions, by digest."""
        inside = {question.digest: self.prepend_template(question) for question in questions}
        items = {inside[digest].digest: name for digest, name in names.items() if digest in inside}
        answers = self._model.answer(list(inside.values()), kind=kind, store=store, names=items, report=report)
        return {digest: answers[question.digest] for digest, question in inside.items()}

    def prepend_template(self, question: Question) -> Question:
        """The question with the tokens of the template in front."""
        marked = question.ids[:1] == (_START,)
        ids = question.ids[1:] if marked else question.ids
        shift = len(self._prefix) - marked
        wanted = tuple((position + shift, token) for position, token in question.wanted)
        return Question((*self._prefix, *ids), wanted, want=question.want)

    def close(self) -> None:
        """Free the model."""
        self._model.close()


def _find_tokenizer(model: Model) -> Any:
    if model.kinds[:1] != ("causal",):
        raise ModelError(
            f"{model.name} is a {model.kinds[0]} model: --chat-template is for causal models, whose texts can be an "
            "assistant's turn."
        )
    if "next-sentence" in model.kinds:
        raise ModelError(
            f"{model.name} has a next-sentence head, which was not trained inside a chat template; leave out "
            "--chat-template, or measure its base model."
        )
    text = model.text
    if not isinstance(text, TokenizerText) or not text.has_chat_template:
        raise ModelError(f"The tokenizer of {model.name} has no chat template; leave out --chat-template.")
    return text.tokenizer


def _render_prefix(name: str, tokenizer: Any) -> tuple[str, Ids]:
    """The text and tokens of the chat template up to the assistant's words."""
    turns = [{"role": "user", "content": USER_TURN}, {"role": "assistant", "content": _MARK}]
    rendered = ChatTemplate(name, tokenizer).render(turns)
    prefix, mark, _ = rendered.partition(_MARK)
    if not mark:
        raise ModelError(f"The chat template of {name} leaves out the assistant's turn, so no text can be put there.")

    def encoded(text: str) -> Ids:
        reject_text_growth(tokenizer, [text])
        return tuple(tokenizer(text, add_special_tokens=False)["input_ids"])

    # A SentencePiece tokenizer gives the space in front of a word to the word.
    for front in (prefix, prefix.removesuffix(" ")):
        if encoded(prefix + _SAMPLE) == encoded(front) + encoded(_SAMPLE):
            return prefix, encoded(front)
    raise ModelError(
        f"The tokenizer of {name} splits a text differently inside its chat template, so --chat-template cannot be "
        "used."
    )
