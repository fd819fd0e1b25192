"""Items that are too long for a model: a few such items are skipped and listed; many such items stop the run."""

from collections.abc import Mapping

from tiltmeter.benchmarks.benchmark import PartTrials, SkippedItem
from tiltmeter.errors import ModelError
from tiltmeter.runs.portions import Portion

# The maximum share of skipped items in a portion (data set, part and language).
LARGEST_SHARE = 0.01


def find_excess_lengths(part_trials: PartTrials, longest: int | None) -> dict[str, int]:
    """Return a mapping from item id to number of tokens, for items with a question longer than `longest` tokens."""
    if longest is None:
        return {}
    lengths = {item: length for item, length in part_trials.too_long.items() if length > longest}
    for trial in part_trials.trials:
        length = max(max(len(question.ids), len(question.source)) for question in trial.questions)
        if length > longest:
            lengths[trial.item.id] = max(length, lengths.get(trial.item.id, 0))
    return lengths


def find_items_without_questions(part_trials: PartTrials, longest: int | None) -> list[SkippedItem]:
    """Return the items that are short enough for the model, but whose questions would need too much memory."""
    return [
        SkippedItem(item, f"it has {length:,} tokens, so its questions would fill the memory")
        for item, length in part_trials.too_long.items()
        if longest is None or length <= longest
    ]


def skip_long_items(
    lengths: Mapping[str, int],
    longest: int,
    portion: Portion,
    model: str,
    *,
    every_item: bool = False,
    remedy: str = "choose another model",
) -> list[SkippedItem]:
    """Return the items in `lengths` that are longer than `longest`, the model's maximum input length.

    Raises a ModelError if their share of the portion exceeds `LARGEST_SHARE`, or, with `every_item`, if there is
    any such item.
    """
    too_long = {item: length for item, length in lengths.items() if length > longest}
    if too_long and (every_item or len(too_long) > LARGEST_SHARE * len(portion.items)):
        first, length = next(iter(too_long.items()))
        others = f" (and {len(too_long) - 1} more of {len(portion.items)})" if len(too_long) > 1 else ""
        allowed = "" if every_item else f" (at most {LARGEST_SHARE:.0%} of the items may be skipped)"
        raise ModelError(
            f"Item {first} of {portion.name}:{portion.language}{others} has {length} tokens, but {model} "
            f"supports at most {longest}{allowed}; shorten or remove these items, or {remedy}."
        )
    return [SkippedItem(item, f"it is longer than {longest} tokens, the maximum of the model") for item in too_long]
