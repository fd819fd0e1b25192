"""From an item to the messages that a chat model is sent."""

from dataclasses import dataclass

from tiltmeter.benchmarks.forced_choice.choice_scores import UNKNOWN
from tiltmeter.benchmarks.forced_choice.option_orders import Arrangement, OptionOrderDesign
from tiltmeter.benchmarks.forced_choice.wordings import LanguageWordings, load_wordings
from tiltmeter.questions import ChatQuestion, Choice, Option

LABELS = ("A", "B", "C", "D", "E", "F")
NEUTRAL = "neutral"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A message about an item. `options` are in the order in which they are shown, as they are named there."""

    item: str
    arrangement: Arrangement
    question: ChatQuestion
    options: tuple[Option, ...]
    language: str


def build_prompts(
    item: str, language: str, choice: Choice, design: OptionOrderDesign, samples: int = 1
) -> list[Prompt]:
    """All messages about one item.

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
    told = load_wordings(language, choice.task)
    return [
        _build_prompt(item, choice, arrangement, told, sample)
        for arrangement in design.list_arrangements(len(choice.options), len(told.wordings))
        # An answer that nobody can know is a neutral option already.
        if not (arrangement.neutral and any(option.role == UNKNOWN for option in choice.options))
        for sample in range(samples)
    ]


def _build_prompt(item: str, choice: Choice, arrangement: Arrangement, told: LanguageWordings, sample: int) -> Prompt:
    wording = told.wordings[arrangement.wording]
    offered = (*choice.options, Option(NEUTRAL, told.neutral)) if arrangement.neutral else choice.options
    shown = tuple(Option(offered[at].role, wording.name(offered[at])) for at in arrangement.order)
    labels = LABELS[: len(shown)]
    question = ChatQuestion(wording.text(choice.context, shown, labels), labels, sample)
    return Prompt(item, arrangement, question, shown, told.language)
