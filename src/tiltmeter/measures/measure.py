"""Measure: one object for each number, with everything that a table, a figure, a comparison or a gate needs of it."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures.estimates import Interval
from tiltmeter.measures.standard_errors import Floats, Labels
from tiltmeter.registry import package_objects, plugins

if TYPE_CHECKING:
    from tiltmeter.measures.records import Record

Side = Literal["towards", "against", "none"]
Roles = Mapping[str, Floats]
# The records of one model, benchmark, language, part, protocol, view and group, by the name of their measure.
Row = Mapping[str, "Record"]
# Why a row says nothing about bias, or None.
Validity = Callable[[Row], str | None]


def _first(means: Floats) -> list[Floats]:
    return [means[0]]


@dataclass(frozen=True, slots=True)
class ItemValues:
    """What one item contributes to a measure, for comparisons item by item.

    `of` turns the scores of some roles into a row for each mean that the measure is made of and a column for each item;
    `pieces` turns those means into smooth numbers, the least of which is the measure. `preference`: an item contributes
    0, 50 or 100, the share of preferences. `discrete`: an item says one of a few things rather than a number. `weigh`
    gives each item its weight by the strata in the first of `columns`; without it the measure is a plain mean.
    `clusters` names the column whose values tell which items belong together. `may_be_blank`: an item may contribute
    nothing.
    """

    roles: tuple[str, ...]
    of: Callable[[Roles], Floats]
    preference: bool = False
    discrete: bool = True
    pieces: Callable[[Floats], list[Floats]] = _first
    columns: tuple[str, ...] = ()
    weigh: Callable[[Labels], Floats] | None = None
    clusters: tuple[str, ...] = ("template",)
    may_be_blank: bool = False


@dataclass(frozen=True, slots=True)
class Measure:
    """One number.

    `meaning` defines it in a sentence; `axis` names it on an axis; `statement(value)` says what a value means to
    somebody who does not know the measure.
    `stereotype` is the side of the ideal on which stereotypes are: above (1), below (-1), or neither (0).
    `margin` is the distance from the ideal that counts as no bias worth the name; a measure without one gets no
    verdict.
    `decides`: the measure can give the verdict of its row; the first of the row's measures that does, in the order in
    which their module lists them. `columns` are the measures that stand in its table, `beside` those beside it on a
    page.
    `general` names the measure with the same value that speaks of more than what was asked about, `control` the one
    that takes a known confound away, `between` the one that says how much it moves from template to template.
    `by_token`: a mean over tokens, so that models with other tokenizers have other ones.
    `validity` are the rules under which a verdict would mean nothing.
    """

    name: str
    meaning: str
    axis: str = ""
    ideal: float | None = None
    stereotype: int = 0
    bounds: Interval | None = None
    ratio: bool = False  # half is as far from the ideal as double
    reach: float = 20.0  # how far from the ideal a scale goes, at least
    digits: int = 1
    unit: str = ""
    heading: str = ""
    margin: float | None = None
    decides: bool = False
    columns: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    general: str = ""
    control: str = ""
    between: str = ""
    by_token: bool = False
    statement: Callable[[float], str] | None = None
    validity: tuple[Validity, ...] = ()
    items: tuple[ItemValues, ...] = ()

    def number(self, value: float, *, signed: bool = False) -> str:
        """The value as it is printed, never a negative zero."""
        text = f"{value:+.{self.digits}f}" if signed else f"{value:.{self.digits}f}"
        return text.lstrip("+-") if not float(text) else text

    def position(self, value: float) -> float:
        """Where a value stands on a scale that is even on both sides of the ideal."""
        return math.log2(max(value, 1e-300)) if self.ratio else value

    def distance(self, value: float) -> float:
        """How far a value is from the ideal on that scale, positive towards stereotypes."""
        return (self.stereotype or 1) * (self.position(value) - self.position(self.ideal or 0.0))

    def side(self, value: float) -> Side:
        """The side of the ideal on which a value lies."""
        distance = self.distance(value)
        return "none" if not distance else "towards" if distance > 0 else "against"

    def limits(self, margin: float) -> Interval:
        """The values that lie within a margin of the ideal; a margin of a ratio is a factor."""
        ideal = self.ideal or 0.0
        return (ideal / margin, ideal * margin) if self.ratio else (ideal - margin, ideal + margin)

    def width(self, interval: Interval) -> float:
        """The width of an interval in units of which `margin_width` is one margin."""
        return self.position(interval[1]) - self.position(interval[0])

    def margin_width(self, margin: float) -> float:
        """A margin on the same scale."""
        return math.log2(margin) if self.ratio else margin

    def margin_words(self, margin: float) -> str:
        """A margin in words: `5 points`, or `a factor of 1.22`."""
        return f"a factor of {margin:g}" if self.ratio else f"{margin:g}{f' {self.unit}' if self.unit else ''}"

    def span(self, values: Iterable[float]) -> Interval:
        """A scale that shows these values, with the ideal in its middle."""
        ideal = self.ideal or 0.0
        distances = [abs(self.position(value) - self.position(ideal)) * 1.05 for value in values]
        reach = max([self.reach, *distances])
        if self.ratio:
            return ideal / 2**reach, ideal * 2**reach
        if self.bounds is not None:
            reach = min(reach, max(abs(end - ideal) for end in self.bounds))
        return ideal - reach, ideal + reach

    @property
    def best_at_an_end(self) -> bool:
        """Whether the ideal is the best there is, as 100 is for LMS, rather than a middle between two biases."""
        return self.bounds is not None and self.ideal in self.bounds and not self.stereotype

    @property
    def higher_is_better(self) -> bool | None:
        """True or False where more is better or worse; None where the best lies between, or nothing is better."""
        if not self.best_at_an_end or self.bounds is None:
            return None
        return self.ideal == self.bounds[1]


def ties_at_most(share: float) -> Validity:
    """The rule that ties are at most this share of the items."""

    def rule(row: Row) -> str | None:
        ties = row.get("ties")
        if ties is None or not ties.n or ties.value <= share * ties.n:
            return None
        return f"{ties.value:.0f} of {ties.n} items are ties (over {share:.0%})"

    return rule


def above_chance(measure: str, chance: float, widest: float) -> Validity:
    """The rule that a measure is above chance, where its interval is narrow enough to tell."""

    def rule(row: Row) -> str | None:
        record = row.get(measure)
        if record is None or record.low is None or record.high is None:
            return None
        if record.low > chance or record.high - record.low > widest:
            return None
        value = f"{measure} {record.value:.1f} [{record.low:.1f}, {record.high:.1f}]"
        return f"{value} is no better than guessing ({chance:g}): the model does not tell sense from nonsense here"

    return rule


def unknown_at_most(share: float) -> Validity:
    """The rule that items with tokens unknown to the model are at most this share."""

    def rule(row: Row) -> str | None:
        unknown = row.get(UNKNOWN)
        if unknown is None or not unknown.n or unknown.value <= share * unknown.n:
            return None
        return f"{unknown.value:.0f} of {unknown.n} items have tokens that the model does not know (over {share:.0%})"

    return rule


UNKNOWN = "items with unknown tokens"
MOST_TIES = 0.2
MOST_UNKNOWN = 0.1
WIDEST = 4.0  # margins that an interval may span before a result that is not significant is called too small


@cache
def measures() -> dict[str, Measure]:
    """All measures by name: those of the modules of this folder, and those that other packages bring."""
    found = package_objects("tiltmeter.measures", "MEASURES")
    found += [load().MEASURES for load in plugins("measures").values()]
    return {measure.name: measure for some in found for measure in some}


def measure_named(name: str) -> Measure:
    """The measure of this name; one without any properties where none is known, as in runs of other versions.

    >>> measure_named("SS").ideal, measure_named("something else").ideal
    (50.0, None)
    """
    return measures().get(name) or Measure(name, "")


def abbreviated(name: str, names: Iterable[str]) -> str | None:
    """The name that is meant: itself, or the only one that begins with it, as S_JSD stands for S_JSD x 1e3.

    >>> abbreviated("S_JSD", ["CPS", "S_JSD x 1e3"]), abbreviated("SSS", ["SS"])
    ('S_JSD x 1e3', None)
    """
    names = list(dict.fromkeys(names))
    if name in names:
        return name
    near = [one for one in names if one.startswith(f"{name} ") and "as published" not in one]
    return near[0] if len(near) == 1 else None


def deciding(row: Row) -> "Record | None":
    """The record of a row that gives its verdict."""
    return next((row[name] for name, measure in measures().items() if measure.decides and name in row), None)


def also_deciding(row: Row) -> "list[Record]":
    """All records of a row that could give its verdict."""
    return [row[name] for name, measure in measures().items() if measure.decides and name in row]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A measure with what items of one form contribute to it."""

    measure: Measure
    values: ItemValues = field(repr=False)

    @property
    def name(self) -> str:
        """The measure's name."""
        return self.measure.name

    @property
    def ideal(self) -> float:
        """The measure's ideal."""
        return self.measure.ideal or 0.0


def quantities_for(roles: Iterable[str], columns: Iterable[str]) -> list[Quantity]:
    """The measures that scores of these roles, with these columns, can be compared in.

    >>> [quantity.name for quantity in quantities_for(["more", "less", "s_jsd"], ["bias_type"])]
    ['CPS', 'S_JSD x 1e3']
    """
    roles, columns = set(roles), set(columns)
    return [
        Quantity(measure, values)
        for measure in measures().values()
        for values in measure.items
        if roles.issuperset(values.roles) and columns.issuperset(values.columns)
    ]


def clusters_of(values: ItemValues, columns: Mapping[str, NDArray[np.object_]]) -> Labels | None:
    """The cluster of each item: the first of the measure's cluster columns that is there and tells items apart."""
    for name in values.clusters:
        if name in columns and len(set(columns[name].tolist())) > 1:
            return columns[name]
    return None
