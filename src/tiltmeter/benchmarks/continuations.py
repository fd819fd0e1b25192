"""Token ids of several continuations of one prompt; prompt and continuation are tokenized as one text.

Tokenizing a long prompt again for each continuation is slow. Therefore only the first continuation is tokenized with
the whole prompt. The other continuations are tokenized with only the last line of the prompt, and joined to the tokens
of the earlier lines. This fast method is used only if its tokens equal the tokens of the whole text, for the first
continuation of each prompt and for all continuations of a few prompts. Otherwise every text is tokenized as a whole.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from tiltmeter.questions import EncodedText, Ids, Tokenizer

# The number of prompts that are tokenized together. The offsets of all tokens of a data set would take too much memory.
_AT_ONCE = 300
# The number of prompts for which the fast method is compared with tokenizing whole texts.
_COMPARED = 20
# A placeholder for the lines before the last line of a prompt.
_LINE_BEFORE = "a."


class Continuation(NamedTuple):
    """The token ids of a prompt with a continuation, and the index of the continuation's first token."""

    ids: Ids
    first: int


class ContinuedPrompt(NamedTuple):
    """A prompt and its continuations; a space separates the prompt from a continuation."""

    text: str
    continuations: tuple[str, ...]

    @property
    def texts(self) -> list[str]:
        """The whole texts: the prompt followed by each continuation."""
        return [f"{self.text} {continuation}" for continuation in self.continuations]

    @property
    def last_line(self) -> str:
        """The text after the last line break of the prompt."""
        return self.text.rpartition("\n")[2]


def encode_continuations(text: Tokenizer, prompts: Sequence[ContinuedPrompt]) -> Iterator[list[Continuation]]:
    """Yield for each prompt the list of its encoded continuations, without special tokens around the text."""
    compared = prompts[:_COMPARED]
    can_join = text.has_offsets and list(_tokenize_endings_separately(text, compared)) == list(
        _encode_whole_texts(text, compared)
    )
    encode = _tokenize_endings_separately if can_join else _encode_whole_texts
    for start in range(0, len(prompts), _AT_ONCE):
        yield from encode(text, prompts[start : start + _AT_ONCE])


def _encode_whole_texts(text: Tokenizer, prompts: Sequence[ContinuedPrompt]) -> Iterator[list[Continuation]]:
    encoded = iter(text.encode([written for prompt in prompts for written in prompt.texts], offsets=text.has_offsets))
    if text.has_offsets:
        for prompt in prompts:
            found = islice(encoded, len(prompt.continuations))
            yield [Continuation(one.ids, _find_token_ending_after(one, len(prompt.text))) for one in found]
    else:
        for prompt, alone in zip(prompts, text.encode([prompt.text for prompt in prompts]), strict=True):
            yield [Continuation(one.ids, len(alone.ids)) for one in islice(encoded, len(prompt.continuations))]


def _tokenize_endings_separately(text: Tokenizer, prompts: Sequence[ContinuedPrompt]) -> Iterator[list[Continuation]]:
    """Yield the continuations by the fast method: only the first text of each prompt is tokenized as a whole."""
    endings = _encode_endings(text, prompts)
    wholes = text.encode([prompt.texts[0] for prompt in prompts])
    for prompt, whole in zip(prompts, wholes, strict=True):
        line = prompt.last_line
        first = endings[line, prompt.continuations[0]].ids
        cut = len(whole.ids) - len(first)
        if len(line) == len(prompt.text) or whole.ids[cut:] != first:
            yield from _encode_whole_texts(text, [prompt])
            continue
        before = whole.ids[:cut]
        found = [endings[line, continuation] for continuation in prompt.continuations]
        yield [Continuation((*before, *ending.ids), cut + ending.first) for ending in found]


def _encode_endings(text: Tokenizer, prompts: Sequence[ContinuedPrompt]) -> dict[tuple[str, str], Continuation]:
    """Return the tokens of (last line of a prompt, continuation) in a text in which another line precedes them."""
    pairs = list(dict.fromkeys((prompt.last_line, one) for prompt in prompts for one in prompt.continuations))
    encoded = text.encode([f"{_LINE_BEFORE}\n{line} {continuation}" for line, continuation in pairs], offsets=True)
    start = len(_LINE_BEFORE) + 1
    endings = {}
    for (line, continuation), one in zip(pairs, encoded, strict=True):
        cut = _find_token_starting_from(one, start)
        endings[line, continuation] = Continuation(
            one.ids[cut:], _find_token_ending_after(one, start + len(line)) - cut
        )
    return endings


def _find_token_starting_from(encoded: EncodedText, character: int) -> int:
    """Return the index of the first token that begins at this character index or later."""
    return bisect_left(encoded.offsets, character, key=itemgetter(0))


def _find_token_ending_after(encoded: EncodedText, characters: int) -> int:
    """Return the index of the first token whose end is after the first `characters` characters."""
    return bisect_right(encoded.offsets, characters, key=itemgetter(1))
