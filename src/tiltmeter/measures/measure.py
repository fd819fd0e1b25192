"""Measure: one object per measure, with all that tables, figures, comparisons, gates and exports need."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures.estimates import Interval
from tiltmeter.measures.standard_errors import Floats, Labels
from tiltmeter.registry import find_package_objects, find_plugins

if TYPE_CHECKING:
    from tiltmeter.measures.records import Record

BiasDirection = Literal["towards", "against", "none"]
Roles = Mapping[str, Floats]
# The records of one model, benchmark, language, part, protocol, view and group, by measure name.
Row = Mapping[str, "Record"]
# A rule of validity: why a row cannot be interpreted, or None.
ValidityRule = Callable[[Row], str | None]


def _list_first_mean(means: Floats) -> list[Floats]:
    return [means[0]]


@dataclass(frozen=True, slots=True)
class ItemValues:
    """The contribution of each item to a measure, for paired comparisons.

    `contributions` turns scores by role into a row for each mean in the measure and a column for each item; `pieces`
    turns those means into smooth functions, the minimum of which is the measure. `preference`: items contribute 0, 50
    or 100. `discrete`: items have one of a few outcomes rather than a continuous value. `weigh` returns the weight of
    each item from its stratum, the first of `columns`; without it the measure is a plain mean. `sides` names a column
    that may say on which side a stratum is, which `weigh` then takes as well. `two_sided`: the measure is one side
    minus the other, with weights of both signs, and not defined on items of one side. `clusters` names the columns that
    may identify clusters of items. `may_be_missing`: items without a contribution are allowed.
    """

    roles: tuple[str, ...]
    contributions: Callable[[Roles], Floats]
    preference: bool = False
    discrete: bool = True
    pieces: Callable[[Floats], list[Floats]] = _list_first_mean
    columns: tuple[str, ...] = ()
    weigh: Callable[..., Floats] | None = None
    sides: str = ""
    two_sided: bool = False
    clusters: tuple[str, ...] = ("template",)
    may_be_missing: bool = False

    @property
    def is_mean(self) -> bool:
        """Whether the measure is one weighted mean of the contributions, not a function of several."""
        return self.pieces is _list_first_mean

    def weights(self, labels: Labels, sides: Labels | None = None) -> Floats:
        """The weight of each item, from its stratum and, where it has one, its side."""
        if self.weigh is None:
            return np.full(len(labels), 1 / len(labels))
        return self.weigh(labels) if sides is None else self.weigh(labels, sides)

    def is_defined(self, labels: Labels | None, sides: Labels | None = None) -> bool:
        """Whether the measure is defined on items of these strata: both sides are there, if it needs both."""
        if not self.two_sided or labels is None:
            return True
        weights = self.weights(labels, sides)
        return bool((weights > 0).any() and (weights < 0).any())


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure.

    `meaning` defines it in a sentence; `axis` is its axis label; `statement(value)` explains a value to readers who do
    not know the measure.
    `stereotype` is the side of the ideal that is a bias towards stereotypes: above (1), below (-1), or neither (0).
    `margin` is the distance from the ideal up to which a bias is negligible; measures without one get no verdict.
    `decides`: the measure can decide the verdict of its row; the first such measure in a row does. `columns` are the
    measures in its table, `beside` those shown next to it on a page.
    `general` names the measure with the same value that generalises to other stereotypes, `control` the one that
    removes a known confound, `template_spread` the one for its variation between templates.
    `per_token`: a mean over tokens, which is not comparable between tokenizers.
    `validity` are the rules that a row must pass to be interpreted.
    """

    name: str
    meaning: str
    axis: str = ""
    ideal: float | None = None
    stereotype: int = 0
    bounds: Interval | None = None
    ratio: bool = False  # on a log scale: half is as far from the ideal as double
    reach: float = 20.0  # smallest half-width of its axis; for ratios in powers of two
    digits: int = 1
    unit: str = ""
    heading: str = ""
    margin: float | None = None
    decides: bool = False
    columns: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    general: str = ""
    control: str = ""
    template_spread: str = ""
    per_token: bool = False
    statement: Callable[[float], str] | None = None
    validity: tuple[ValidityRule, ...] = ()
    items: tuple[ItemValues, ...] = ()

    def number(self, value: float, *, signed: bool = False) -> str:
        """The value as printed, without negative zeros."""
        text = f"{value:+.{self.digits}f}" if signed else f"{value:.{self.digits}f}"
        return text.lstrip("+-") if not float(text) else text

    def position(self, value: float) -> float:
        """The value on the linear scale of the measure: log2 for ratios."""
        return math.log2(max(value, 1e-300)) if self.ratio else value

    def distance(self, value: float) -> float:
        """The distance from the ideal on that scale, positive towards stereotypes."""
        return (self.stereotype or 1) * (self.position(value) - self.position(self.ideal or 0.0))

    def side(self, value: float) -> BiasDirection:
        """Whether a value is a bias towards stereotypes, against them, or none."""
        distance = self.distance(value)
        return "none" if not distance else "towards" if distance > 0 else "against"

    def limits(self, margin: float) -> Interval:
        """The interval within a margin of the ideal; for ratios the margin is a factor."""
        ideal = self.ideal or 0.0
        return (ideal / margin, ideal * margin) if self.ratio else (ideal - margin, ideal + margin)

    def width(self, interval: Interval) -> float:
        """The width of an interval on the scale of `margin_width`."""
        return self.position(interval[1]) - self.position(interval[0])

    def margin_width(self, margin: float) -> float:
        """The margin on the linear scale."""
        return math.log2(margin) if self.ratio else margin

    def margin_words(self, margin: float) -> str:
        """A margin in words: `5 points`, or `a factor of 1.22`."""
        return f"a factor of {margin:g}" if self.ratio else f"{margin:g}{f' {self.unit}' if self.unit else ''}"

    def span(self, values: Iterable[float]) -> Interval:
        """Axis limits that include these values, with the ideal in the middle."""
        ideal = self.ideal or 0.0
        distances = [abs(self.position(value) - self.position(ideal)) * 1.05 for value in values]
        reach = max([self.reach, *distances])
        if self.ratio:
            reach = min(reach, _WIDEST_RATIO)
            return ideal / 2**reach, ideal * 2**reach
        if self.bounds is not None:
            reach = min(reach, max(abs(end - ideal) for end in self.bounds))
        return ideal - reach, ideal + reach

    @property
    def ideal_at_bound(self) -> bool:
        """Whether the ideal is the best possible value, as 100 for LMS, rather than a midpoint between two biases."""
        return self.bounds is not None and self.ideal in self.bounds and not self.stereotype

    @property
    def higher_is_better(self) -> bool | None:
        """True or False; None where the ideal lies in between, or there is none."""
        if not self.ideal_at_bound or self.bounds is None:
            return None
        return self.ideal == self.bounds[1]


def limit_ties(share: float) -> ValidityRule:
    """Rule: at most this share of the items are ties."""

    def rule(row: Row) -> str | None:
        ties = row.get("ties")
        if ties is None or not ties.n or ties.value <= share * ties.n:
            return None
        return f"{ties.value:.0f} of {ties.n} items are ties (over {share:.0%})"

    return rule


def require_above_chance(measure: str, chance: float, widest: float) -> ValidityRule:
    """Rule: the measure is significantly above chance, unless its interval is wider than `widest`."""

    def rule(row: Row) -> str | None:
        record = row.get(measure)
        if record is None or record.low is None or record.high is None:
            return None
        if record.low > chance or record.high - record.low > widest:
            return None
        value = f"{measure} {record.value:.1f} [{record.low:.1f}, {record.high:.1f}]"
        return f"{value} is no better than guessing ({chance:g}): the model does not tell sense from nonsense here"

    return rule


def limit_unknown_tokens(share: float) -> ValidityRule:
    """Rule: at most this share of the items have tokens that the tokenizer does not know, no tokens, or scores of 0."""

    def rule(row: Row) -> str | None:
        found = [(row[name], words) for name, words in _IN_DOUBT.items() if name in row]
        if not found or sum(record.value for record, _ in found) <= share * found[0][0].n:
            return None
        counts = " and ".join(f"{record.value:.0f} of {record.n} items {words}" for record, words in found)
        return f"{counts} (over {share:.0%})"

    return rule


UNKNOWN = "items with unknown tokens"
ALL_ZERO = "items with all scores 0"
_IN_DOUBT = {UNKNOWN: "have tokens that the model does not know", ALL_ZERO: "have only scores of 0"}
# Records of a whole portion, which decide on its groups, too.
PORTION_MEASURES = (UNKNOWN, ALL_ZERO)
MOST_TIES = 0.2
MOST_UNKNOWN = 0.1
_WIDEST_RATIO = 1000.0  # the widest axis of a ratio, in powers of two: a float has 1,023
WIDEST = 4.0  # an interval wider than this many margins, without significance, is "too few items"


@cache
def list_measures() -> dict[str, Measure]:
    """All measures by name: built in, and from plug-ins."""
    listed = find_package_objects("tiltmeter.measures", "MEASURES")
    listed += [load().MEASURES for load in find_plugins("measures").values()]
    return {measure.name: measure for module_measures in listed for measure in module_measures}


def get_measure(name: str) -> Measure:
    """The measure of this name; a bare one for unknown names, as in runs of other versions.

    >>> get_measure("SS").ideal, get_measure("something else").ideal
    (50.0, None)
    """
    return list_measures().get(name) or Measure(name, "")


def complete_name(name: str, names: Iterable[str]) -> str | None:
    """Complete an abbreviated name, such as S_JSD for S_JSD x 1e3; None if it is unknown or ambiguous.

    >>> complete_name("S_JSD", ["CPS", "S_JSD x 1e3"]), complete_name("SSS", ["SS"])
    ('S_JSD x 1e3', None)
    """
    names = list(dict.fromkeys(names))
    if name in names:
        return name
    matches = [full for full in names if full.startswith(f"{name} ") and "as published" not in full]
    return matches[0] if len(matches) == 1 else None


def select_deciding_record(row: Row) -> "Record | None":
    """The record of a row that decides its verdict."""
    return next((row[name] for name, measure in list_measures().items() if measure.decides and name in row), None)


def list_deciding_records(row: Row) -> "list[Record]":
    """All records of a row whose measures can decide a verdict."""
    return [row[name] for name, measure in list_measures().items() if measure.decides and name in row]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A measure with its item contributions for one form."""

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


def list_quantities(roles: Iterable[str], columns: Iterable[str]) -> list[Quantity]:
    """The measures in which scores with these roles and columns can be compared.

    >>> [quantity.name for quantity in list_quantities(["more", "less", "s_jsd"], ["bias_type"])]
    ['CPS', 'S_JSD x 1e3']
    """
    roles, columns = set(roles), set(columns)
    return [
        Quantity(measure, values)
        for measure in list_measures().values()
        for values in measure.items
        if roles.issuperset(values.roles) and columns.issuperset(values.columns)
    ]


def select_clusters(values: ItemValues, columns: Mapping[str, NDArray[np.object_]]) -> Labels | None:
    """The cluster of each item, from the first cluster column with more than one value."""
    for name in values.clusters:
        if name in columns and len(set(columns[name].tolist())) > 1:
            return columns[name]
    return None
