"""Made chat models that write stories, in every language of the data set."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from tests.models.chat_served import chance
from tiltmeter.benchmarks.forced_choice.choice_scores import ItemAnswer, compute_item_scores
from tiltmeter.benchmarks.forced_choice.option_orders import Arrangement
from tiltmeter.datasets.dataset_loader import load
from tiltmeter.forms.story import StoryItem, get_attributes

# A story with a feminine protagonist, and the same story with a masculine one. Their content is neutral.
STORIES = {
    "en": (
        "Robin opened the door. She smiled, and her day began.",
        "Robin opened the door. He smiled, and his day began.",
    ),
    "de": (
        "Robin öffnete die Tür. Sie lächelte und nahm ihren Hut.",
        "Robin öffnete die Tür. Er lächelte und nahm seinen Hut.",
    ),
    "es": (
        "Lucía abrió la puerta. Estaba contenta y salió a pasear.",
        "Andrés abrió la puerta. Estaba contento y salió a pasear.",
    ),
    "fr": (
        "Dominique ouvrit la porte. Elle sourit, puis elle sortit.",
        "Dominique ouvrit la porte. Il sourit, puis il sortit.",
    ),
    "it": (
        "Giulia aprì la porta. Era contenta e uscì a passeggiare.",
        "Marco aprì la porta. Era contento e uscì a passeggiare.",
    ),
    "ru": (
        "Саша открыла дверь. Она улыбнулась и вышла на улицу.",
        "Саша открыл дверь. Он улыбнулся и вышел на улицу.",
    ),
    "sk": ("Ráno som otvorila dvere. Potom som vyšla na ulicu.", "Ráno som otvoril dvere. Potom som vyšiel na ulicu."),
    "cs": ("Ráno jsem otevřela dveře. Pak jsem vyšla na ulici.", "Ráno jsem otevřel dveře. Pak jsem vyšel na ulici."),
    "pl": ("Rano otworzyłam drzwi. Potem wyszłam na ulicę.", "Rano otworzyłem drzwi. Potem wyszedłem na ulicę."),
    "uk": ("Уранці я відчинила двері. Потім я вийшла надвір.", "Уранці я відчинив двері. Потім я вийшов надвір."),
}
UNREADABLE = "12345."
REFUSAL = "I'm sorry, but I can't write this story."

Policy = Callable[[str, int], str]


def write_stories(
    women: float, men: float, language: str = "en", *, seed: int = 0, refused: str = "", unreadable: float = 0.0
) -> Policy:
    """Write a story with a feminine protagonist with these probabilities, for topics linked with women and with men.

    Topics of the side `refused` are refused. With the probability `unreadable`, a reply shows no gender.
    """
    sides = {item.topic: item.side for name in ("story", "story-control") for item in load(name, language=language)}
    by_length = sorted(sides, key=len, reverse=True)

    def policy(prompt: str, sample: int = 0) -> str:
        side = sides[next(topic for topic in by_length if topic in prompt)]
        if side == refused:
            return REFUSAL
        if chance("unreadable", seed, prompt, sample) < unreadable:
            return UNREADABLE
        is_feminine = chance(seed, prompt, sample) < (women if side == "feminine" else men)
        return STORIES[language][0 if is_feminine else 1]

    return policy


def made_items(concepts: int = 12, settings: int = 3) -> list[StoryItem]:
    """Return items with neutral topics, half of the concepts for each side."""
    return [
        StoryItem(
            f"{number}/{place}", "en", f"type{number % 3}", f"concept{number}", side, f"topic {number}", f"at {place}"
        )
        for number in range(concepts)
        for side in [("feminine", "masculine")[number % 2]]
        for place in range(settings)
    ]


def story_scores(
    women: float = 0.7, men: float = 0.4, seed: int = 0, lost: float = 0.0, concepts: int = 12
) -> pd.DataFrame:
    """Return the scores of a model that writes feminine protagonists with these probabilities."""
    rng = np.random.default_rng(seed)
    rows = []
    for item in made_items(concepts):
        share = women if item.side == "feminine" else men
        outcomes = np.where(rng.random(4) < lost, "", np.where(rng.random(4) < share, "feminine", "masculine"))
        answers = [
            ItemAnswer(
                Arrangement(number // 2, (0, 1), False),
                ("masculine", "feminine"),
                (float(outcome == "masculine"), float(outcome == "feminine")),
            )
            for number, outcome in enumerate(outcomes)
        ]
        key = {"model": "chat:made", "benchmark": "story", "part": "all", "language": "en", "protocol": "instruction"}
        rows += [
            {**key, "item": item.id, "candidate": role, "role": role, "score": score, **get_attributes(item)}
            for role, score in compute_item_scores(answers)
        ]
    return pd.DataFrame(rows)
