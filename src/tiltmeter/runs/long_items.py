"""Items that are longer than a model reads: a few are left out and listed, many stop the run."""

from collections.abc import Mapping

from tiltmeter.benchmarks.benchmark import Asked, Skipped
from tiltmeter.errors import ModelError
from tiltmeter.runs.portions import Portion

# The largest share of the items of a portion that may be left out.
LARGEST_SHARE = 0.01


def lengths_beyond(asked: Asked, longest: int | None) -> dict[str, int]:
    """The items with a question of more tokens than the longest input, by id, with the number of tokens.

    Items that were too long to make questions of, but not for the model, are entered into the skipped ones.
    """
    lengths: dict[str, int] = {}
    for item, length in asked.too_long.items():
        if longest is not None and length > longest:
            lengths[item] = length
        else:
            asked.skipped.append(Skipped(item, f"it has {length:,} tokens, whose questions would fill the memory"))
    if longest is None:
        return lengths
    for trial in asked.trials:
        length = max(max(len(question.ids), len(question.source)) for question in trial.questions)
        if length > longest:
            lengths[trial.item.id] = max(length, lengths.get(trial.item.id, 0))
    return lengths


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
