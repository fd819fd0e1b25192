"""Token alignment: find the tokens that two sentences share, and a text's own tokens among special tokens."""

from collections.abc import Sequence

from tiltmeter.benchmarks.benchmark import UnsupportedPart
from tiltmeter.forms.bounded_matcher import BoundedMatcher
from tiltmeter.questions import EncodedText


def find_shared_positions(first: Sequence[int], second: Sequence[int]) -> list[tuple[int, int]]:
    """Return the positions of shared tokens in both sequences, by longest matching blocks.

    `difflib` with its default settings finds the blocks, as in the released code of CrowS-Pairs and of S_JSD.
    Therefore, in sequences of 200 tokens or more, a block cannot start with a token that makes up more than 1% of the
    sequence, and the result can depend on the order of the two sequences. A `MatchingLimitError` is raised if the
    sequences are too long and repetitive.

    >>> find_shared_positions([7, 1, 2, 3], [8, 9, 1, 2, 5])
    [(1, 2), (2, 3)]
    """
    blocks = BoundedMatcher(first, second, autojunk=True).get_matching_blocks()
    return [(block.a + step, block.b + step) for block in blocks for step in range(block.size)]


def find_text_positions(whole: EncodedText, alone: EncodedText) -> range:
    """Return the positions of a text's own tokens in its encoding with special tokens.

    >>> find_text_positions(EncodedText((101, 7, 8, 102)), EncodedText((7, 8)))
    range(1, 3)
    """
    length = len(alone.ids)
    for start in range(len(whole.ids) - length + 1):
        if whole.ids[start : start + length] == alone.ids:
            return range(start, start + length)
    raise UnsupportedPart(
        "The tokenizer splits a text differently if special tokens surround it, so the text's own tokens cannot be "
        "located."
    )


def find_tokens_between(whole: EncodedText, start: int, end: int) -> tuple[int, int]:
    """Return the range (first, end) of the tokens that cover the characters [start, end), or (0, 0) if there are none.

    >>> find_tokens_between(EncodedText((101, 7, 8, 102), ((0, 0), (0, 3), (3, 5), (0, 0))), 3, 5)
    (2, 3)
    """
    covering = [index for index, (first, last) in enumerate(whole.offsets) if first < end and last > start]
    return (covering[0], covering[-1] + 1) if covering else (0, 0)
