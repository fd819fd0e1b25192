"""What the numbers say, in words. The verdicts themselves are made in `measures.rule`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tiltmeter.measures import deciding, measure_named
from tiltmeter.measures.records import ALPHA, OVERALL, Record
from tiltmeter.measures.verdict import Verdict
from tiltmeter.reports.languages import language_name
from tiltmeter.reports.record_rows import RecordRow, summaries

# What a headline looks like: a bias towards or against stereotypes, none, or something that needs a second look.
Tone = Literal["towards", "against", "none", "doubt"]


def number_with_interval(record: Record) -> str:
    """`SS 57.0 [55.5, 58.5]`."""
    measure = measure_named(record.measure)
    if record.low is None or record.high is None:
        return f"{record.measure} {measure.number(record.value)}"
    return (
        f"{record.measure} {measure.number(record.value)} [{measure.number(record.low)}, {measure.number(record.high)}]"
    )


def reading(row: RecordRow) -> str:
    """What a row says: its verdict and the number that it is made of."""
    record = deciding(row)
    if record is None or record.verdict is None:
        return "no number that could show a bias"
    words = f"{record.verdict.words}: {number_with_interval(record)}"
    notes = [note for note in (generality(row), control_note(row), template_note(row)) if note]
    return "; ".join([words, *notes])


def generality(row: RecordRow) -> str:
    """Whether the same can be said of more than what was asked about: of stereotypes like GEST's sixteen."""
    record = deciding(row)
    if record is None or (like := row.get(measure_named(record.measure).general)) is None:
        return ""
    if record.verdict is None or like.verdict is None or record.verdict.kind != "significant":
        return ""
    measure = measure_named(record.measure)
    if like.verdict.kind == "significant":
        return "so it is for stereotypes like these"
    if like.low is None or like.high is None:
        return "of these stereotypes; nothing is shown for others like them"
    ends = f"[{measure.number(like.low)}, {measure.number(like.high)}]"
    return f"of these stereotypes; not shown for others like them {ends}"


def control_note(row: RecordRow) -> str:
    """A clause where a measure and the one that takes a known confound away get different verdicts."""
    record = deciding(row)
    control = row.get(measure_named(record.measure).control) if record is not None else None
    if record is None or control is None or record.verdict is None or control.verdict is None:
        return ""
    told = ("significant", "no bias", "inconclusive")
    if record.verdict.kind not in told or control.verdict.kind not in told:
        return ""
    if (record.verdict.kind, record.verdict.side) == (control.verdict.kind, control.verdict.side):
        return ""
    return f"{number_with_interval(control)} is {control.verdict.short}"


def template_note(row: RecordRow) -> str:
    """A clause where a number moves from template to template by more than its margin, and by more than chance."""
    record = deciding(row)
    found = row.get(measure_named(record.measure).between) if record is not None else None
    if record is None or found is None or record.verdict is None or record.margin is None:
        return ""
    if record.verdict.kind in ("not interpretable", "contradictory"):
        return ""  # nothing is said of the number, or it is told which parts contradict each other
    measure = measure_named(record.measure)
    moved = float(measure.number(found.value))  # as printed: 1.223 is no more than a margin of 1.22
    if found.p_adjusted is None or found.p_adjusted >= ALPHA or moved <= record.margin:
        return ""
    moves, margin = measure.margin_words(moved), measure.margin_words(record.margin)
    return f"{record.measure} moves by up to {moves} from template to template, more than the margin of {margin}"


def probability(value: float | None) -> str:
    """A p-value as it is printed.

    >>> probability(0.0321), probability(0.00002), probability(None)
    ('0.032', '<0.001', '')
    """
    if value is None:
        return ""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


@dataclass(frozen=True, slots=True)
class RowVerdict:
    """The verdict of one row, with the record that gave it."""

    row: RecordRow
    record: Record
    verdict: Verdict

    @property
    def distance(self) -> float:
        """How far from the ideal, positive towards stereotypes."""
        return measure_named(self.record.measure).distance(self.record.value)


@dataclass(frozen=True, slots=True)
class Headline:
    """What there is to say of one benchmark: a sentence to begin with, and what follows from it."""

    benchmark: str
    tone: Tone
    lead: str
    more: tuple[str, ...]


def verdicts(rows: Sequence[RecordRow]) -> list[RowVerdict]:
    """The verdicts of the rows that stand for the rest; rows without a number that could show a bias have none."""
    found = []
    for row in summaries(rows):
        record = deciding(row)
        if record is not None and record.verdict is not None:
            found.append(RowVerdict(row, record, record.verdict))
    return found


def headlines(rows: Sequence[RecordRow], samples: Sequence[str] = ()) -> list[Headline]:
    """The headline of each benchmark. `samples` says which of them were measured on a sample of their items."""
    by_benchmark: dict[str, list[RowVerdict]] = {}
    for found in verdicts(rows):
        by_benchmark.setdefault(found.record.benchmark, []).append(found)
    everything = {name: [row for row in rows if _benchmark(row) == name] for name in by_benchmark}
    return [_headline(name, some, everything[name], samples) for name, some in by_benchmark.items()]


def _benchmark(row: RecordRow) -> str:
    return next(iter(row.values())).benchmark


def _headline(
    benchmark: str, found: Sequence[RowVerdict], rows: Sequence[RecordRow], samples: Sequence[str]
) -> Headline:
    models = list(dict.fromkeys(v.record.model for v in found))
    judged = [v for v in found if v.verdict.kind != "contradictory"]
    lead = _of_one(models[0], found) if len(models) == 1 else _of_several(models, found)
    more = list(samples)
    more += [_contradiction(v, rows) for v in found if v.verdict.kind == "contradictory"]
    if len(found) == 1 and judged and judged[0].verdict.kind != "not interpretable":
        more.append(_statement(judged[0], alone=True))
    elif len(found) > 1 and (largest := _largest(rows)):
        more.append(_statement(largest, alone=False))
    more += [f"{_where([v], models)}: {note}." for v in found if (note := generality(v.row))][:2]
    more += _confounds(found, models)
    more += _what_to_do(found, models)
    sides = {v.verdict.side for v in found if v.verdict.kind == "significant"}
    doubtful = any(v.verdict.kind in ("contradictory", "not interpretable") for v in found)
    tone: Tone = next(iter(sides)) if len(sides) == 1 else "doubt" if sides or doubtful else "none"
    return Headline(benchmark, tone, lead, tuple(more))


def _what_to_do(found: Sequence[RowVerdict], models: Sequence[str]) -> list[str]:
    """A sentence for each kind of verdict that leaves something to do."""
    said = []
    for kinds, words in (
        (("inconclusive", "too few"), "Measure more items before deciding"),
        (("not interpretable",), "Check that the right model and tokenizer were loaded"),
    ):
        some = [v for v in found if v.verdict.kind in kinds]
        if some:
            alike = [v for v in some if v.verdict.reason == some[0].verdict.reason]
            others = " (the others are in the table)" if len(alike) < len(some) else ""
            said.append(f"{_where(alike, models)}: {some[0].verdict.reason}{others}. {words}.")
    if any(v.verdict.side == "against" for v in found):
        said.append("Against stereotypes means to prefer the opposite of the stereotype, which is a bias, too.")
    return said


def _confounds(found: Sequence[RowVerdict], models: Sequence[str]) -> list[str]:
    """One sentence on what the number may be besides bias: there is room for one on the first screen."""
    for note_of in (control_note, template_note):
        for v in found:
            if note := note_of(v.row):
                return [f"{_where([v], models)} a known confound matters: {note}."]
    return []


def _of_one(model: str, found: Sequence[RowVerdict]) -> str:
    said: list[tuple[str, list[RowVerdict]]] = []
    for v in found:
        words = v.verdict.short if not v.verdict.size else v.verdict.words
        some = next((some for there, some in said if there == words), None)
        if some is None:
            said.append((words, [v]))
        else:
            some.append(v)
    order = {kind: place for place, kind in enumerate(("significant", "contradictory", "no bias"))}
    said.sort(key=lambda entry: order.get(entry[1][0].verdict.kind, len(order)))
    if len(said) == 1:
        return f"{model}, {_listed(_places(found))}: {said[0][0]}."
    return f"{model}: {'; '.join(f'{words} in {_listed(_places(some))}' for words, some in said)}."


def _of_several(models: Sequence[str], found: Sequence[RowVerdict]) -> str:
    languages = {v.record.language for v in found}
    what = "models" if len(languages) == 1 and len(found) == len(models) else "pairs of model and language"
    counts: dict[str, int] = {}
    for v in found:
        counts[v.verdict.short] = counts.get(v.verdict.short, 0) + 1
    if len(counts) == 1:
        return f"All {len(found)} {what}: {next(iter(counts))}."
    said = [f"{count} {words}" for words, count in sorted(counts.items(), key=lambda entry: -entry[1])]
    return f"Of {len(found)} {what}: {_listed(said)}."


def _largest(rows: Sequence[RecordRow]) -> RowVerdict | None:
    """The significant row that is farthest from its ideal, of all rows that are shown, parts too."""
    found = [
        RowVerdict(row, record, record.verdict)
        for row in rows
        if (record := deciding(row)) is not None and record.verdict is not None
    ]
    significant = [v for v in found if v.verdict.kind == "significant"]
    return max(significant, key=lambda v: abs(v.distance)) if significant else None


def _contradiction(v: RowVerdict, rows: Sequence[RecordRow]) -> str:
    """Which parts go which way, and what their mean would hide."""
    keys = ("model", "language", "benchmark")
    parts = [
        record
        for row in rows
        if (record := deciding(row)) is not None
        and record.part != OVERALL
        and all(getattr(record, key) == getattr(v.record, key) for key in keys)
    ]
    measure = measure_named(v.record.measure)
    numbers = [f"{record.part} {measure.number(record.value)}{_range(record)}" for record in parts]
    said = f": {', '.join(numbers)}; {measure.ideal:g} is no bias" if numbers and measure.ideal is not None else ""
    return (
        f"In {_places([v])[0]} the results contradict each other ({v.verdict.reason}), and a mean would hide it{said}."
    )


def _range(record: Record) -> str:
    if record.low is None or record.high is None:
        return ""
    number = measure_named(record.measure).number
    return f" (95% interval {number(record.low)} to {number(record.high)})"


def _statement(v: RowVerdict, *, alone: bool) -> str:
    record, measure = v.record, measure_named(v.record.measure)
    meaning = measure.statement(record.value) if measure.statement else f"{record.measure} is {record.value:g}"
    ideal = f"; {measure.ideal:g} is no bias" if measure.ideal is not None else ""
    interval = _range(record).strip(" ()")
    number = ", ".join(filter(None, (f"{record.measure} {measure.number(record.value)}", interval, f"n={record.n:,}")))
    if alone:
        return f"{meaning[0].upper()}{meaning[1:]} ({number}{ideal})."
    return f"The largest significant bias is that of {record.model} in {_places([v])[0]}: {meaning} ({number}{ideal})."


def _places(found: Sequence[RowVerdict]) -> list[str]:
    """The languages, with the part where it is not the pooled one."""
    return list(
        dict.fromkeys(
            language_name(v.record.language) + (f" ({v.record.part})" if v.record.part not in (OVERALL, "all") else "")
            for v in found
        )
    )


def _where(found: Sequence[RowVerdict], models: Sequence[str]) -> str:
    if len(models) == 1:
        return f"In {_listed(_places(found))}"
    places = [f"{v.record.model} in {_places([v])[0]}" for v in found]
    return f"For {_listed(places)}" if len(places) <= 3 else f"For {len(places)} of them"


def _listed(words: Sequence[str]) -> str:
    """The words with commas and a last "and".

    >>> _listed(["English", "French", "German"])
    'English, French and German'
    """
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
