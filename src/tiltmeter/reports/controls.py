"""Texts that compare the results of a benchmark with the results of its control data sets."""

from collections.abc import Sequence

from tiltmeter.datasets.dataset_loader import DATASETS
from tiltmeter.measures import get_measure
from tiltmeter.measures.controls import ControlContrast, list_control_contrasts
from tiltmeter.measures.records import OVERALL, Record, get_row_key
from tiltmeter.reports.formatting import format_with_interval, join_words
from tiltmeter.reports.group_names import get_display_group
from tiltmeter.reports.language_names import get_language_name


def list_contrasts(records: Sequence[Record], benchmark: str, view: str = "all") -> list[ControlContrast]:
    """Return the comparisons of a benchmark's results with the results of its control data sets in `records`.

    If a control has only some of the bias types, the view "all" includes the comparisons by bias type.
    """
    if benchmark not in DATASETS or not DATASETS[benchmark].control:
        return []
    controls = {benchmark: DATASETS[benchmark].control}
    contrasts = list(list_control_contrasts(records, controls))
    whole = {_get_contrast_key(contrast) for contrast in contrasts if contrast.record.view == "all"}
    return [
        contrast
        for contrast in contrasts
        if contrast.record.view == view
        or (view == "all" and contrast.record.view == "bias_type" and _get_contrast_key(contrast) not in whole)
    ]


def _get_contrast_key(contrast: ControlContrast) -> tuple[str, ...]:
    return (*get_row_key(contrast.record)[:-2], contrast.control.benchmark)


def describe_contrast(contrast: ControlContrast) -> str:
    """Return a clause that says whether the control explains the result of the benchmark.

    The clause begins with a lower-case letter, so that it can follow the name of a language or a part.
    """
    control, excess = contrast.control, format_excess(contrast)
    number = f"the control {control.benchmark} has {control.measure} {format_with_interval(control)}"
    if contrast.outcome == "no bias to explain":
        return f"{number}."
    if contrast.outcome == "more":
        return f"{number}; the result is farther from no bias by {excess}, so the control does not explain the bias."
    biased = ", a significant bias on the same side" if contrast.has_biased_control else ""
    return (
        f"{number}{biased}; the result is not significantly farther from no bias (by {excess}), so the bias may not be "
        f"one towards stereotypes: {DATASETS[control.benchmark].why_control}."
    )


def format_excess(contrast: ControlContrast) -> str:
    """Return how much more bias the benchmark shows than the control, such as `4.0 points [1.0, 7.0]`."""
    measure = get_measure(contrast.record.measure)
    numbers = [contrast.excess, *(contrast.interval or ())]
    excess, *ends = (measure.number(number) for number in numbers)
    interval = f" [{', '.join(ends)}]" if ends else " (no interval)"
    if measure.ratio:
        return f"a factor of {excess}{interval}"
    return f"{excess}{f' {measure.unit}' if measure.unit else ''}{interval}"


def describe_location(record: Record) -> str:
    """Return the language of a record, followed by its part and group if the record is about one part or group."""
    names = [record.part] if record.part not in (OVERALL, "all") else []
    names += [get_display_group(record)] if record.view != "all" else []
    return get_language_name(record.language) + (f" ({', '.join(names)})" if names else "")


def describe_missing_controls(records: Sequence[Record], benchmark: str) -> str:
    """Return a sentence that names the benchmark's controls that were not measured; empty if all were measured."""
    measured = {record.benchmark for record in records}
    controls = DATASETS[benchmark].control if benchmark in DATASETS else ()
    missing = [name for name in controls if name not in measured]
    if not missing:
        return ""
    options = " ".join(f"--on {name}" for name in missing)
    plural = len(missing) > 1
    noun, verb = ("controls", "were") if plural else ("control", "was")
    return f"The {noun} of {benchmark} ({join_words(missing)}) {verb} not measured; add {options}."
