"""What the two sentences of a pair have in common, token by token."""

from collections.abc import Sequence
from difflib import SequenceMatcher

from tiltmeter.benchmarks.benchmark import CannotAsk
from tiltmeter.questions import Encoded


def shared_positions(one: Sequence[int], other: Sequence[int]) -> list[tuple[int, int]]:
    """Where the tokens of the longest matching blocks stand in the one and in the other sequence.

    These are the blocks of `difflib` with its defaults, as in the released code of CrowS-Pairs and of S_JSD. So a token
    that makes up more than a hundredth of a text of 200 tokens or longer begins no block, and which blocks are found
    can depend on which sentence comes first.

    >>> shared_positions([7, 1, 2, 3], [8, 9, 1, 2, 5])
    [(1, 2), (2, 3)]
    """
    blocks = SequenceMatcher(None, one, other).get_matching_blocks()
    return [(block.a + step, block.b + step) for block in blocks for step in range(block.size)]


def text_positions(whole: Encoded, alone: Encoded) -> range:
    """Where the tokens of the text itself stand among the special ones that an input has around it.

    >>> text_positions(Encoded((101, 7, 8, 102)), Encoded((7, 8)))
    range(1, 3)
    """
    length = len(alone.ids)
    for start in range(len(whole.ids) - length + 1):
        if whole.ids[start : start + length] == alone.ids:
            return range(start, start + length)
    raise CannotAsk(
        "The tokenizer cuts a text differently when special tokens stand around it, so that the text's own tokens "
        "cannot be told from them."
    )
