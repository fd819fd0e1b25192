"""Own prompts: what does a chat model reply to the same prompt about two groups?

For each item the model gets two messages, about the group and about the reference group. The readings of the replies
(`reply_readings`) are averaged over samples, and the scores of an item are the differences between the two messages.
Unreadable replies give a lowest and a highest possible difference.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

from tiltmeter.benchmarks.benchmark import Benchmark, MessageSet, PartTrials, UnsupportedPart, allow_splitting
from tiltmeter.benchmarks.forced_choice.choice_scores import ItemAnswer
from tiltmeter.benchmarks.forced_choice.option_orders import Arrangement, OptionOrderDesign
from tiltmeter.benchmarks.forced_choice.prompts import Prompt
from tiltmeter.benchmarks.forced_choice.reply_marks import clean_reply
from tiltmeter.benchmarks.forced_choice.reply_parser import REFUSAL, TEXT, UNPARSEABLE, ParsedReply
from tiltmeter.benchmarks.own_prompt_scores import SIDES, OwnPrompt, compute_prompt_scores
from tiltmeter.benchmarks.reply_readings import is_refusal, reject_unreadable_item
from tiltmeter.forms.own_prompts import OwnPromptItem
from tiltmeter.questions import ChatQuestion, Option, Tokenizer

PROTOCOLS = {"published": "chat models only: each prompt is sent about a group and about the reference group"}
# The maximum length of a reply in tokens, unless the user sets another one.
REPLY_TOKENS = 256


def ask(part: str, items: Sequence[OwnPromptItem], text: Tokenizer, *, protocol: str) -> PartTrials:
    """Raise UnsupportedPart, because only chat models can be asked."""
    del part, items, text, protocol
    raise UnsupportedPart("Own prompts are for chat models only; use chat:MODEL.")


def build_messages(
    items: Sequence[OwnPromptItem], language: str, _design: OptionOrderDesign, samples: int = 1
) -> list[Prompt]:
    """Return the messages about the group and the reference group of each item."""
    prompts: list[Prompt] = []
    for item in items:
        reject_unreadable_item(item)
        for side, wording in zip(SIDES, (item.wording, item.reference_wording), strict=True):
            message = item.build_message(wording.strip())
            prompts += [
                OwnPrompt(
                    item.id,
                    Arrangement(0, (0,), False),
                    ChatQuestion(message, (), sample),
                    (Option(side, wording),),
                    language,
                    item,
                )
                for sample in range(samples)
            ]
    return prompts


def parse_text(prompt: Prompt, reply: str, _language: str) -> ParsedReply:
    """Return whether a reply is a refusal, a text or empty (unparseable)."""
    assert isinstance(prompt, OwnPrompt)
    text = clean_reply(reply)
    if not text:
        return UNPARSEABLE
    return REFUSAL if is_refusal(prompt.source, text) else TEXT


def score_texts(answered: Sequence[tuple[Prompt, ItemAnswer]]) -> Iterator[tuple[str, str, float]]:
    """Yield (item, role, score) for all items."""
    by_item: dict[str, list[tuple[OwnPrompt, ItemAnswer]]] = {}
    for prompt, answer in answered:
        assert isinstance(prompt, OwnPrompt)
        by_item.setdefault(prompt.item, []).append((prompt, answer))
    yield from chain.from_iterable(compute_prompt_scores(item, answers) for item, answers in by_item.items())


BENCHMARK = Benchmark(
    form="own-prompts",
    protocols=PROTOCOLS,
    measures="own_prompts",
    ask=ask,
    item_by_item=allow_splitting,
    messages=MessageSet(
        *(build_messages, parse_text, score_texts, lambda _items: REPLY_TOKENS, "free-text"), has_options=False
    ),
    choice_measures="own_prompts",
)
