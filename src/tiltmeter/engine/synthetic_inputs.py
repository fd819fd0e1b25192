"""Synthetic inputs for the checks of a loaded model, without special tokens."""

from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import Any

from torch import nn

from tiltmeter.engine.input_limits import list_config_entries, read_decoder_start_token
from tiltmeter.questions import Ids, Kind, Question

# Endings of the names of config entries that contain the id of a special token.
_SPECIAL = ("token_id", "token_ids", "token_index", "pad_index", "pad_idx", "eos_index", "bos_index", "unk_index")
# Number of distinct token ids in the inputs.
_DISTINCT = 251
# Questions for a next-sentence head read both decisions, because the probability of one decision may be too close to 1
# to show a difference.
_DECISIONS = ((0, 0), (0, 1))
# The token ids whose probabilities are requested: in questions about every position, and about few positions.
_WANTED, _WANTED_OF_FEW = 1, 2


class SyntheticInputs:
    """Inputs and questions for the checks of one model.

    An input for a next-sentence head has one output, at position 0. An input for an encoder-decoder is a target, and
    its source is one of `build_short_sources`. Each token of a short input is repeated `stretch` times.
    """

    def __init__(self, model: nn.Module, kind: Kind, stretch: int = 1) -> None:
        self._kind = kind
        self._stretch = stretch
        self._pool = select_ordinary_ids(model.config, _find_vocabulary_size(model))
        self._decoder_start = _find_decoder_start(model.config) if kind == "seq2seq" else None

    def build_mixed_input(self, length: int, start: int = 0) -> Ids:
        """Return an input in which neighbouring tokens differ; `start` selects one of many irregular sequences."""
        pool = self._pool
        return tuple(pool[(start + 7 * index + index * index // 3) % len(pool)] for index in range(length))

    def build_repeated_input(self, length: int, start: int) -> Ids:
        """Return an input that repeats one token, after a first token that depends on `start`.

        All these inputs repeat the same token, which a mixture of experts sends to a single expert.
        """
        return (self._pool[start % (len(self._pool) - 1)], *(self._pool[-1:] * (length - 1)))

    def build_short_inputs(self) -> list[Ids]:
        """Return four short inputs: three with common prefixes of two lengths, and one without a common prefix."""
        a, b, c, d, e, f, g, h = (self._pool[index % len(self._pool)] for index in range(8))
        inputs = (a, b, c, d), (a, b, c, e, f), (a, b, g), (e, c, h, b, a, d)
        return [tuple(token for token in ids for _ in range(self._stretch)) for ids in inputs]

    def build_short_sources(self) -> list[Ids]:
        """Return two short sources for an encoder-decoder, or one empty source for other models."""
        if self._kind != "seq2seq":
            return [()]
        return [self.build_mixed_input(3 * self._stretch, 20), self.build_mixed_input(4 * self._stretch, 40)]

    def build_questions(self, inputs: Sequence[Ids], sources: Sequence[Ids] = ()) -> list[Question]:
        """Return one question for each input and source, which reads every position of the input."""
        return [
            Question(
                ids, _DECISIONS if self._has_one_output else tuple((at, _WANTED) for at in range(len(ids))), source
            )
            for ids, source in self._pair_with_sources(inputs, sources)
        ]

    def build_end_questions(self, inputs: Sequence[Ids], sources: Sequence[Ids] = ()) -> list[Question]:
        """Return questions that read the last position of each input, for another token than `build_questions()`."""
        return [
            Question(ids, _DECISIONS if self._has_one_output else ((len(ids) - 1, _WANTED_OF_FEW),), source)
            for ids, source in self._pair_with_sources(inputs, sources)
        ]

    def build_spread_questions(self) -> list[Question]:
        """Return questions about two inputs of equal length; each reads only two of the many positions of its input."""
        questions = []
        for start in (70, 71):
            ids = self.build_mixed_input(8 + 4 * self._stretch, start)
            wanted = ((len(ids) // 2, _WANTED_OF_FEW), (len(ids) - 1, _WANTED_OF_FEW))
            questions.append(
                Question(ids, _DECISIONS if self._has_one_output else wanted, self.build_short_sources()[0])
            )
        return questions

    @property
    def _has_one_output(self) -> bool:
        return self._kind == "next-sentence"

    def _pair_with_sources(self, inputs: Sequence[Ids], sources: Sequence[Ids]) -> Iterator[tuple[Ids, Ids]]:
        """Return pairs of an input and a source; the inputs of a decoder begin with the decoder's start token."""
        start = self._decoder_start
        begun = [ids if start is None else (start, *ids[1:]) for ids in inputs]
        return zip(begun, cycle(sources or self.build_short_sources()), strict=False)


def select_ordinary_ids(config: Any, size: int) -> Ids:
    """Return token ids from all parts of a vocabulary of `size` tokens; the config's special tokens are left out."""
    special: set[int] = set()
    for name, value in list_config_entries(config.to_dict()):
        if name.endswith(_SPECIAL):
            special.update(token for token in (value if isinstance(value, list) else [value]) if isinstance(token, int))
    ids = [token for token in range(size) if token not in special and token not in (0, _WANTED, _WANTED_OF_FEW)]
    step = max(1, len(ids) // _DISTINCT)
    return tuple(ids[::step][:_DISTINCT]) or tuple(range(size))


def _find_decoder_start(config: Any) -> int | None:
    """Return the id of the decoder's start token, or of the padding token if there is no start token."""
    start = read_decoder_start_token(config)
    return getattr(config, "pad_token_id", None) if start is None else start


def _find_vocabulary_size(model: Any) -> int:
    size = getattr(model.config.get_text_config(), "vocab_size", None)
    return size if isinstance(size, int) else int(model.get_input_embeddings().num_embeddings)
