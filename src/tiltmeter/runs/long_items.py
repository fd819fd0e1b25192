"""Items that are longer than a model reads: a few are left out and listed, many stop the run."""

from collections.abc import Mapping

from tiltmeter.benchmarks.benchmark import Asked, Skipped
from tiltmeter.errors import ModelError
from tiltmeter.models.protocol import Model
from tiltmeter.runs.portions import Portion

# The largest share of the items of a portion that may be left out.
LARGEST_SHARE = 0.01


def leave_out_long_items(asked: Asked, portion: Portion, model: Model, *, every_item: bool) -> None:
    """Move the items that are too long for a model from the trials to the skipped ones; see `long_items`."""
    longest = model.max_length
    asked.skipped += [
        Skipped(item, f"it has {length:,} tokens, and questions about so many would fill the memory")
        for item, length in asked.too_long.items()
        if longest is None or length <= longest
    ]
    if longest is None:
        return
    lengths = dict(asked.too_long)
    for trial in asked.trials:
        length = max(max(len(question.ids), len(question.source)) for question in trial.questions)
        lengths[trial.item.id] = max(length, lengths.get(trial.item.id, 0))
    skipped = long_items(lengths, longest, portion, model.name, every_item=every_item)
    left_out = {skip.item for skip in skipped}
    asked.trials = [trial for trial in asked.trials if trial.item.id not in left_out]
    asked.skipped += skipped


def long_items(
    lengths: Mapping[str, int],
    longest: int,
    portion: Portion,
    model: str,
    *,
    every_item: bool = False,
    remedy: str = "choose another model",
) -> list[Skipped]:
    """The items with more tokens than the longest input.

    A ModelError if they are more than `LARGEST_SHARE` of the portion, or, with `every_item`, if there are any.
    """
    too_long = {item: length for item, length in lengths.items() if length > longest}
    if too_long and (every_item or len(too_long) > LARGEST_SHARE * len(portion.items)):
        first, length = next(iter(too_long.items()))
        others = f" (and {len(too_long) - 1} more of {len(portion.items)})" if len(too_long) > 1 else ""
        allowed = "" if every_item else f"; up to {LARGEST_SHARE:.0%} of the items would have been left out"
        raise ModelError(
            f"Item {first} of {portion.name}:{portion.language}{others} has {length} tokens, but {model} reads at "
            f"most {longest}{allowed}; shorten such items, leave them out, or {remedy}."
        )
    return [Skipped(item, f"it is longer than the {longest} tokens that the model reads") for item in too_long]
