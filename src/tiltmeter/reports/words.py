"""Verdicts and headlines in words. The verdicts themselves are made in `measures.rule`."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tiltmeter.measures import deciding, measure_named
from tiltmeter.measures.records import ALPHA, OVERALL, Record
from tiltmeter.measures.verdict import Verdict
from tiltmeter.reports.formatting import format_interval, listed, with_interval
from tiltmeter.reports.languages import language_name
from tiltmeter.reports.record_rows import RecordRow, any_record, pooled, summaries

# The colour of a headline: bias towards or against stereotypes, none, or a result that is not to be relied on.
Tone = Literal["towards", "against", "none", "doubt"]
# More languages than these are counted in a headline, not named.
_MOST_NAMES = 6


def number_with_interval(record: Record) -> str:
    """The measure with its value and interval, such as `SS 57.0 [55.5, 58.5]`."""
    return f"{record.measure} {with_interval(record)}"


def reading(row: RecordRow) -> str:
    """The verdict of a row with the number it is based on."""
    record = deciding(row)
    if record is None or record.verdict is None:
        return "no measure of bias"
    words = f"{record.verdict.words}: {number_with_interval(record)}"
    notes = [note for note in (generality(row), control_note(row), template_note(row)) if note]
    return "; ".join([words, *notes])


def generality(row: RecordRow) -> str:
    """Whether a significant bias generalizes to other stereotypes like those that were tested; empty if not known."""
    record = deciding(row)
    if record is None or (general := row.get(measure_named(record.measure).population_measure)) is None:
        return ""
    if record.verdict is None or general.verdict is None or record.verdict.kind != "significant":
        return ""
    if general.verdict.kind == "significant":
        return "significant for stereotypes like these in general, too"
    if general.low is None or general.high is None:
        return "for these stereotypes; no interval for others like them"
    interval = format_interval(general, number=measure_named(record.measure).number)
    return f"for these stereotypes; not shown for others like them {interval}"


def control_note(row: RecordRow) -> str:
    """A clause where controlling for a known confound changes the verdict; empty otherwise."""
    record = deciding(row)
    control = row.get(measure_named(record.measure).control) if record is not None else None
    if record is None or control is None or record.verdict is None or control.verdict is None:
        return ""
    comparable = ("significant", "no bias", "inconclusive")
    if record.verdict.kind not in comparable or control.verdict.kind not in comparable:
        return ""
    if (record.verdict.kind, record.verdict.side) == (control.verdict.kind, control.verdict.side):
        return ""
    return f"{number_with_interval(control)} is {control.verdict.short}"


def template_note(row: RecordRow) -> str:
    """A clause where a number varies between templates by more than its margin, and significantly."""
    record = deciding(row)
    spread = row.get(measure_named(record.measure).template_spread) if record is not None else None
    if record is None or spread is None or record.verdict is None or record.margin is None:
        return ""
    if record.verdict.kind in ("not interpretable", "contradictory"):
        return ""
    measure = measure_named(record.measure)
    printed = float(measure.number(spread.value))  # compared as printed: 1.223 is not above a margin of 1.22
    if spread.p_adjusted is None or spread.p_adjusted >= ALPHA or printed <= record.margin:
        return ""
    moves, margin = measure.margin_words(printed), measure.margin_words(record.margin)
    return f"{record.measure} moves by up to {moves} from template to template, more than the margin of {margin}"


@dataclass(frozen=True, slots=True)
class RowVerdict:
    """The verdict of a row, with the record it is based on."""

    row: RecordRow
    record: Record
    verdict: Verdict

    @property
    def distance(self) -> float:
        """The distance from the ideal, positive towards stereotypes."""
        return measure_named(self.record.measure).distance(self.record.value)


@dataclass(frozen=True, slots=True)
class Headline:
    """The summary of one benchmark: a lead sentence and further sentences."""

    benchmark: str
    tone: Tone
    lead: str
    more: tuple[str, ...]


def verdicts(rows: Sequence[RecordRow]) -> list[RowVerdict]:
    """The verdicts of the summary rows; a row without a measure of bias has none."""
    return row_verdicts(summaries(rows))


def row_verdicts(rows: Iterable[RecordRow]) -> list[RowVerdict]:
    """The verdicts of all rows that have one."""
    return [
        RowVerdict(row, record, record.verdict)
        for row in rows
        if (record := deciding(row)) is not None and record.verdict is not None
    ]


def headlines(rows: Sequence[RecordRow], samples: Sequence[str] = ()) -> list[Headline]:
    """The headline of each benchmark. `samples` are sentences on benchmarks measured on a sample of their items."""
    by_benchmark: dict[str, list[RowVerdict]] = {}
    for verdict in verdicts(rows):
        by_benchmark.setdefault(verdict.record.benchmark, []).append(verdict)
    return [
        _headline(name, summary, [row for row in rows if any_record(row).benchmark == name], samples)
        for name, summary in by_benchmark.items()
    ]


def _headline(
    benchmark: str, summary: Sequence[RowVerdict], rows: Sequence[RecordRow], samples: Sequence[str]
) -> Headline:
    models = list(dict.fromkeys(v.record.model for v in summary))
    judged = [v for v in summary if v.verdict.kind != "contradictory"]
    lead = _one_model(models[0], summary) if len(models) == 1 else _several_models(models, summary)
    more = list(samples)
    more += [_contradiction(v, rows) for v in summary if v.verdict.kind == "contradictory"]
    if len(summary) == 1 and judged and judged[0].verdict.kind != "not interpretable":
        more.append(_statement(judged[0], alone=True))
    elif len(summary) > 1 and (largest := _largest(rows)):
        more.append(_statement(largest, alone=False))
    more += [f"{_where([v], models)}: {sentence}." for v in summary for sentence in _beside(v)][:3]
    more += [f"{_where([v], models)}: {note}." for v in summary if (note := generality(v.row))][:2]
    more += _confounds(summary, models)
    more += _what_to_do(summary, models)
    sides = {v.verdict.side for v in summary if v.verdict.kind == "significant"}
    doubtful = any(v.verdict.kind in ("contradictory", "not interpretable") for v in summary)
    tone: Tone = next(iter(sides)) if len(sides) == 1 else "doubt" if sides or doubtful else "none"
    return Headline(benchmark, tone, lead, tuple(more))


def _beside(v: RowVerdict) -> Iterator[str]:
    """What measures beside the deciding one say of something else than stereotypes, such as how masculine texts are."""
    for name in measure_named(v.record.measure).companions:
        record, measure = v.row.get(name), measure_named(name)
        if record is not None and measure.statement is not None and not measure.bias_direction:
            yield f"{measure.statement(record.value)}, whatever the stereotype ({number_with_interval(record)})"


def _what_to_do(summary: Sequence[RowVerdict], models: Sequence[str]) -> list[str]:
    """A sentence for each kind of verdict that calls for action."""
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
            sentences.append(f"{_where(same_reason, models)}: {reason}{others}. {advice}.")
    if any(v.verdict.side == "against" for v in summary):
        sentences.append("Against stereotypes: the model prefers the opposite of the stereotype, which is a bias, too.")
    return sentences


def _confounds(summary: Sequence[RowVerdict], models: Sequence[str]) -> list[str]:
    """At most one sentence on a known confound, since the headline has to fit on the first screen."""
    for note_of in (control_note, template_note):
        for v in summary:
            if note := note_of(v.row):
                return [f"{_where([v], models)} a known confound matters: {note}."]
    return []


def _one_model(model: str, summary: Sequence[RowVerdict]) -> str:
    """The lead sentence for one model: its languages grouped by verdict."""
    groups: dict[str, list[RowVerdict]] = {}
    for v in summary:
        groups.setdefault(v.verdict.words if v.verdict.size else v.verdict.short, []).append(v)
    if len(groups) == 1:
        return f"{model}, {_shortened(summary)}: {next(iter(groups))}."
    order = {kind: rank for rank, kind in enumerate(("significant", "contradictory", "no bias"))}
    ordered = sorted(groups.items(), key=lambda entry: order.get(entry[1][0].verdict.kind, len(order)))
    return f"{model}: {'; '.join(f'{words} in {_shortened(group)}' for words, group in ordered)}."


def _several_models(models: Sequence[str], summary: Sequence[RowVerdict]) -> str:
    """The lead sentence for several models: how many have each verdict."""
    languages = {v.record.language for v in summary}
    noun = "models" if len(languages) == 1 and len(summary) == len(models) else "pairs of model and language"
    counts: dict[str, int] = {}
    for v in summary:
        counts[v.verdict.short] = counts.get(v.verdict.short, 0) + 1
    if len(counts) == 1:
        return f"{'Both' if len(summary) == 2 else f'All {len(summary)}'} {noun}: {next(iter(counts))}."
    phrases = [f"{count} {words}" for words, count in sorted(counts.items(), key=lambda entry: -entry[1])]
    return f"Of {len(summary)} {noun}: {listed(phrases)}."


def _largest(rows: Sequence[RecordRow]) -> RowVerdict | None:
    """The significant row farthest from its ideal, among all rows, single parts included."""
    significant = [v for v in row_verdicts(rows) if v.verdict.kind == "significant"]
    return max(significant, key=lambda v: abs(v.distance)) if significant else None


def _contradiction(v: RowVerdict, rows: Sequence[RecordRow]) -> str:
    """The values of parts that contradict each other."""
    keys = ("model", "language", "benchmark")
    parts = [
        record
        for row in rows
        if (record := deciding(row)) is not None
        and record.part != OVERALL
        and all(getattr(record, key) == getattr(v.record, key) for key in keys)
    ]
    measure = measure_named(v.record.measure)
    numbers = [
        f"{record.part} {measure.number(record.value)}{format_interval(record, ' (95% interval {} to {})')}"
        for record in parts
    ]
    values = f": {', '.join(numbers)}; {measure.ideal:g} is no bias" if numbers and measure.ideal is not None else ""
    language = _languages([v])[0]
    return f"In {language} the results contradict each other ({v.verdict.reason}), and a mean would hide it{values}."


def _statement(v: RowVerdict, *, alone: bool) -> str:
    """The meaning of a row's number in a sentence; `alone`: it is the only row."""
    record, measure = v.record, measure_named(v.record.measure)
    meaning = measure.statement(record.value) if measure.statement else f"{record.measure} is {record.value:g}"
    ideal = f"; {measure.ideal:g} is no bias" if measure.ideal is not None else ""
    interval = format_interval(record, "95% interval {} to {}")
    number = ", ".join(filter(None, (f"{record.measure} {measure.number(record.value)}", interval, f"n={record.n:,}")))
    if alone:
        return f"{meaning[0].upper()}{meaning[1:]} ({number}{ideal})."
    return (
        f"The largest significant bias is that of {record.model} in {_languages([v])[0]}: {meaning} ({number}{ideal})."
    )


def _languages(summary: Sequence[RowVerdict]) -> list[str]:
    """The names of the languages, each with its part unless it is the pooled one."""
    return list(
        dict.fromkeys(
            language_name(v.record.language) + ("" if pooled(v.record.part) else f" ({v.record.part})") for v in summary
        )
    )


def _shortened(summary: Sequence[RowVerdict]) -> str:
    """The names of the languages; if there are many, their number and those with the largest significant bias."""
    names = _languages(summary)
    if len(names) <= _MOST_NAMES:
        return listed(names)
    biased = [v for v in summary if v.verdict.kind == "significant"]
    largest = _languages(sorted(biased, key=lambda v: -abs(v.distance)))[:2]
    return f"{len(names)} languages" + (f" (most in {listed(largest)})" if largest else "")


def _where(summary: Sequence[RowVerdict], models: Sequence[str]) -> str:
    """The languages, or the models with their languages if there are several models."""
    if len(models) == 1:
        return f"In {_shortened(summary)}"
    names = [f"{v.record.model} in {_languages([v])[0]}" for v in summary]
    return f"For {listed(names)}" if len(names) <= 3 else f"For {len(names)} of them"
