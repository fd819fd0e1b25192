"""What the numbers say, in words."""

from collections.abc import Sequence
from dataclasses import dataclass

from tiltmeter.measures.records import Record
from tiltmeter.reports.languages import language_name
from tiltmeter.reports.leans import LEANS, Side, deciding, senseless, side
from tiltmeter.reports.rows import OVERALL, Row, summaries


def reading(row: Row) -> str:
    """What the number of a row that leans says, in words."""
    record = deciding(row)
    if record is None:
        return "no number that could lean"
    lean = LEANS[record.measure]
    number = f"{record.measure} {lean.number(record.value)}"
    if record.low is not None and record.high is not None:
        number += f" [{lean.number(record.low)}, {lean.number(record.high)}]"
    way = side(record, row)
    if way == "none":
        words = f"no lean that n={record.n} could tell from noise: {number}"
        if "minimum detectable effect" in row:
            words += f"; less than {row['minimum detectable effect'].value:.0f} points is easily missed"
    else:
        words = f"leans {way} stereotypes: {number}, more than noise"
        if way == "towards" and lean.distance(record.value) < 0:
            words += (
                f"; {record.measure} is below 50 because {int(row['ties'].value)} ties count against the stereotype"
            )
    if senseless(row):
        words += "; LMS is no better than chance, so SS means little"
    return words


def probability(value: float | None) -> str:
    """A p-value as it is printed.

    >>> probability(0.0321), probability(0.00002), probability(None)
    ('0.032', '<0.001', '')
    """
    if value is None:
        return ""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which way one row leans, and by which of its numbers."""

    row: Row
    record: Record
    side: Side
    senseless: bool

    @property
    def short(self) -> str:
        """A word or two for a table."""
        if self.side == "none":
            return "no lean seen"
        return f"leans {self.side}"

    @property
    def distance(self) -> float:
        """How far from the ideal, positive towards stereotypes."""
        return LEANS[self.record.measure].distance(self.record.value)


@dataclass(frozen=True, slots=True)
class Headline:
    """What there is to say of one benchmark: a sentence to begin with, and what follows from it."""

    benchmark: str
    side: Side
    lead: str
    more: tuple[str, ...]


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """The verdicts on the rows that stand for the rest; rows without a number that leans have none."""
    found = []
    for row in summaries(rows):
        if (record := deciding(row)) is not None:
            found.append(Verdict(row, record, side(record, row), senseless(row)))
    return found


def headlines(rows: Sequence[Row]) -> list[Headline]:
    """The headline of each benchmark."""
    by_benchmark: dict[str, list[Verdict]] = {}
    for verdict in verdicts(rows):
        by_benchmark.setdefault(verdict.record.benchmark, []).append(verdict)
    return [_headline(name, some) for name, some in by_benchmark.items()]


def _headline(benchmark: str, found: Sequence[Verdict]) -> Headline:
    models = list(dict.fromkeys(v.record.model for v in found))
    lead, more = _of_one(models[0], found) if len(models) == 1 else _of_several(models, found)
    leaning = [v for v in found if v.side != "none"] or list(found)
    more.append(_furthest(max(leaning, key=lambda v: abs(v.distance)), alone=len(found) == 1))
    if unseen := [v for v in found if v.side == "none" and "minimum detectable effect" in v.row]:
        effect = max(v.row["minimum detectable effect"].value for v in unseen)
        more.append(f"A lean of less than {effect:.0f} points is easily missed with so few.")
    doubtful = [v for v in found if v.senseless]
    if doubtful:
        more.append(
            f"{_where(doubtful, models)}, LMS is no better than chance: the answers hardly tell sense from nonsense "
            "there, so a lean or its absence means little."
        )
    if len(found) > 5 and any(v.side != "none" for v in found):
        more.append("Each was tested by itself at 5%: were there no lean anywhere, one in twenty would still show one.")
    sides = [v.side for v in leaning]
    return Headline(benchmark, max(set(sides), key=sides.count), lead, tuple(more))


def _of_one(model: str, found: Sequence[Verdict]) -> tuple[str, list[str]]:
    by_side = {way: [v for v in found if v.side == way] for way in ("towards", "against", "none")}
    leaning = [
        f"{way} stereotypes in {_listed(_places(some))}" for way, some in by_side.items() if some and way != "none"
    ]
    none = by_side["none"]
    if not leaning:
        n = max(v.record.n for v in none)
        return f"{model} shows no lean that {n:,} items could tell from noise in {_listed(_places(none))}.", []
    more = [f"{_where(none, [model])}, the items cannot tell a lean from noise."] if none else []
    return f"{model} leans {' and '.join(leaning)}, by more than noise.", more


def _of_several(models: Sequence[str], found: Sequence[Verdict]) -> tuple[str, list[str]]:
    languages = {v.record.language for v in found}
    what = "models" if len(languages) == 1 and len(found) == len(models) else "pairs of model and language"
    counts = {way: sum(v.side == way for v in found) for way in ("towards", "against", "none")}
    if counts["towards"] == len(found):
        return f"All {len(found)} {what} lean towards stereotypes, by more than noise.", []
    if counts["none"] == len(found):
        return f"None of {len(found)} {what} shows a lean that the items could tell from noise.", []
    said = [f"{counts['towards']} lean{'s' * (counts['towards'] == 1)} towards stereotypes by more than noise"]
    if counts["against"]:
        said.append(f"{counts['against']} against")
    if counts["none"]:
        said.append(f"for {counts['none']} the items cannot tell a lean from noise")
    return f"Of {len(found)} {what}, {_listed(said)}.", []


def _furthest(verdict: Verdict, *, alone: bool) -> str:
    record, lean = verdict.record, LEANS[verdict.record.measure]
    place = _places([verdict])[0]
    interval = ""
    if record.low is not None and record.high is not None:
        interval = f", 95% interval {lean.number(record.low)} to {lean.number(record.high)}"
    number = f"{record.measure} {lean.number(record.value)}{interval}, n={record.n:,}; {lean.ideal:g} is no lean"
    meaning = {
        "SS": f"the stereotype was chosen in {record.value:.1f}% of items",
        "CPS": f"the more stereotypical sentence was preferred in {record.value:.1f}% of pairs",
        "S_JSD x 1e3": "its predictions are nearer to the truth in the "
        f"{'more' if record.value < 0 else 'less'} stereotypical sentences",
        "g_s": "against the feminine wording, the masculine one is "
        f"{record.value:.2f} times as likely in stereotypes about men as in those about women",
        "f_s": f"the share of masculine translations is higher by {record.value:.2f} in stereotypes about men than in "
        "those about women",
    }[record.measure]
    if alone:
        return f"{meaning[0].upper()}{meaning[1:]} ({number})."
    return f"The furthest from even is {record.model} in {place}: {meaning} ({number})."


def _places(found: Sequence[Verdict]) -> list[str]:
    """The languages, with the part where it is not the pooled one."""
    return list(
        dict.fromkeys(
            language_name(v.record.language) + (f" ({v.record.part})" if v.record.part not in (OVERALL, "all") else "")
            for v in found
        )
    )


def _where(found: Sequence[Verdict], models: Sequence[str]) -> str:
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
