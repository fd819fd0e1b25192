"""Made lists of words, and made chat models that assign the words to groups."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from tests.models.chat_served import chance
from tiltmeter.benchmarks.forced_choice.choice_scores import ItemAnswer, compute_item_scores
from tiltmeter.benchmarks.forced_choice.option_orders import Arrangement
from tiltmeter.datasets.readers.jsonl import format_line
from tiltmeter.forms.word_association import WordAssociationItem, get_attributes

# The words of both groups and the pairs of names of made tests. The content is neutral.
_WORDS = (
    *("amber", "basil", "cedar", "daisy", "ember", "fennel", "ginger", "hazel"),
    *("iris", "juniper", "kelp", "linden", "maple", "nutmeg", "olive", "poppy"),
)


def made_items(tests: int = 8, names: int = 2) -> list[WordAssociationItem]:
    """Return the items of several tests: eight words for each group, with each pair of names."""
    return [
        WordAssociationItem(f"{test}/{pair}/{word}", "en", f"type{test % 2}", f"test{test}", word, *pair_of_names)
        for test in range(tests)
        for pair in range(names)
        for number, word in enumerate(f"{word}{test}" for word in _WORDS)
        for pair_of_names in [(f"left{test}{pair}", f"right{test}{pair}")[:: 1 if number < 8 else -1]]
    ]


def word_file(folder: Path, tests: int = 8, names: int = 2) -> str:
    """Write the made items to a file and return its path."""
    path = folder / "words.jsonl"
    path.write_text("".join(f"{format_line(item)}\n" for item in made_items(tests, names)), encoding="utf-8")
    return str(path)


def listed_words(prompt: str) -> list[str]:
    """Return the words in a message."""
    return prompt.split("\n\n")[1].split(", ")


def named_groups(prompt: str) -> list[str]:
    """Return the two groups of a message in the order in which they are first named."""
    return list(dict.fromkeys(re.findall(r"(?:left|right)\d+", prompt)))


def follows(share: float, seed: int = 0, layout: str = "{word} - {group}") -> Callable[[str, int], str]:
    """Assign each word to the group of the stereotype with this probability; `layout` is that of a line."""

    def policy(prompt: str, sample: int = 0) -> str:
        groups = {group[0]: group for group in named_groups(prompt)}
        lines = []
        for word in listed_words(prompt):
            is_first = any(word.startswith(known) for known in _WORDS[:8])
            as_stereotyped = chance(seed, prompt, word, sample) < share
            lines.append(layout.format(word=word, group=groups["l" if is_first == as_stereotyped else "r"]))
        return "\n".join(lines)

    return policy


def first_group(prompt: str, _sample: int = 0) -> str:
    """Assign all words to the group that is named first."""
    return "\n".join(f"{word} - {named_groups(prompt)[0]}" for word in listed_words(prompt))


def left_group(prompt: str, _sample: int = 0) -> str:
    """Assign all words to the same group in each order of the groups."""
    group = next(group for group in named_groups(prompt) if group.startswith("left"))
    return "\n".join(f"{word} - {group}" for word in listed_words(prompt))


def as_json(prompt: str, sample: int = 0) -> str:
    """Assign all words as in the stereotype, in a JSON object."""
    pairs = (line.split(" - ") for line in follows(1.0)(prompt, sample).split("\n"))
    return json.dumps(dict(pairs), indent=1)


def word_scores(tests: int = 8, share: float = 0.7, seed: int = 0, lost: float = 0.0) -> pd.DataFrame:
    """Return the scores of a model that assigns words as in the stereotype with this probability.

    `lost` is the probability that an answer is unparseable.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for item in made_items(tests):
        answers = np.where(rng.random(4) < lost, "", np.where(rng.random(4) < share, "stereotype", "anti-stereotype"))
        scores = [
            ItemAnswer(
                Arrangement(number // 2, (0, 1) if number % 2 else (1, 0), False),
                ("stereotype", "anti-stereotype"),
                (float(answer == "stereotype"), float(answer == "anti-stereotype")),
            )
            for number, answer in enumerate(answers)
        ]
        key = {"model": "chat:made", "benchmark": "words", "part": "all", "language": "en", "protocol": "forced-choice"}
        rows += [
            {**key, "item": item.id, "candidate": role, "role": role, "score": score, **get_attributes(item)}
            for role, score in compute_item_scores(scores)
        ]
    return pd.DataFrame(rows)
