"""The answer of a comparison before and after a change, in one sentence for each aspect."""

from collections.abc import Iterator, Sequence

from tiltmeter.comparing.model_change import ChangeRow, ChangeVerdict

_MOST = 3  # maximum number of results that a sentence lists
_BEGINNINGS: dict[ChangeVerdict, str] = {
    "helped": "The change helped",
    "helped but harmed elsewhere": "The change helped, but did harm elsewhere",
    "no evidence": "There is no evidence that the change helped or did harm",
    "made worse": "The change made the model worse",
}


def describe_change(verdict: ChangeVerdict, rows: Sequence[ChangeRow], quality_margin: float) -> str:
    """Return the answer: the verdict with the results of the targets, then the results elsewhere, and quality."""
    targets = [row for row in rows if row.role == "target"]
    elsewhere = [row for row in rows if row.role == "elsewhere"]
    quality = [row for row in rows if row.role == "quality"]
    sentences = [
        _describe_targets(verdict, targets),
        _describe_elsewhere(elsewhere),
        _describe_quality(quality, quality_margin),
    ]
    return " ".join(filter(None, sentences))


def describe_row(row: ChangeRow) -> str:
    """Return a result with its values before and after, and the change of its distance from the ideal."""
    measure, (low, high) = row.difference.quantity.measure, row.interval
    values = f"{row.name} {measure.number(row.before)} before, {measure.number(row.after)} after"
    if row.outcome == "identical":
        return f"{values} (the same answers)"
    if row.outcome in ("not interpretable", "contradictory"):
        return f"{values} ({row.outcome}: {'; '.join(row.difference.doubts) or row.difference.contradiction})"
    change, *ends = (measure.number(value, signed=True) for value in (row.farther, low, high))
    return f"{values} (change of the distance from {row.difference.quantity.ideal:g}: {change} [{', '.join(ends)}])"


def _describe_targets(verdict: ChangeVerdict, targets: Sequence[ChangeRow]) -> str:
    start = _BEGINNINGS[verdict]
    listed = [
        f"{_count_targets(rows, targets, words)}{_join_rows(rows)}"
        for outcome, words in (("closer", "closer to"), ("farther", "farther from"))
        if (rows := [row for row in targets if row.outcome == outcome])
    ]
    if listed:
        return f"{start}: {'; but '.join(listed)}."
    if verdict == "made worse":
        return (
            f"{start}: other results are significantly worse, and there is no evidence that the target is better. "
            f"Target: {_join_rows(targets)}."
        )
    return f"{start}: {_join_rows(targets)}{_describe_power(targets)}."


def _count_targets(rows: Sequence[ChangeRow], targets: Sequence[ChangeRow], words: str) -> str:
    """Return a clause on how many targets are closer to or farther from the ideal; empty if there is only one."""
    if len(targets) == 1:
        return ""
    return f"{len(rows)} of {len(targets)} targeted results {'is' if len(rows) == 1 else 'are'} {words} the ideal, "


def _describe_power(targets: Sequence[ChangeRow]) -> str:
    """Return a clause on the minimum detectable change if there is one target that could be tested."""
    if len(targets) != 1 or targets[0].outcome != "inconclusive" or not targets[0].difference.contrast.detectable:
        return ""
    difference = targets[0].difference
    detectable = difference.quantity.measure.number(difference.detectable)
    return f"; with these {difference.contrast.n:,} items, a change of {detectable} can be detected"


def _describe_elsewhere(rows: Sequence[ChangeRow]) -> str:
    tested = [row for row in rows if row.outcome not in ("not interpretable", "contradictory")]
    if not tested:
        return "No other result on bias can be interpreted." if rows else "No other bias was measured."
    harmed = [row for row in tested if row.outcome == "farther"]
    within = sum(row.outcome in ("not worse", "identical", "closer") for row in tested)
    worse = f"{len(harmed) or 'none'} {'are' if len(harmed) > 1 else 'is'} significantly worse"
    listed = f" ({_join_rows(harmed)})" if harmed else ""
    excluded = f"an increase beyond the margin can be excluded for {within or 'none'} of them"
    return f"Of {len(tested):,} other result{'s' * (len(tested) > 1)} on bias, {worse}{listed}, and {excluded}."


def _describe_quality(rows: Sequence[ChangeRow], margin: float) -> str:
    if not rows:
        return "Quality was not measured."
    lost = [row for row in rows if row.outcome == "farther"]
    uncertain = [row for row in rows if row.outcome not in ("not worse", "identical", "closer")]
    if lost:
        return f"Quality is significantly lower: {_join_rows(lost)}."
    points = f"{margin:g} point{'' if margin == 1 else 's'}"
    if uncertain:
        return f"A loss of quality of more than {points} cannot be excluded: {_join_rows(uncertain)}."
    names = dict.fromkeys(row.difference.quantity.name for row in rows)
    return f"There is no loss of quality of more than {points} ({', '.join(names)})."


def _join_rows(rows: Sequence[ChangeRow]) -> str:
    return "; ".join(_shorten(rows))


def _shorten(rows: Sequence[ChangeRow]) -> Iterator[str]:
    yield from map(describe_row, rows[:_MOST])
    if len(rows) > _MOST:
        yield f"and {len(rows) - _MOST} more"
