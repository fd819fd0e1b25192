"""The overview of many languages: results grouped by language family, and medians by family, script and gender."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from tiltmeter.datasets.language_facts import get_language_facts
from tiltmeter.measures import get_measure
from tiltmeter.reports.grouping import group_by
from tiltmeter.reports.summary_rows import SummaryRow

FEWEST_LANGUAGES = 8  # a model with fewer languages has no overview
_OTHER = "Others"


@dataclass(frozen=True, slots=True)
class LanguageGroup:
    """The rows of one language family, sorted by value; the highest value comes first."""

    name: str
    lines: list[SummaryRow]


@dataclass(frozen=True, slots=True)
class AttributeRow:
    """The languages with the same value of an attribute, such as their script.

    `languages` is the number of languages; `median` and `range` summarise the results in these languages, as text.
    """

    attribute: str
    value: str
    languages: int
    median: str
    range: str


@dataclass(frozen=True, slots=True)
class LanguageOverview:
    """The overview of the languages of one model in one part of a benchmark.

    `counts` are the numbers of languages with a significant bias `towards` or `against` stereotypes, or `neither`.
    """

    model: str
    part: str
    groups: list[LanguageGroup]
    attributes: list[AttributeRow]
    counts: dict[str, int]

    @property
    def language_count(self) -> int:
        """The number of languages in the overview."""
        return sum(len(group.lines) for group in self.groups)


def build_overviews(lines: Sequence[SummaryRow]) -> list[LanguageOverview]:
    """Return an overview for each model and part that has at least FEWEST_LANGUAGES languages.

    Measures that compare groups have none, because the overview counts biases towards and against stereotypes.
    """
    lines = [line for line in lines if not get_measure(line.verdict.record.measure).compares_groups]
    groups = group_by(lines, lambda line: (line.verdict.record.model, line.part))
    return [
        LanguageOverview(model, part, _group_by_family(rows), list(_build_attribute_rows(rows)), _count_biased(rows))
        for (model, part), rows in groups.items()
        if len({line.language for line in rows}) >= FEWEST_LANGUAGES
    ]


def _group_by_family(lines: Sequence[SummaryRow]) -> list[LanguageGroup]:
    """Return the rows grouped by language family, the largest family first.

    Languages that are alone in their family, or have no known family, are in the last group, "Others".
    """
    families = group_by(lines, lambda line: get_language_facts(line.verdict.record.language).family)
    single = [line for name, rows in families.items() if len(rows) == 1 or not name for line in rows]
    groups = [LanguageGroup(name, _sort_rows(rows)) for name, rows in families.items() if len(rows) > 1 and name]
    groups.sort(key=lambda group: (-len(group.lines), group.name))
    return [*groups, LanguageGroup(_OTHER, _sort_rows(single))] if single else groups


def _sort_rows(lines: Sequence[SummaryRow]) -> list[SummaryRow]:
    return sorted(lines, key=lambda line: (-line.verdict.record.value, line.language))


def _count_biased(lines: Sequence[SummaryRow]) -> dict[str, int]:
    """Return how many languages have a significant bias "towards" or "against" stereotypes, or "neither"."""
    significant = [line.verdict.verdict for line in lines if line.verdict.verdict.kind == "significant"]
    towards = sum(verdict.side == "towards" for verdict in significant)
    against = sum(verdict.side == "against" for verdict in significant)
    return {"towards": towards, "against": against, "neither": len(lines) - towards - against}


def _build_attribute_rows(lines: Sequence[SummaryRow]) -> Iterator[AttributeRow]:
    """Yield a row for each value of each language attribute, such as the script.

    Attributes with the same value in all languages are left out.
    """
    values: dict[str, dict[str, list[float]]] = {}
    for line in lines:
        record = line.verdict.record
        for attribute, value in get_language_facts(record.language).attributes().items():
            values.setdefault(attribute, {}).setdefault(value, []).append(record.value)
    number = get_measure(lines[0].verdict.record.measure).number
    for attribute, by_value in values.items():
        if len(by_value) < 2:
            continue
        for value, numbers in sorted(by_value.items(), key=lambda entry: (-len(entry[1]), entry[0])):
            span = f"{number(min(numbers))} – {number(max(numbers))}" if len(numbers) > 1 else ""
            yield AttributeRow(attribute, value, len(numbers), number(median(numbers)), span)
