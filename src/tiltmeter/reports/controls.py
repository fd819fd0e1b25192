"""The results of control data sets beside those that they are controls of, in words."""

from collections.abc import Sequence

from tiltmeter.datasets.dataset_loader import DATASETS
from tiltmeter.measures import get_measure
from tiltmeter.measures.controls import ControlContrast, list_control_contrasts
from tiltmeter.measures.records import OVERALL, Record, get_row_key
from tiltmeter.reports.formatting import format_with_interval, join_words
from tiltmeter.reports.group_names import get_display_group
from tiltmeter.reports.language_names import get_language_name


def list_contrasts(records: Sequence[Record], benchmark: str, view: str = "all") -> list[ControlContrast]:
    """The results of a benchmark with those of its controls, as far as these records have them.

    Among those over all items are those of bias types, of a control that has some bias types only.
    """
    if benchmark not in DATASETS or not DATASETS[benchmark].control:
        return []
    controls = {benchmark: DATASETS[benchmark].control}
    found = list(list_control_contrasts(records, controls))
    whole = {_get_contrast_key(contrast) for contrast in found if contrast.record.view == "all"}
    return [
        contrast
        for contrast in found
        if contrast.record.view == view
        or (view == "all" and contrast.record.view == "bias_type" and _get_contrast_key(contrast) not in whole)
    ]


def _get_contrast_key(contrast: ControlContrast) -> tuple[str, ...]:
    return (*get_row_key(contrast.record)[:-2], contrast.control.benchmark)


def describe_contrast(contrast: ControlContrast) -> str:
    """What the result of a control means for that of the benchmark, in a sentence.

    It begins with the name of the control, so that it can follow the name of a language or a part.
    """
    control, excess = contrast.control, format_excess(contrast)
    number = f"the control {control.benchmark} has {control.measure} {format_with_interval(control)}"
    if contrast.outcome == "no bias to explain":
        return f"{number}."
    if contrast.outcome == "more":
        return f"{number}; the result is farther from no bias by {excess}, which the control does not explain."
    moved = ", which moves as well" if contrast.control_moves else ""
    return (
        f"{number}{moved}; the result is not shown to be farther from no bias (by {excess}), so that its bias may not "
        f"be one towards stereotypes: {DATASETS[control.benchmark].why_control}."
    )


def format_excess(contrast: ControlContrast) -> str:
    """The excess over the control with its interval: `4.0 points [1.0, 7.0]`."""
    measure = get_measure(contrast.record.measure)
    numbers = [contrast.excess, *(contrast.interval or ())]
    excess, *ends = (measure.number(number) for number in numbers)
    interval = f" [{', '.join(ends)}]" if ends else " (no interval)"
    if measure.ratio:
        return f"a factor of {excess}{interval}"
    return f"{excess}{f' {measure.unit}' if measure.unit else ''}{interval}"


def describe_location(record: Record) -> str:
    """The language of a record, its part unless it stands for all, and its group unless it is over all items."""
    names = [record.part] if record.part not in (OVERALL, "all") else []
    names += [get_display_group(record)] if record.view != "all" else []
    return get_language_name(record.language) + (f" ({', '.join(names)})" if names else "")


def describe_missing_controls(records: Sequence[Record], benchmark: str) -> str:
    """A sentence on controls of a benchmark that these records lack; empty if there are none."""
    measured = {record.benchmark for record in records}
    controls = DATASETS[benchmark].control if benchmark in DATASETS else ()
    missing = [name for name in controls if name not in measured]
    if not missing:
        return ""
    asked = " ".join(f"--on {name}" for name in missing)
    which = "a control" if len(missing) == 1 else "controls"
    were = "which was" if len(missing) == 1 else "which were"
    return f"{benchmark} has {which}, {join_words(missing)}, {were} not measured here; add {asked}."
