"""Settings of a run: protocol, selection of items, and measures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tiltmeter.options.chat_options import ChatOptions
from tiltmeter.options.option_field import define_option
from tiltmeter.options.option_values import COUNT, FLAG, MARGINS, NAMES, TEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """Settings for questioning and measuring the models of a run.

    `chat` applies to chat models only. With `every_item`, an item that is too long for a model stops the run; by
    default, the item is skipped, and the report lists it. The help texts below describe the other fields.
    """

    protocol: str = define_option(
        "published",
        "The scoring protocol: `published`, `in-context` …; `tiltmeter protocols` lists all.",
        TEXT,
        changes_results=True,
        always_requested=True,
    )
    perturb: str | None = define_option(
        None,
        "Perturb all items: `lower-case`, `quoted`, for pairs `drop-final-character` …",
        TEXT,
        changes_results=True,
    )
    keep_tokens: bool = define_option(
        False, "Store the log-probability of each token of sentence pairs, for the report.", FLAG, changes_results=True
    )
    limit: int | None = define_option(
        None,
        "Maximum number of items of each part and language.",
        COUNT,
        changes_results=True,
        always_requested=True,
        for_translators=True,
        studio="Maximum number of items of each part and language",
    )
    until_conclusive: bool = define_option(
        False,
        "Measure 100 items of each part and language, then 200, 400 …, and stop when all verdicts are settled; tests "
        "are corrected for these looks.",
        FLAG,
        changes_results=True,
        in_plan=False,
    )
    margins: Mapping[str, float] = define_option(
        {},
        "The equivalence margin of a measure, instead of the default, for example `SS=3`.",
        MARGINS,
        name="margin",
        metavar="MEASURE=NUMBER",
        changes_results=True,
        for_translators=True,
    )
    family: str = define_option(
        "portion",
        "Which significance tests are corrected together: those of a `portion` (one part in one language), or of the "
        "whole `run`.",
        TEXT,
        changes_results=True,
        for_translators=True,
    )
    fixed: Sequence[str] = define_option(
        (),
        "Do not generalise over `words`, `targets`, `templates` …: results then concern only those in the data.",
        NAMES,
        metavar="FACTOR",
        changes_results=True,
        for_translators=True,
    )
    chat: ChatOptions | None = None
    every_item: bool = False
