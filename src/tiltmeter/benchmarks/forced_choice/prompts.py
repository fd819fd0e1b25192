"""Build the messages about an item that are sent to a chat model."""

from dataclasses import dataclass

from tiltmeter.benchmarks.forced_choice.choice_scores import UNKNOWN
from tiltmeter.benchmarks.forced_choice.option_orders import Arrangement, OptionOrderDesign
from tiltmeter.benchmarks.forced_choice.wordings import LanguageWordings, load_wordings
from tiltmeter.questions import ChatQuestion, Choice, Option

LABELS = ("A", "B", "C", "D", "E", "F")
NEUTRAL = "neutral"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A message about an item; `options` are in the displayed order, with their displayed texts."""

    item: str
    arrangement: Arrangement
    question: ChatQuestion
    options: tuple[Option, ...]
    language: str


def build_prompts(
    item: str, language: str, choice: Choice, design: OptionOrderDesign, samples: int = 1
) -> list[Prompt]:
    """Return all messages about one item; `item` is the id of the item, and each message is repeated `samples` times.

    >>> choice = Choice("blank", "The tea was BLANK.", (Option("stereotype", "hot"), Option("anti-stereotype", "iced")))
    >>> print(build_prompts("tea", "en", choice, OptionOrderDesign())[1].question.prompt)
    Which option fits the blank best?
    <BLANKLINE>
    The tea was ____.
    <BLANKLINE>
    A. iced
    B. hot
    <BLANKLINE>
    Answer with the letter of one option only.
    """
    instructions = load_wordings(language, choice.task)
    return [
        _build_prompt(item, choice, arrangement, instructions, sample)
        for arrangement in design.list_arrangements(len(choice.options), len(instructions.wordings))
        # An item with an option "unknown" already has a neutral option.
        if not (arrangement.neutral and any(option.role == UNKNOWN for option in choice.options))
        for sample in range(samples)
    ]


def _build_prompt(
    item: str, choice: Choice, arrangement: Arrangement, instructions: LanguageWordings, sample: int
) -> Prompt:
    wording = instructions.wordings[arrangement.wording]
    available = (*choice.options, Option(NEUTRAL, instructions.neutral)) if arrangement.neutral else choice.options
    options = tuple(Option(available[at].role, wording.get_option_text(available[at])) for at in arrangement.order)
    labels = LABELS[: len(options)]
    question = ChatQuestion(wording.build_message(choice.context, options, labels), labels, sample)
    return Prompt(item, arrangement, question, options, instructions.language)
