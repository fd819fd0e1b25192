"""The quality of items: how well they separate models, and which are suspect. `tiltmeter items` prints the results."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tiltmeter.comparing.cells import Cell, build_all_cells
from tiltmeter.comparing.contribution_tables import ContributionTable, build_contribution_tables
from tiltmeter.comparing.item_statistics import (
    FEWEST_MODELS,
    ItemStatistics,
    LanguageAgreement,
    Reliability,
    compute_item_statistics,
    compute_language_agreement,
    estimate_lowest_reliability,
    estimate_reliability,
    find_all_wrong,
)
from tiltmeter.errors import UsageError
from tiltmeter.forms import ItemText
from tiltmeter.runs.result import Result
from tiltmeter.runs.run_items import get_item_texts

# The family-wise error rate, over all items, of the test whether an item orders models opposite to the other items.
_ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class SuspectItem:
    """An item that a person should check, with the reason for the check."""

    benchmark: str
    language: str
    part: str
    item: str
    reason: str


@dataclass(frozen=True, slots=True)
class MeasureItemQuality:
    """How well the items of one benchmark part and language separate models in one measure, and which are suspect."""

    panel: ContributionTable
    reliability: Reliability | None
    over_clusters: Reliability | None
    items: list[ItemStatistics]
    wrong: list[tuple[str, str]]

    @property
    def same_outcome_count(self) -> int:
        """The number of items with the same outcome for all models; these items do not separate models."""
        return sum(one.separation is None for one in self.items)

    @property
    def contrary_items(self) -> list[ItemStatistics]:
        """The items with a significantly negative separation: they order models opposite to the other items."""
        return [one for one in self.items if one.p_negative is not None and one.p_negative < _ALPHA]

    def select_strongest(self, count: int) -> list[ItemStatistics]:
        """Return the `count` items with the strongest preference for the stereotype.

        Items are sorted by strength; if they have no strengths, by mean contribution.
        """
        directions = {
            one.item: direction for one, direction in zip(self.items, self.panel.compute_directions(), strict=True)
        }
        return sorted(self.items, key=lambda one: (-(one.strength or 0.0), -directions[one.item] * one.mean, one.item))[
            :count
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the quality of the items in one measure, part and language as a dictionary for JSON."""
        first = self.panel.cells[0]
        return {
            "benchmark": first.benchmark,
            "part": first.part,
            "language": first.language,
            "measure": self.panel.quantity.name,
            "models": list(self.panel.models),
            "items": len(self.items),
            "left_out": self.panel.left_out,
            "reliability": asdict(self.reliability) if self.reliability else None,
            "reliability_over_clusters": asdict(self.over_clusters) if self.over_clusters else None,
            "same_for_all_models": self.same_outcome_count,
            "all_wrong": [item for _, item in self.wrong],
            "against_the_rest": [one.item[1] for one in self.contrary_items],
            "statistics": [{**asdict(one), "item": one.item[1]} for one in self.items],
        }


@dataclass(frozen=True, slots=True)
class ItemQuality:
    """The quality of items in each measure, part and language (a panel), and the agreement between languages."""

    panels: list[MeasureItemQuality]
    languages: dict[tuple[str, str, str], list[LanguageAgreement]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def list_suspects(self) -> list[SuspectItem]:
        """Return the items that a person should check; an item occurs once for each reason."""
        suspects: dict[SuspectItem, None] = {}
        for quality in self.panels:
            first, models = quality.panel.cells[0], len(quality.panel.cells)
            name = quality.panel.quantity.name
            for part, item in quality.wrong:
                reason = f"all {models} models give the wrong answer ({name})"
                suspects[SuspectItem(first.benchmark, first.language, part, item, reason)] = None
            for one in quality.contrary_items:
                reason = f"models are ordered opposite to the other items ({name}, correlation {one.separation:.2f})"
                suspects[SuspectItem(first.benchmark, first.language, *one.item, reason)] = None
        return list(suspects)

    def load_item_texts(self, quality: MeasureItemQuality) -> Mapping[str, ItemText]:
        """Return a mapping from item id to text for the assessed items; it is empty if no run has the texts."""
        table = next((cell.texts for cell in quality.panel.cells if cell.texts is not None), None)
        return {} if table is None else get_item_texts(table)

    def to_dict(self) -> dict[str, Any]:
        """Return the quality of all items as a dictionary for JSON."""
        return {
            "panels": [quality.to_dict() for quality in self.panels],
            "languages": [
                {"benchmark": benchmark, "part": part, "measure": measure, **asdict(one)}
                for (benchmark, part, measure), found in self.languages.items()
                for one in found
            ],
            "suspects": [asdict(suspect) for suspect in self.list_suspects()],
            "notes": self.notes,
        }


def assess_item_quality(runs: Iterable[tuple[str, Result]]) -> ItemQuality:
    """Assess the quality of the items of named runs."""
    cells = build_all_cells(runs)
    panels = list(build_contribution_tables(cells))
    if not panels:
        raise UsageError("The runs have no measure with contributions of single items, so items cannot be assessed.")
    if max(len(panel.cells) for panel in panels) < FEWEST_MODELS:
        raise UsageError(
            f"The assessment of items needs at least {FEWEST_MODELS} models on the same items; give more runs."
        )
    kept = [panel for panel in panels if len(panel.cells) >= FEWEST_MODELS]
    few = sorted({panel.location for panel in panels if len(panel.cells) < FEWEST_MODELS})
    notes = [f"{where}: fewer than {FEWEST_MODELS} models, so the items are not assessed." for where in few]
    notes += [
        f"{panel.location}, {panel.quantity.name}: {panel.left_out:,} items that some models do not have are left out."
        for panel in kept
        if panel.left_out
    ]
    notes += _describe_repeated_models(kept)
    notes += _describe_mixed_protocols(kept)
    return ItemQuality([_assess_table(panel) for panel in kept], _compare_languages(panels), notes)


def _assess_table(panel: ContributionTable) -> MeasureItemQuality:
    return MeasureItemQuality(
        panel,
        estimate_reliability(panel),
        estimate_lowest_reliability(panel),
        compute_item_statistics(panel),
        find_all_wrong(panel),
    )


def _describe_mixed_protocols(panels: Sequence[ContributionTable]) -> list[str]:
    """Return notes on data whose models differ in kind or protocol, because this may explain different results."""
    notes = {}
    for panel in panels:
        ways = sorted({f"{cell.conditions.kind or 'unknown'} {cell.protocol}" for cell in panel.cells})
        if len(ways) > 1:
            notes[panel.location] = f"{panel.location}: models were measured in different ways ({', '.join(ways)})."
    return list(notes.values())


def _describe_repeated_models(panels: Sequence[ContributionTable]) -> list[str]:
    """Return notes on runs that are left out because their model is already counted."""
    notes = {
        panel.location: f"{panel.location}: each model counts once, so these are left out: "
        f"{', '.join(f'{cell.model} {cell.protocol} ({cell.run})' for cell in panel.repeated)}."
        for panel in panels
        if panel.repeated
    }
    return list(notes.values())


def _compare_languages(panels: Sequence[ContributionTable]) -> dict[tuple[str, str, str], list[LanguageAgreement]]:
    groups: dict[tuple[str, str, str], list[ContributionTable]] = {}
    for panel in panels:
        first: Cell = panel.cells[0]
        groups.setdefault((first.benchmark, first.part, panel.quantity.name), []).append(panel)
    compared = {key: list(compute_language_agreement(group)) for key, group in groups.items() if len(group) > 1}
    return {key: agreements for key, agreements in compared.items() if agreements}
