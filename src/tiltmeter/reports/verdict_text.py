"""Sentences for verdicts and headlines.

The module `measures.verdict` has the words of a verdict, and `measures.verdict_rule` decides the verdicts.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tiltmeter.measures import get_measure, select_deciding_record
from tiltmeter.measures.records import ALPHA, OVERALL, Record
from tiltmeter.measures.verdict import Verdict
from tiltmeter.reports.formatting import format_interval, format_with_interval, join_words
from tiltmeter.reports.grouping import group_by
from tiltmeter.reports.language_names import get_language_name
from tiltmeter.reports.record_rows import RecordRow, get_first_record, is_pooled, select_summary_rows

# The tone of a headline determines its colour: bias towards or against stereotypes, no bias, or unreliable results.
Tone = Literal["towards", "against", "none", "doubt"]
_MOST_NAMES = 6  # maximum number of languages that a headline names; with more languages, it gives their number


def format_measure_value(record: Record) -> str:
    """Return the measure with its value and interval, such as `SS 57.0 [55.5, 58.5]`."""
    return f"{record.measure} {format_with_interval(record)}"


def describe_verdict(row: RecordRow) -> str:
    """Return the verdict of a row as text, with the value that the verdict is based on."""
    record = select_deciding_record(row)
    if record is None or record.verdict is None:
        return "no measure of bias"
    words = f"{record.verdict.words}: {format_measure_value(record)}"
    notes = [note for note in (describe_generality(row), describe_control(row), describe_template_spread(row)) if note]
    return "; ".join([words, *notes])


def describe_generality(row: RecordRow) -> str:
    """Return a clause that says whether a significant bias generalises to other stereotypes; empty if unknown."""
    record = select_deciding_record(row)
    if record is None or (general := row.get(get_measure(record.measure).population_measure)) is None:
        return ""
    if record.verdict is None or general.verdict is None or record.verdict.kind != "significant":
        return ""
    if general.verdict.kind == "significant":
        return "also significant for stereotypes like these in general"
    if general.low is None or general.high is None:
        return "only for these stereotypes; no interval for stereotypes like these in general"
    interval = format_interval(general, number=get_measure(record.measure).number)
    return f"only for these stereotypes; not significant for stereotypes like these in general {interval}"


def describe_control(row: RecordRow) -> str:
    """Return a clause if the measure that controls for a confound has another verdict; otherwise an empty text."""
    record = select_deciding_record(row)
    control = row.get(get_measure(record.measure).control) if record is not None else None
    if record is None or control is None or record.verdict is None or control.verdict is None:
        return ""
    comparable = ("significant", "no bias", "inconclusive")
    if record.verdict.kind not in comparable or control.verdict.kind not in comparable:
        return ""
    if (record.verdict.kind, record.verdict.side) == (control.verdict.kind, control.verdict.side):
        return ""
    return f"{format_measure_value(control)} is {control.verdict.short}"


def describe_template_spread(row: RecordRow) -> str:
    """Return a clause if the value differs between templates significantly and by more than the margin.

    Otherwise, return an empty text.
    """
    record = select_deciding_record(row)
    spread = row.get(get_measure(record.measure).template_spread) if record is not None else None
    if record is None or spread is None or record.verdict is None or record.margin is None:
        return ""
    if record.verdict.kind in ("not interpretable", "contradictory"):
        return ""
    measure = get_measure(record.measure)
    # The rounded number is compared, so that 1.223, which is printed as 1.22, is not above a margin of 1.22.
    printed = float(measure.number(spread.value))
    if spread.p_adjusted is None or spread.p_adjusted >= ALPHA or printed <= record.margin:
        return ""
    largest, margin = measure.margin_words(printed), measure.margin_words(record.margin)
    return f"{record.measure} differs by up to {largest} between templates, more than the margin of {margin}"


@dataclass(frozen=True, slots=True)
class RowVerdict:
    """The verdict of a row, with the record that the verdict is based on."""

    row: RecordRow
    record: Record
    verdict: Verdict

    @property
    def distance(self) -> float:
        """The distance of the value from the ideal; positive if the bias is towards stereotypes."""
        return get_measure(self.record.measure).distance(self.record.value)


@dataclass(frozen=True, slots=True)
class Headline:
    """The summary of one benchmark: the first sentence (`lead`) and further sentences (`more`)."""

    benchmark: str
    tone: Tone
    lead: str
    more: tuple[str, ...]


def list_summary_verdicts(rows: Sequence[RecordRow]) -> list[RowVerdict]:
    """Return the verdicts of the summary rows; rows without a verdict are left out."""
    return list_verdicts(select_summary_rows(rows))


def list_verdicts(rows: Iterable[RecordRow]) -> list[RowVerdict]:
    """Return the verdicts of the rows; rows without a verdict are left out."""
    return [
        RowVerdict(row, record, record.verdict)
        for row in rows
        if (record := select_deciding_record(row)) is not None and record.verdict is not None
    ]


def build_headlines(rows: Sequence[RecordRow], samples: Sequence[str] = ()) -> list[Headline]:
    """Return the headline of each benchmark; `samples` are sentences that say which items were measured."""
    by_benchmark = group_by(list_summary_verdicts(rows), lambda verdict: verdict.record.benchmark)
    return [
        _build_headline(name, summary, [row for row in rows if get_first_record(row).benchmark == name], samples)
        for name, summary in by_benchmark.items()
    ]


def _build_headline(
    benchmark: str, summary: Sequence[RowVerdict], rows: Sequence[RecordRow], samples: Sequence[str]
) -> Headline:
    models = list(dict.fromkeys(v.record.model for v in summary))
    judged = [v for v in summary if v.verdict.kind != "contradictory"]
    lead = _describe_one_model(models[0], summary) if len(models) == 1 else _describe_several_models(models, summary)
    more = list(samples)
    more += [_describe_contradiction(v, rows) for v in summary if v.verdict.kind == "contradictory"]
    if len(summary) == 1 and judged and judged[0].verdict.kind != "not interpretable":
        more.append(_describe_value(judged[0], alone=True))
    elif len(summary) > 1 and (largest := _find_largest(rows)):
        more.append(_describe_value(largest, alone=False))
    more += [
        f"{_describe_location([v], models)}: {sentence}." for v in summary for sentence in _describe_companions(v)
    ][:3]
    more += [f"{_describe_location([v], models)}: {note}." for v in summary if (note := describe_generality(v.row))][:2]
    more += _describe_confounds(summary, models)
    more += _list_advice(summary, models)
    sides = {v.verdict.side for v in summary if v.verdict.kind == "significant"}
    doubtful = any(v.verdict.kind in ("contradictory", "not interpretable") for v in summary)
    tone: Tone = next(iter(sides)) if len(sides) == 1 else "doubt" if sides or doubtful else "none"
    return Headline(benchmark, tone, lead, tuple(more))


def _describe_companions(v: RowVerdict) -> Iterator[str]:
    """Yield clauses on companion measures that do not depend on stereotypes, such as the share of masculine forms."""
    for name in get_measure(v.record.measure).companions:
        record, measure = v.row.get(name), get_measure(name)
        if record is not None and measure.statement is not None and not measure.bias_direction:
            yield f"{measure.statement(record.value)}, regardless of the stereotype ({format_measure_value(record)})"


def _list_advice(summary: Sequence[RowVerdict], models: Sequence[str]) -> list[str]:
    """Return sentences of advice to the reader, for verdicts that need an action or an explanation."""
    sentences = []
    for kinds, advice in (
        (("inconclusive", "too few"), "Measure more items before deciding"),
        (("not interpretable",), "Check that the right model and tokenizer were loaded"),
    ):
        concerned = [v for v in summary if v.verdict.kind in kinds]
        if concerned:
            reason = concerned[0].verdict.reason
            same_reason = [v for v in concerned if v.verdict.reason == reason]
            others = " (the others are in the table)" if len(same_reason) < len(concerned) else ""
            if kinds == ("not interpretable",) and concerned[0].record.family == "prompted":
                advice = "Read some of its answers before using any of its numbers"
            sentences.append(f"{_describe_location(same_reason, models)}: {reason}{others}. {advice}.")
    if any(v.verdict.side == "against" for v in summary):
        sentences.append("Against stereotypes: the model prefers the opposite of the stereotype, which is also a bias.")
    return sentences


def _describe_confounds(summary: Sequence[RowVerdict], models: Sequence[str]) -> list[str]:
    """Return at most one sentence on a known confound, because the headline must be short."""
    for describe in (describe_control, describe_template_spread):
        for v in summary:
            if note := describe(v.row):
                return [f"{_describe_location([v], models)} a known confound matters: {note}."]
    return []


def _describe_one_model(model: str, summary: Sequence[RowVerdict]) -> str:
    """Return the first sentence of a headline on one model; it groups the languages by verdict."""
    groups = group_by(summary, lambda v: v.verdict.words if v.verdict.size else v.verdict.short)
    if len(groups) == 1:
        return f"{model}, {_shorten_languages(summary)}: {next(iter(groups))}."
    order = {kind: rank for rank, kind in enumerate(("significant", "contradictory", "no bias"))}
    ordered = sorted(groups.items(), key=lambda entry: order.get(entry[1][0].verdict.kind, len(order)))
    return f"{model}: {'; '.join(f'{words} in {_shorten_languages(group)}' for words, group in ordered)}."


def _describe_several_models(models: Sequence[str], summary: Sequence[RowVerdict]) -> str:
    """Return the first sentence of a headline on several models; it counts the models with each verdict."""
    languages = {v.record.language for v in summary}
    noun = "models" if len(languages) == 1 and len(summary) == len(models) else "pairs of model and language"
    counts = Counter(v.verdict.short for v in summary)
    if len(counts) == 1:
        return f"{'Both' if len(summary) == 2 else f'All {len(summary)}'} {noun}: {next(iter(counts))}."
    phrases = [f"{count} {words}" for words, count in sorted(counts.items(), key=lambda entry: -entry[1])]
    return f"Of {len(summary)} {noun}: {join_words(phrases)}."


def _find_largest(rows: Sequence[RecordRow]) -> RowVerdict | None:
    """Return the largest significant bias among all rows, including rows of single parts; None if there is none."""
    significant = [v for v in list_verdicts(rows) if v.verdict.kind == "significant"]
    return max(significant, key=lambda v: abs(v.distance)) if significant else None


def _describe_contradiction(v: RowVerdict, rows: Sequence[RecordRow]) -> str:
    """Return a sentence with the values of parts that contradict each other."""
    keys = ("model", "language", "benchmark")
    parts = [
        record
        for row in rows
        if (record := select_deciding_record(row)) is not None
        and record.part != OVERALL
        and all(getattr(record, key) == getattr(v.record, key) for key in keys)
    ]
    measure = get_measure(v.record.measure)
    numbers = [
        f"{record.part} {measure.number(record.value)}{format_interval(record, ' (95% interval {} to {})')}"
        for record in parts
    ]
    values = f": {', '.join(numbers)}; {measure.ideal:g} is no bias" if numbers and measure.ideal is not None else ""
    language = _list_languages([v])[0]
    return f"In {language} the results contradict each other ({v.verdict.reason}); their mean would hide this{values}."


def _describe_value(v: RowVerdict, *, alone: bool) -> str:
    """Return a sentence on the meaning of a row's value; `alone` says whether the headline has only this row."""
    record, measure = v.record, get_measure(v.record.measure)
    meaning = measure.statement(record.value) if measure.statement else f"{record.measure} is {record.value:g}"
    ideal = f"; {measure.ideal:g} is no bias" if measure.ideal is not None else ""
    interval = format_interval(record, "95% interval {} to {}")
    number = ", ".join(filter(None, (f"{record.measure} {measure.number(record.value)}", interval, f"n={record.n:,}")))
    if alone:
        return f"{meaning[0].upper()}{meaning[1:]} ({number}{ideal})."
    language = _list_languages([v])[0]
    return f"The largest significant bias is that of {record.model} in {language}: {meaning} ({number}{ideal})."


def _list_languages(summary: Sequence[RowVerdict]) -> list[str]:
    """Return the names of the languages; the part is added if the row is about a single part."""
    return list(
        dict.fromkeys(
            get_language_name(v.record.language) + ("" if is_pooled(v.record.part) else f" ({v.record.part})")
            for v in summary
        )
    )


def _shorten_languages(summary: Sequence[RowVerdict]) -> str:
    """Return the names of the languages as text.

    If there are many, return their number and the names of the two languages with the largest significant bias.
    """
    names = _list_languages(summary)
    if len(names) <= _MOST_NAMES:
        return join_words(names)
    biased = [v for v in summary if v.verdict.kind == "significant"]
    largest = _list_languages(sorted(biased, key=lambda v: -abs(v.distance)))[:2]
    return f"{len(names)} languages" + (f" (most in {join_words(largest)})" if largest else "")


def _describe_location(summary: Sequence[RowVerdict], models: Sequence[str]) -> str:
    """Return the beginning of a sentence: "In" and the languages if there is one model.

    If there are several models, return "For" and the models with their languages.
    """
    if len(models) == 1:
        return f"In {_shorten_languages(summary)}"
    names = [f"{v.record.model} in {_list_languages([v])[0]}" for v in summary]
    return f"For {join_words(names)}" if len(names) <= 3 else f"For {len(names)} of them"
