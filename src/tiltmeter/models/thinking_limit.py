"""Generation of replies whose thinking has a maximum length, with models on this machine.

A text is generated up to the maximum length of the thinking. If the thinking has not ended by then, the mark that ends
it is appended, and the model continues with the answer. In this way every model answers, however long it would think.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol

from tiltmeter.models.text_generation import SeededPrompt


class Generator(Protocol):
    """A generator of texts, such as `tiltmeter.models.text_generation.TextGenerator`."""

    def generate_texts(
        self, prompts: Sequence[SeededPrompt], *, longest: int, temperature: float
    ) -> Iterator[tuple[Sequence[int], list[list[int]]]]:
        """Yield the indices of some prompts and the generated tokens."""


@dataclass(frozen=True, slots=True)
class ThinkingLimit:
    """The maximum length of the thinking in tokens, and the tokens that begin and end it.

    `ends` are the tokens that end a text. With `is_open`, the prompt already contains the token that begins the
    thinking.
    """

    tokens: int
    start: int | None
    end: int
    ends: Sequence[int]
    is_open: bool = False

    def begin_answer(self, text: Sequence[int], longest: int) -> tuple[list[int], int | None]:
        """Return the tokens of a text up to the point where the answer continues, and the length of the answer so far.

        The length is None if the answer is complete. It is complete after `longest` tokens.

        >>> limit = ThinkingLimit(3, start=8, end=9, ends=[0])
        >>> limit.begin_answer([8, 1, 2], 4), limit.begin_answer([8, 9, 5], 4), limit.begin_answer([8, 9, 0], 4)
        (([8, 1, 2, 9], 0), ([8, 9, 5], 1), ([8, 9, 0], None))
        """
        tokens = list(text)
        if self.end in tokens:
            start = tokens.index(self.end) + 1
        elif self.is_open or self.start in tokens:
            return [*(tokens[:-1] if tokens[-1] in self.ends else tokens), self.end], 0
        else:
            start = 0  # a reply without thinking
        tokens = tokens[: start + longest]
        is_complete = tokens[-1] in self.ends or len(tokens) == start + longest
        return tokens, None if is_complete else len(tokens) - start


def find_mark_token(mark: str, encode: Callable[[str], Sequence[int]]) -> int | None:
    """Return the id of the token of a mark; None if the mark consists of several tokens."""
    ids = encode(mark)
    return ids[0] if len(ids) == 1 else None


def generate_with_limited_thinking(
    generator: Generator, prompts: Sequence[SeededPrompt], limit: ThinkingLimit, *, longest: int, temperature: float
) -> Iterator[tuple[Sequence[int], list[list[int]]]]:
    """Yield the indices of some prompts and their tokens: the thinking, the token that ends it, and the answer.

    An answer has at most `longest` tokens.
    """
    for places, texts in generator.generate_texts(prompts, longest=limit.tokens, temperature=temperature):
        begun = [limit.begin_answer(text, longest) for text in texts]
        finished = [tokens for tokens, _ in begun]
        pending = {row: written for row, (_, written) in enumerate(begun) if written is not None}
        rows = list(pending)
        continued = [_continue_prompt(prompts[places[row]], finished[row]) for row in rows]
        if continued:
            for found, answers in generator.generate_texts(continued, longest=longest, temperature=temperature):
                for index, answer in zip(found, answers, strict=True):
                    row = rows[index]
                    finished[row] = [*finished[row], *answer[: longest - pending[row]]]
        yield places, finished


def _continue_prompt(prompt: SeededPrompt, tokens: Sequence[int]) -> SeededPrompt:
    ids = (*prompt.ids, *tokens)
    seed = sha256(repr((prompt.seed, ids)).encode()).digest()
    return SeededPrompt(ids, int.from_bytes(seed[:8], "big"))
