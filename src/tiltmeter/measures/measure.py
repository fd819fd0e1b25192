"""The class `Measure`, with all properties that tables, figures, comparisons, gates and exports need."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.measures.estimates import Interval
from tiltmeter.measures.item_contributions import ItemValues, Roles, Strength, compute_influence
from tiltmeter.measures.standard_errors import Floats
from tiltmeter.measures.validity_rules import Row, ValidityRule
from tiltmeter.measures.verdict import VerdictDirection
from tiltmeter.registry import OWN_PACKAGE, Component, find_package_objects, index_components, list_plugins

if TYPE_CHECKING:
    from tiltmeter.measures.records import Record


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure, such as SS, with its properties.

    A *row* contains the records of one model on one part of a benchmark, for one group of items. `meaning` defines the
    measure in a sentence. `axis` is the label of its axis in figures. `statement(value)` explains a value to readers
    who do not know the measure. `bias_direction` tells which values are a bias towards stereotypes: those above the
    ideal (1), those below it (-1), or neither (0). `lowered_by_bias` is true for measures such as ICAT that a bias
    lowers. `compares_groups` is true if the value is a difference between groups of the user's choice, so that neither
    sign is towards stereotypes. `margin` is the maximum distance from the ideal at which a bias is negligible; a
    measure without a margin has no verdict. If `decides` is true, the measure can be the primary measure of a row: the
    first measure of the row with `decides`. If this measure is the primary measure, `columns` are the names of the
    measures in the table of results, and `companions` the names of the measures that a page shows next to it. Three
    fields name related measures: `population_measure` has the same value, but an interval for a population of
    stereotypes; `control` measures the same bias without a known confound, such as length; `template_spread` is the
    variation of the measure between templates. If `per_token` is true, the measure is a mean over tokens, which is not
    comparable between tokenizers. `validity` are the rules that a row must pass to be interpreted. `items` define the
    contributions of single items, one definition for each set of roles and columns that a table of scores may have.
    `factors` are the names of columns with factors that items share, in addition to those in `items`. `figures` are the
    names of the figures for this measure in reports, in addition to the figures for all measures.
    """

    name: str
    meaning: str
    axis: str = ""
    ideal: float | None = None
    bias_direction: int = 0
    lowered_by_bias: bool = False
    compares_groups: bool = False
    bounds: Interval | None = None
    ratio: bool = False  # whether the scale is logarithmic: half the ideal is as far from the ideal as twice the ideal
    reach: float = 20.0  # minimum half-width of the axis; for ratios, in powers of two
    digits: int = 1
    unit: str = ""
    heading: str = ""
    margin: float | None = None
    decides: bool = False
    columns: tuple[str, ...] = ()
    companions: tuple[str, ...] = ()
    population_measure: str = ""
    control: str = ""
    template_spread: str = ""
    per_token: bool = False
    statement: Callable[[float], str] | None = None
    validity: tuple[ValidityRule, ...] = ()
    items: tuple[ItemValues, ...] = ()
    factors: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()

    def number(self, value: float, *, signed: bool = False) -> str:
        """Return a value as text for display; zero has no sign."""
        text = f"{value:+.{self.digits}f}" if signed else f"{value:.{self.digits}f}"
        return text.lstrip("+-") if not float(text) else text

    def position(self, value: float) -> float:
        """Convert a value to the linear scale of the measure: log2(value) for ratios, otherwise the value itself."""
        return math.log2(max(value, 1e-300)) if self.ratio else value

    def distance(self, value: float) -> float:
        """Return the distance of a value from the ideal on the linear scale; it is positive towards stereotypes."""
        return (self.bias_direction or 1) * (self.position(value) - self.position(self.ideal or 0.0))

    def side(self, value: float) -> VerdictDirection:
        """Return "towards" or "against" for a value biased towards or against stereotypes, "none" for the ideal.

        It is also "none" if the measure compares groups.
        """
        distance = self.distance(value)
        return "none" if not distance or self.compares_groups else "towards" if distance > 0 else "against"

    def limits(self, margin: float) -> Interval:
        """Return the interval of values within a margin of the ideal; for ratios, ideal / margin to ideal * margin."""
        ideal = self.ideal or 0.0
        return (ideal / margin, ideal * margin) if self.ratio else (ideal - margin, ideal + margin)

    def width(self, interval: Interval) -> float:
        """Return the width of an interval on the linear scale."""
        return self.position(interval[1]) - self.position(interval[0])

    def margin_width(self, margin: float) -> float:
        """Convert a margin to its width on the linear scale: log2 of the margin for ratios."""
        return math.log2(margin) if self.ratio else margin

    def margin_words(self, margin: float) -> str:
        """Return a margin in words: for example, `5 points` or `a factor of 1.22`."""
        return f"a factor of {margin:g}" if self.ratio else f"{margin:g}{f' {self.unit}' if self.unit else ''}"

    def clip(self, interval: Interval) -> Interval:
        """Clip an interval to the bounds of the measure."""
        return clip_interval(interval, self.bounds)

    def clip_difference(self, interval: Interval) -> Interval:
        """Clip the interval of a difference of two values to the possible range of such differences."""
        if self.bounds is None:
            return interval
        width = self.bounds[1] - self.bounds[0]
        return clip_interval(interval, (-width, width))

    @property
    def factor_columns(self) -> tuple[str, ...]:
        """The names of the columns that may contain factors of items."""
        return tuple(dict.fromkeys((*self.factors, *(name for values in self.items for name in values.factors))))

    def span(self, values: Iterable[float]) -> Interval:
        """Return axis limits that include these values, with the ideal in the middle."""
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
    def is_about_bias(self) -> bool:
        """Whether values depend on a bias; such values are not ranked if the verdict on the bias is not reliable."""
        return bool(self.bias_direction) or self.lowered_by_bias

    @property
    def ideal_at_bound(self) -> bool:
        """Whether the ideal is an end of the scale (100 for LMS), not a point between opposite biases (50 for SS)."""
        return self.bounds is not None and self.ideal in self.bounds and not self.bias_direction

    @property
    def higher_is_better(self) -> bool | None:
        """Whether higher values are better; None if the ideal is not at a bound."""
        if not self.ideal_at_bound or self.bounds is None:
            return None
        return self.ideal == self.bounds[1]


def build_published_measure(measure: Measure) -> Measure:
    """Build the variant "as published" of a percentage: a tie counts as a preference for the anti-stereotype."""
    return Measure(
        f"{measure.name} as published",
        f"{measure.name} if a tie counts as a preference for the anti-stereotype, as in the paper; equal to "
        f"{measure.name} if there are no ties",
        ideal=measure.ideal,
        bias_direction=measure.bias_direction,
        bounds=measure.bounds,
        unit=measure.unit,
        heading=f"{measure.name} as\npublished",
    )


def build_population_measure(measure: Measure) -> Measure:
    """Build the `population_measure` of a measure: the same value, with an interval for a population of stereotypes."""
    return Measure(
        measure.population_measure,
        f"{measure.name} with an interval for all similar stereotypes: the stereotypes in the data count as a random "
        "sample of them",
        ideal=measure.ideal,
        bias_direction=measure.bias_direction,
        bounds=measure.bounds,
        ratio=measure.ratio,
        reach=measure.reach,
        digits=measure.digits,
        unit=measure.unit,
        heading="for stereotypes\nlike these",
        margin=measure.margin,
        validity=measure.validity,
    )


def clip_interval(interval: Interval, bounds: Interval | None) -> Interval:
    """Clip an interval to bounds.

    >>> clip_interval((-3.0, 40.0), (0.0, 100.0)), clip_interval((-3.0, 40.0), None)
    ((0.0, 40.0), (-3.0, 40.0))
    """
    if bounds is None:
        return interval
    return min(max(interval[0], bounds[0]), bounds[1]), max(min(interval[1], bounds[1]), bounds[0])


def name_clusters(columns: Sequence[str], count: int = 2) -> str:
    """Return the noun for clusters of items with the same values in these columns: plural, or singular if `count` is 1.

    >>> name_clusters(["target"]), name_clusters(["entity"]), name_clusters(["template"], 1), name_clusters([])
    ('targets', 'entities', 'template', 'clusters')
    """
    nouns = [_NOUNS.get(name) or _inflect(name.replace("_", " ")) for name in columns] or [("cluster", "clusters")]
    return " or ".join(singular if count == 1 else plural for singular, plural in nouns)


# The singular and plural nouns for columns whose names would not be understood in a text.
_NOUNS = {
    "anti_stereotype_word": ("anti-stereotype word", "anti-stereotype words"),
    "more_terms": ("term of the more stereotypical sentence", "terms of the more stereotypical sentences"),
    "less_terms": ("term of the less stereotypical sentence", "terms of the less stereotypical sentences"),
    "names": ("pair of names", "pairs of names"),
    "idea": ("English original", "English originals"),
}


def _inflect(noun: str) -> tuple[str, str]:
    return noun, f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"


_WIDEST_RATIO = 1000.0  # maximum width of the axis of a ratio, in powers of two; a float can be at most about 2^1024
WIDEST = 4.0  # a result that is not significant has "too few items" if its interval is wider than WIDEST * margin


@cache
def list_measures() -> dict[str, Measure]:
    """Return all measures by name: those of Tiltmeter and those of plug-ins."""
    builtin = [(OWN_PACKAGE, listed) for listed in find_package_objects("tiltmeter.measures", "MEASURES")]
    plugged = [(plugin.package, plugin.value().MEASURES) for plugin in list_plugins("measures")]
    return index_components(
        "measures",
        [Component(measure.name, package, measure) for package, listed in (*builtin, *plugged) for measure in listed],
    )


def get_measure(name: str) -> Measure:
    """Return the measure with this name; for an unknown name, return a measure without properties.

    The files of a run may contain unknown names if another version of Tiltmeter wrote them.

    >>> get_measure("SS").ideal, get_measure("something else").ideal
    (50.0, None)
    """
    return list_measures().get(name) or Measure(name, "")


def complete_name(name: str, names: Iterable[str]) -> str | None:
    """Return the only one of `names` that an abbreviation matches, such as S_JSD x 1e3 for S_JSD; otherwise None.

    >>> complete_name("S_JSD", ["CPS", "S_JSD x 1e3"]), complete_name("SSS", ["SS"])
    ('S_JSD x 1e3', None)
    """
    names = list(dict.fromkeys(names))
    if name in names:
        return name
    matches = [full for full in names if full.startswith(f"{name} ") and "as published" not in full]
    return matches[0] if len(matches) == 1 else None


def select_deciding_record(row: Row) -> "Record | None":
    """Return the record of the primary measure of a row; None if none of its measures can be primary."""
    return next(iter(list_deciding_records(row)), None)


def list_deciding_records(row: Row) -> "list[Record]":
    """Return the records of a row whose measures can be primary; the record of the primary measure is first."""
    return [row[name] for name, measure in list_measures().items() if measure.decides and name in row]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A measure, with the definition of item contributions that fits the columns of a table of scores."""

    measure: Measure
    values: ItemValues = field(repr=False)

    @property
    def name(self) -> str:
        """The name of the measure."""
        return self.measure.name

    @property
    def ideal(self) -> float:
        """The ideal of the measure; 0 if the measure has no ideal."""
        return self.measure.ideal or 0.0

    def compute_directions(self, columns: Mapping[str, NDArray[Any]], n: int) -> Floats:
        """Return for each of n items 1 if a higher contribution of the item is more stereotypical, otherwise -1.

        Items with a negative weight in the measure, such as the items about women in g_s, have the opposite direction
        of items with a positive weight.
        """
        towards = float(self.measure.bias_direction or 1)
        if self.values.weigh is None:
            return np.full(n, towards)
        weights = self.values.compute_weights(columns[self.values.columns[0]], columns.get(self.values.sides))
        return np.where(weights * towards < 0, -1.0, 1.0)


def list_quantities(
    roles: Iterable[str], columns: Iterable[str], among: Iterable[Measure] | None = None
) -> list[Quantity]:
    """Return the measures that can be compared item by item, for scores with these roles and columns.

    Only the measures in `among` are considered; None means all measures.

    >>> [quantity.name for quantity in list_quantities(["more", "less", "s_jsd"], ["bias_type"])]
    ['CPS', 'S_JSD x 1e3']
    """
    roles, columns = set(roles), set(columns)
    return [
        Quantity(measure, values)
        for measure in (list_measures().values() if among is None else among)
        for values in measure.items
        if roles.issuperset(values.roles) and columns.issuperset(values.columns)
    ]


@dataclass(frozen=True, slots=True)
class ItemScale:
    """The scale by which items are sorted, from the most anti-stereotypical to the most stereotypical item."""

    quantity: Quantity
    strength: Strength

    def compute(self, scores: Roles, columns: Mapping[str, NDArray[Any]]) -> Floats:
        """Compute the strength of each item; it is positive if the item shows a preference for the stereotype."""
        n = len(scores[self.strength.roles[0]])
        estimate = self.quantity.values.estimate
        if estimate is None:
            values = self.strength.compute(scores)
        else:
            numbers = {name: columns[name].astype(np.float64) for name in self.quantity.values.number_columns}
            values = compute_influence(estimate, {role: scores[role] for role in self.strength.roles} | numbers)
        return self.quantity.compute_directions(columns, n) * values


def find_item_scale(
    roles: Iterable[str], columns: Iterable[str], among: Iterable[Measure] | None = None
) -> ItemScale | None:
    """Return the scale of the first measure that has a scale for scores with these roles and columns, or None.

    Only the measures in `among` are considered; None means all measures.

    >>> find_item_scale(["more", "less"], ["bias_type"]).quantity.name
    'CPS'
    """
    roles, columns = set(roles), set(columns)
    return next(
        (
            ItemScale(Quantity(measure, values), strength)
            for measure in (list_measures().values() if among is None else among)
            for values in measure.items
            for strength in values.strengths
            if roles.issuperset(strength.roles) and columns.issuperset(values.columns)
        ),
        None,
    )
