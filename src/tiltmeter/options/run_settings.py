"""Settings of a run: how its models are asked and measured."""

from collections.abc import Mapping
from dataclasses import dataclass

from tiltmeter.options.chat_options import ChatOptions
from tiltmeter.options.option_field import define_option
from tiltmeter.options.option_values import COUNT, FLAG, MARGINS, TEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """How the models of a run are asked and measured.

    `chat` is for chat models only. `every_item` stops a run at an item that is too long for a model, which is otherwise
    left out and listed. The help texts of the command line describe the other fields.
    """

    protocol: str = define_option(
        "published",
        "How models are asked: `published`, `in-context` …; `tiltmeter protocols` lists all.",
        TEXT,
        changes_results=True,
        always_requested=True,
    )
    perturb: str | None = define_option(
        None,
        "Change all items: `lower-case`, `quoted`, of pairs `drop-final-character` …",
        TEXT,
        changes_results=True,
    )
    keep_tokens: bool = define_option(
        False, "Store the log-probability of each token of sentence pairs, for the report.", FLAG, changes_results=True
    )
    limit: int | None = define_option(
        None,
        "The largest number of items of each part and language.",
        COUNT,
        changes_results=True,
        always_requested=True,
        for_translators=True,
        studio="Maximum number of items of each part and language",
    )
    margins: Mapping[str, float] = define_option(
        {},
        "A margin of equivalence instead of the measure's default: `SS=3`.",
        MARGINS,
        name="margin",
        metavar="MEASURE=NUMBER",
        changes_results=True,
        for_translators=True,
    )
    chat: ChatOptions | None = None
    every_item: bool = False
