"""Many languages at once: one row for each, by family, and medians by family, script and gender."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from tiltmeter.datasets.language_facts import get_language_facts
from tiltmeter.measures import get_measure
from tiltmeter.reports.summary_rows import SummaryRow

# Fewest languages of a model for which an overview is worth its place.
FEWEST_LANGUAGES = 8
_OTHER = "Others"


@dataclass(frozen=True, slots=True)
class LanguageGroup:
    """The rows of the languages of one family, the highest value first."""

    name: str
    lines: list[SummaryRow]


@dataclass(frozen=True, slots=True)
class AttributeRow:
    """The languages that share an attribute: how many, the median and the range of their values, as shown."""

    attribute: str
    value: str
    languages: int
    median: str
    range: str


@dataclass(frozen=True, slots=True)
class LanguageOverview:
    """The languages of one model in one part of a benchmark. `counts` are languages by side of a significant bias."""

    model: str
    part: str
    groups: list[LanguageGroup]
    attributes: list[AttributeRow]
    counts: dict[str, int]

    @property
    def languages(self) -> int:
        """How many languages there are."""
        return sum(len(group.lines) for group in self.groups)


def build_overviews(lines: Sequence[SummaryRow]) -> list[LanguageOverview]:
    """An overview for each model and part that has enough languages."""
    by_case: dict[tuple[str, str], list[SummaryRow]] = {}
    for line in lines:
        by_case.setdefault((line.verdict.record.model, line.part), []).append(line)
    return [
        LanguageOverview(model, part, _group_by_family(case), list(_build_attribute_rows(case)), _count_biased(case))
        for (model, part), case in by_case.items()
        if len({line.language for line in case}) >= FEWEST_LANGUAGES
    ]


def _group_by_family(lines: Sequence[SummaryRow]) -> list[LanguageGroup]:
    """Large families first; a family with a single language goes to the others."""
    families: dict[str, list[SummaryRow]] = {}
    for line in lines:
        families.setdefault(get_language_facts(line.verdict.record.language).family, []).append(line)
    single = [line for name, found in families.items() if len(found) == 1 or not name for line in found]
    groups = [LanguageGroup(name, _sort_rows(found)) for name, found in families.items() if len(found) > 1 and name]
    groups.sort(key=lambda group: (-len(group.lines), group.name))
    return [*groups, LanguageGroup(_OTHER, _sort_rows(single))] if single else groups


def _sort_rows(lines: Sequence[SummaryRow]) -> list[SummaryRow]:
    return sorted(lines, key=lambda line: (-line.verdict.record.value, line.language))


def _count_biased(lines: Sequence[SummaryRow]) -> dict[str, int]:
    """Languages with a significant bias towards stereotypes, against them, and without one."""
    significant = [line.verdict.verdict for line in lines if line.verdict.verdict.kind == "significant"]
    towards = sum(verdict.side == "towards" for verdict in significant)
    against = sum(verdict.side == "against" for verdict in significant)
    return {"towards": towards, "against": against, "neither": len(lines) - towards - against}


def _build_attribute_rows(lines: Sequence[SummaryRow]) -> Iterator[AttributeRow]:
    """A row for each value of an attribute by which the languages can be divided."""
    values: dict[str, dict[str, list[float]]] = {}
    for line in lines:
        record = line.verdict.record
        for attribute, value in get_language_facts(record.language).attributes().items():
            values.setdefault(attribute, {}).setdefault(value, []).append(record.value)
    number = get_measure(lines[0].verdict.record.measure).number
    for attribute, by_value in values.items():
        if len(by_value) < 2:
            continue
        for value, found in sorted(by_value.items(), key=lambda entry: (-len(entry[1]), entry[0])):
            span = f"{number(min(found))} – {number(max(found))}" if len(found) > 1 else ""
            yield AttributeRow(attribute, value, len(found), number(median(found)), span)
