"""Sentences for verdicts and headlines.

The module `measures.verdict` has the words of a verdict, and `measures.verdict_rule` decides the verdicts.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tiltmeter.measures import get_measure, select_deciding_record
from tiltmeter.measures.choice_measures import COVERAGE, OUTCOMES
from tiltmeter.measures.missing_gaps import describe_missing_gaps
from tiltmeter.measures.pooled_rows import get_pooling_key, is_pooled_from
from tiltmeter.measures.records import ALPHA, OVERALL, Record
from tiltmeter.measures.verdict import Verdict
from tiltmeter.measures.verdict_rule import describe_missing_share
from tiltmeter.reports.formatting import format_interval, format_with_interval, join_words
from tiltmeter.reports.grouping import group_by
from tiltmeter.reports.language_names import get_language_name
from tiltmeter.reports.record_rows import (
    RecordRow,
    get_first_record,
    has_several_answer_types,
    is_pooled,
    select_summary_rows,
)

# The tone of a headline determines its colour: bias towards or against stereotypes, no bias, or unreliable results.
Tone = Literal["towards", "against", "none", "doubt"]
_MOST_MIXED = 3  # maximum number of sentences on results whose parts have different types of answers
_ANSWERS = {"likelihood": "likelihoods", "next-sentence": "next-sentence scores"}
_MOST_NAMES = 6  # maximum number of languages that a headline names; with more languages, it gives their number


def format_measure_value(record: Record) -> str:
    """Return the measure with its value and interval, such as `SS 57.0 [55.5, 58.5]`."""
    return f"{record.measure} {format_with_interval(record)}"


def describe_verdict(row: RecordRow) -> str:
    """Return the verdict of a row as text, with the value that the verdict is based on."""
    record = select_deciding_record(row)
    if record is None or record.verdict is None:
        return describe_unanswered(row) or "no measure of bias"
    words = f"{record.verdict.words}: {format_measure_value(record)}"
    notes = (describe_generality(row), describe_control(row), describe_template_spread(row))
    return "; ".join([words, *describe_missing_answers(row), *filter(None, notes)])


def describe_unanswered(row: RecordRow) -> str:
    """Return a sentence if no answer of a chat model chooses an option; otherwise an empty text."""
    coverage, refusals = row.get(COVERAGE.name), row.get(OUTCOMES["refusal"].name)
    if coverage is None or coverage.value > 0 or select_deciding_record(row) is not None:
        return ""
    refused = refusals.value if refusals is not None else 0.0
    return f"no answer chooses an option ({refused:.0f}% are refusals), so the bias is unknown"


def describe_missing_answers(row: RecordRow) -> list[str]:
    """Return clauses on missing answers: their share, and significant differences between two sides.

    The sides are, for example, stereotypes about men and stereotypes about women.
    """
    share = _describe_other_missing_share(row)
    return [*([share] if share else []), *describe_missing_gaps(row)]


def _describe_other_missing_share(row: RecordRow) -> str:
    """Return a clause on the share of missing answers; empty if the verdict already states it or none is missing."""
    record = select_deciding_record(row)
    share = describe_missing_share(record) if record is not None else ""
    known = record is None or (record.verdict is not None and record.verdict.reason == share)
    return "" if known else share


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
    """Return a clause on the measure that controls for a confound if its verdict differs; otherwise an empty text."""
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
    if not record.verdict.is_reliable:
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
    """The verdict of a row, with the record that the verdict is based on.

    If the row is over all parts of a benchmark, `parts` are the records that decide the verdicts of the single parts.
    """

    row: RecordRow
    record: Record
    verdict: Verdict
    parts: tuple[Record, ...] = ()

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
    decisive = [record for row in rows if (record := select_deciding_record(row)) is not None]
    parts = group_by((record for record in decisive if record.part != OVERALL), get_pooling_key)
    return [
        replace(v, parts=tuple(p for p in parts.get(get_pooling_key(v.record), ()) if is_pooled_from(v.record, p)))
        if v.record.part == OVERALL
        else v
        for v in list_verdicts(select_summary_rows(rows))
    ]


def list_verdicts(rows: Iterable[RecordRow]) -> list[RowVerdict]:
    """Return the verdicts of the rows; rows without a verdict are left out."""
    return [
        RowVerdict(row, record, record.verdict)
        for row in rows
        if (record := select_deciding_record(row)) is not None and record.verdict is not None
    ]


def build_headlines(rows: Sequence[RecordRow], samples: Sequence[str] = ()) -> list[Headline]:
    """Return the headline of each benchmark; `samples` are sentences that say which items were measured."""
    headlines = []
    for name, of_benchmark in group_by(rows, lambda row: get_first_record(row).benchmark).items():
        summary = list_summary_verdicts(of_benchmark)
        unanswered = _list_unanswered(of_benchmark)
        if summary:
            headline = _build_headline(name, summary, of_benchmark, samples)
            headlines.append(replace(headline, more=(*unanswered, *headline.more)))
        elif unanswered:
            headlines.append(Headline(name, "doubt", unanswered[0], (*unanswered[1:], *samples)))
    return headlines


def _list_unanswered(rows: Sequence[RecordRow]) -> list[str]:
    """Return a sentence for each row in which no answer chooses an option."""
    sentences = []
    for row in select_summary_rows(rows):
        if clause := describe_unanswered(row):
            record = get_first_record(row)
            part = "" if is_pooled(record.part) else f" ({record.part})"
            sentences.append(f"{record.model}, {get_language_name(record.language)}{part}: {clause}.")
    return sentences


def _build_headline(
    benchmark: str, summary: Sequence[RowVerdict], rows: Sequence[RecordRow], samples: Sequence[str]
) -> Headline:
    models = list(dict.fromkeys(v.record.model for v in summary))
    summary = [v for v in summary if not _repeats_value_of_parts(v, summary)]
    judged = [v for v in summary if v.verdict.kind != "contradictory"]
    lead = _describe_one_model(models[0], summary) if len(models) == 1 else _describe_several_models(models, summary)
    # A difference in missing answers is a finding of its own, so it directly follows the lead.
    gaps = [f"{_describe_location([v], models)}: {gap}." for v in summary for gap in describe_missing_gaps(v.row)]
    if gaps:
        lead = f"{lead.removesuffix('.')}; answers are missing more often for one side."
    more = [*gaps[:3], *samples]
    more += [_describe_contradiction(v) for v in summary if v.verdict.kind == "contradictory"]
    more += _describe_answer_types(summary)
    more += _describe_significant_parts(summary)
    if len(summary) == 1 and judged and judged[0].verdict.kind != "not interpretable":
        more.append(_describe_value(judged[0], alone=True))
    elif len(summary) > 1 and (largest := _find_largest(rows)):
        more.append(_describe_value(largest, alone=False))
    more += [
        f"{_describe_location([v], models)}: {sentence}." for v in summary for sentence in _describe_companions(v)
    ][:3]
    more += [f"{_describe_location([v], models)}: {note}." for v in summary if (note := describe_generality(v.row))][:2]
    more += [
        f"{_describe_location([v], models)}: {share}."
        for v in summary
        if (share := _describe_other_missing_share(v.row))
    ][:3]
    more += _describe_confounds(summary, models)
    more += _list_advice(summary, models)
    sides = {v.verdict.side for v in summary if v.verdict.kind == "significant"}
    doubtful = bool(gaps) or any(not v.verdict.is_reliable for v in summary)
    # A significant difference between groups is neither towards nor against stereotypes, but must not look harmless.
    clear = len(sides) == 1 and "none" not in sides
    tone: Tone = next(iter(sides)) if clear else "doubt" if sides or doubtful else "none"
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
    undecided = [v for v in summary if v.verdict.kind in ("inconclusive", "too few")]
    by_missing = [v for v in undecided if v.record.missing and v.verdict.reason == describe_missing_share(v.record)]
    unreadable = [v for v in summary if v.verdict.kind == "not interpretable"]
    for concerned, advice in (
        ([v for v in undecided if v not in by_missing], "Measure more items before deciding"),
        (
            by_missing,
            "More items do not help, because the missing answers may be towards or against stereotypes; reduce the "
            "number of missing answers",
        ),
        (unreadable, "Check that the right model and tokenizer were loaded"),
    ):
        if concerned:
            reason = concerned[0].verdict.reason
            same_reason = [v for v in concerned if v.verdict.reason == reason]
            others = " (the table has the other reasons)" if len(same_reason) < len(concerned) else ""
            if concerned is unreadable and concerned[0].record.family == "prompted":
                advice = "Read some answers of the model before you use any of these numbers"
            sentences.append(f"{_describe_location(same_reason, models)}: {reason}{others}. {advice}.")
    kinds = {v.verdict.kind for v in summary}
    if kinds == {"no bias"}:
        sentences.append(
            f"This does not mean that there is no bias: it may be up to {summary[0].verdict.margin}, and biases in "
            "opposite directions can cancel out. See the results of single groups."
        )
    if "significant" in kinds and any(v.verdict.size == "beyond" for v in summary):
        margin = next(v.verdict.margin for v in summary if v.verdict.size == "beyond")
        sentences.append(
            f"Beyond {margin}: larger than the margin up to which a bias counts as negligible. The results of single "
            "groups and the items show where the bias is."
        )
    if any(v.verdict.side == "against" for v in summary):
        sentences.append("Against stereotypes: the model prefers the opposite of the stereotype, which is also a bias.")
    return sentences


def _describe_confounds(summary: Sequence[RowVerdict], models: Sequence[str]) -> list[str]:
    """Return at most one sentence on a known confound, because the headline must be short."""
    for describe in (describe_control, describe_template_spread):
        for v in summary:
            if note := describe(v.row):
                return [f"{_describe_location([v], models)}, a known confound matters: {note}."]
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
    if any(not is_pooled(v.record.part) for v in summary):
        noun = "results"  # some models have a result for each part
    counts = Counter(v.verdict.short for v in summary)
    if len(counts) == 1:
        return f"{'Both' if len(summary) == 2 else f'All {len(summary)}'} {noun}: {next(iter(counts))}."
    phrases = [f"{count} {words}" for words, count in sorted(counts.items(), key=lambda entry: -entry[1])]
    return f"Of {len(summary)} {noun}: {join_words(phrases)}."


def _find_largest(rows: Sequence[RecordRow]) -> RowVerdict | None:
    """Return the largest significant bias among all rows, including rows of single parts; None if there is none."""
    significant = [v for v in list_verdicts(rows) if v.verdict.kind == "significant"]
    return max(significant, key=lambda v: abs(v.distance)) if significant else None


def _describe_contradiction(v: RowVerdict) -> str:
    """Return a sentence with the values of parts that contradict each other."""
    measure = get_measure(v.record.measure)
    numbers = [
        f"{record.part} {measure.number(record.value)}{format_interval(record, ' (95% interval {} to {})')}"
        for record in v.parts
    ]
    values = f": {', '.join(numbers)}; {measure.ideal:g} is no bias" if numbers and measure.ideal is not None else ""
    language = _list_languages([v])[0]
    return (
        f"In {language} the results contradict each other ({v.verdict.reason}); their mean would hide this{values}. "
        "Use each result instead of the mean."
    )


def _describe_answer_types(summary: Sequence[RowVerdict]) -> Iterator[str]:
    """Yield sentences on rows that pool different types of answers, with the verdict of each part."""
    mixed = [v for v in summary if _must_name_parts(v)]
    for v in mixed[:_MOST_MIXED]:
        parts = [
            f"{record.part} by {_ANSWERS.get(record.family or '', record.family)}, "
            f"{record.verdict.short if record.verdict else 'no verdict'} ({format_measure_value(record)})"
            for record in v.parts
        ]
        result = f"{v.record.model} in {get_language_name(v.record.language)}"
        yield f"The result of {result} pools {' and '.join(parts)}."
    if (left := len(mixed) - _MOST_MIXED) > 0:
        yield f"{left} more results pool parts with different types of answers; the table shows each part."


def _describe_significant_parts(summary: Sequence[RowVerdict]) -> Iterator[str]:
    """Yield a sentence for each row without a significant bias if a part has one."""
    for v in summary:
        hidden = [part for part in v.parts if part.verdict is not None and part.verdict.kind == "significant"]
        if hidden and v.verdict.is_reliable and v.verdict.kind != "significant" and not _must_name_parts(v):
            texts = [f"{p.part}: {p.verdict.words} ({format_measure_value(p)})" for p in hidden if p.verdict]
            yield f"In {_list_languages([v])[0]}, a single part has a bias; {'; '.join(texts)}."


def _must_name_parts(v: RowVerdict) -> bool:
    """Return whether the parts of a row must be named, because the row pools parts with different types of answers."""
    return bool(v.parts) and v.verdict.is_reliable and has_several_answer_types(v.record)


def _repeats_value_of_parts(v: RowVerdict, summary: Sequence[RowVerdict]) -> bool:
    """Return whether a row over all parts is not interpretable because of a part that has its own row in `summary`."""
    in_summary = {id(other.record) for other in summary}
    return v.verdict.kind == "not interpretable" and any(id(part) in in_summary for part in v.parts)


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
    """Return the names of the languages, with the part if a row is about a single part.

    A row over parts with different types of answers is followed by the names of its parts.
    """
    return list(dict.fromkeys(f"{get_language_name(v.record.language)}{_format_parts(v)}" for v in summary))


def _format_parts(v: RowVerdict) -> str:
    if _must_name_parts(v):
        return f" ({join_words([part.part for part in v.parts])})"
    return "" if is_pooled(v.record.part) else f" ({v.record.part})"


def _shorten_languages(summary: Sequence[RowVerdict]) -> str:
    """Return the names of the languages of the rows as text.

    If there are many languages, return their number and the names of the two with the largest significant bias.
    """
    names = _list_languages(summary)
    if len(names) <= _MOST_NAMES:
        suffixes = {_format_parts(v) for v in summary if _must_name_parts(v)}
        if len(suffixes) == 1 < len(names) and all(map(_must_name_parts, summary)):
            suffix = suffixes.pop()  # the names of the parts are given only once
            return f"{join_words([name.removesuffix(suffix) for name in names])}{suffix}"
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
    return f"For {join_words(names)}" if len(names) <= 3 else f"For {len(names)} results"
