"""Word associations (Bai et al. 2025): to which of two groups does a chat model assign the words of a list?

A chat model gets all words of a test in one message (`forced_choice/word_lists`) and assigns each word to a group. The
names of the groups are in both orders. A language model without chat is not supported: the log-probability of a group's
name depends more on how frequent the name is than on the word.
"""

from collections.abc import Sequence

from tiltmeter.benchmarks.benchmark import Benchmark, MessageSet, PartTrials, UnsupportedPart, allow_splitting
from tiltmeter.benchmarks.forced_choice.word_lists import (
    build_word_prompts,
    count_reply_tokens,
    parse_word_reply,
    score_replies,
)
from tiltmeter.forms.word_association import WordAssociationItem
from tiltmeter.questions import Choice, Option, Tokenizer

PROTOCOLS = {"published": "chat models only: each word of a list is assigned to one of two groups"}


def ask(part: str, items: Sequence[WordAssociationItem], text: Tokenizer, *, protocol: str) -> PartTrials:
    """Raise UnsupportedPart, because only chat models can be asked."""
    del part, items, text, protocol
    raise UnsupportedPart("Word associations are measured with chat models only; use chat:MODEL.")


def build_choice(item: WordAssociationItem) -> Choice:
    """Return the item as a choice between its two groups."""
    options = (Option("stereotype", item.group.strip()), Option("anti-stereotype", item.other_group.strip()))
    return Choice("assign", item.word.strip(), options)


BENCHMARK = Benchmark(
    form="word-association",
    protocols=PROTOCOLS,
    measures="word_association",
    ask=ask,
    item_by_item=allow_splitting,
    choice=build_choice,
    messages=MessageSet(build_word_prompts, parse_word_reply, score_replies, count_reply_tokens),
    choice_measures="word_association",
)
