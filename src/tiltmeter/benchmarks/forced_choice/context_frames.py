"""Context frames: lines before a message that name a year, a place or an audience, such as `Year: 1950`.

A frame should not change which option a model chooses. The words are in `context_frames.toml`, for some languages; the
frames of messages in other languages are in English. Lines with a label avoid the inflection of the value, so that any
value can be inserted.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

from tiltmeter.benchmarks.forced_choice.prompts import Prompt
from tiltmeter.benchmarks.forced_choice.wordings import ENGLISH
from tiltmeter.options.chat_options import split_frame

# The frames of `tiltmeter sensitivity --change frame`.
STANDARD_FRAMES = (
    *("year=1950", "year=1985", "year=2020"),
    *("place=Oslo", "place=Nairobi", "place=Lima"),
    *("audience=children", "audience=teachers", "audience=scientists"),
)


def add_frames(prompts: Sequence[Prompt], frames: Sequence[str], language: str) -> list[Prompt]:
    """Return the messages with frames such as `year=1950` before them, in a language or in English."""
    lines = format_frames(frames, language)
    return [
        replace(prompt, question=replace(prompt.question, prompt=f"{lines}\n\n{prompt.question.prompt}"))
        for prompt in prompts
    ]


def format_frames(frames: Sequence[str], language: str) -> str:
    """Return frames as lines; values from `context_frames.toml` are translated.

    >>> print(format_frames(["year=1950", "audience=children"], "de"))
    Jahr: 1950
    Publikum: Kinder
    """
    table = _load_tables()[get_frame_language(language)]
    pairs = map(split_frame, frames)
    return "\n".join(f"{table['labels'][name]}: {table['values'].get(value.lower(), value)}" for name, value in pairs)


def get_frame_language(language: str) -> str:
    """Return the language of the frames of messages in a language; English if there are no words in this language."""
    return language if language in _load_tables() else ENGLISH


@cache
def _load_tables() -> Mapping[str, Any]:
    text = files("tiltmeter.benchmarks.forced_choice").joinpath("context_frames.toml").read_text("utf-8")
    return tomllib.loads(text)
