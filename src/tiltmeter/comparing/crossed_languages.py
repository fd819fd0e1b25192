"""The function `compare_languages`, which compares the languages of several models in each measure.

Cells (one model in one language each) that are comparable are analysed together, on the items that all of them have.
Two questions are kept apart: whether languages differ for these models (fixed), and for models like these (random).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tiltmeter.comparing.attributes import ModelAttributes
from tiltmeter.comparing.cells import Cell, build_all_cells, list_common_fixed_factors, restrict_cells
from tiltmeter.comparing.comparability import Across
from tiltmeter.comparing.comparable_cells import find_unreliable_cells, reject_missing_measures
from tiltmeter.comparing.comparison import complete_measure_names
from tiltmeter.comparing.language_attributes import (
    Groups,
    collect_language_groups,
    collect_model_groups,
    collect_sizes,
    select_attribute,
)
from tiltmeter.comparing.language_comparison import LanguageAnalysis, LanguageComparison
from tiltmeter.comparing.language_families import correct_language_tests
from tiltmeter.comparing.language_groups import SIZE, estimate_group_effects, estimate_size_effect
from tiltmeter.comparing.language_inference import (
    compute_interaction,
    fit_languages,
    infer_models_like_these,
    infer_same_models,
    infer_these_models,
)
from tiltmeter.comparing.language_invariance import assess_invariance
from tiltmeter.comparing.language_panels import LanguagePanel, PanelQuery
from tiltmeter.comparing.language_results import CellValue, GroupEffect
from tiltmeter.comparing.language_sentences import describe_languages
from tiltmeter.comparing.language_variance import estimate_components
from tiltmeter.comparing.measure_correlations import correlate_measures
from tiltmeter.comparing.protocol_variants import list_protocol_variants
from tiltmeter.comparing.quality_adjustment import adjust_for_quality
from tiltmeter.errors import UsageError
from tiltmeter.measures.answer_variance import compute_answer_moments
from tiltmeter.measures.measure import Measure
from tiltmeter.measures.random_models import RandomModels
from tiltmeter.measures.records import OVERALL
from tiltmeter.measures.verdict_rule import PORTION, Families
from tiltmeter.runs.file_digests import describe_changed_files
from tiltmeter.runs.fixed_factors import describe_fixed_factors
from tiltmeter.runs.result import Result
from tiltmeter.runs.sample_notes import list_sample_notes


@dataclass(frozen=True, slots=True)
class _Grouping:
    """The groups of models and languages by attribute, and the sizes of models."""

    of_models: Groups
    of_languages: Groups
    sizes: Mapping[str, float]

    def estimate_effects(self, panel: LanguagePanel, fitted: RandomModels | None) -> Iterator[GroupEffect]:
        measure = panel.quantity.measure
        yield from estimate_group_effects(panel.crossed, fitted, self.of_models, self.of_languages, measure)
        yield from estimate_size_effect(panel.crossed, self.sizes, measure)


def compare_languages(
    runs: Sequence[tuple[str, Result]],
    attributes: ModelAttributes,
    *,
    measures: Sequence[str] = (),
    where: Mapping[str, str] | None = None,
    across: Sequence[Across] = (),
    group: str | None = None,
    over_protocols: bool = False,
    families: Families = PORTION,
) -> LanguageComparison:
    """Compare languages over all models of the runs, in each measure that is a mean over items.

    `group` is the only attribute by which models or languages are grouped; the default is all attributes. With
    `over_protocols`, the analysis is repeated with each protocol that the runs have. `families` says which tests are
    corrected together.
    """
    measures = complete_measure_names(measures)
    cells = build_all_cells(runs)
    cells = restrict_cells(cells, where) if where else cells
    reject_missing_measures(cells, measures)
    notes = [sentence for run, result in runs for sentence in describe_changed_files(result.changed, run)]
    unreliable = find_unreliable_cells(runs, where)
    grouping = _collect_grouping(runs, cells, attributes, group)
    query = PanelQuery(measures, across, unreliable)
    analyses = list(_analyse_variants(query, cells, grouping, notes, over_protocols))
    if not analyses:
        raise UsageError(_explain_empty(cells, notes))
    analyses = correct_language_tests(analyses, families)
    notes += dict.fromkeys(sample for _, result in runs for sample in list_sample_notes(result.manifest.data))
    notes += filter(None, [describe_fixed_factors(list_common_fixed_factors(runs))])
    return LanguageComparison(
        answers=tuple(_answer_question(analyses)),
        analyses=analyses,
        correlations=list(correlate_measures(cells, unreliable)),
        notes=list(dict.fromkeys(notes)),
        over_protocols=over_protocols,
    )


def _collect_grouping(
    runs: Sequence[tuple[str, Result]], cells: Sequence[Cell], attributes: ModelAttributes, group: str | None
) -> _Grouping:
    """Return the groups by all attributes, or by the attribute `group`; "size" stands for the number of parameters."""
    if group == SIZE:
        return _Grouping({}, {}, collect_sizes(runs, cells, attributes))
    of_models = collect_model_groups(runs, cells, attributes)
    of_languages = collect_language_groups(dict.fromkeys(cell.language for cell in cells))
    sizes = collect_sizes(runs, cells, attributes) if group is None else {}
    return _Grouping(*select_attribute(group, of_models, of_languages), sizes)


def analyse_panel(panel: LanguagePanel, grouping: _Grouping, protocol: str) -> LanguageAnalysis:
    """Return the analysis of one measure on one part."""
    crossed, measure = panel.crossed, panel.quantity.measure
    these = infer_these_models(crossed, measure)
    fitted = fit_languages(crossed)
    like = infer_models_like_these(crossed, fitted, measure)
    moments = compute_answer_moments(crossed)
    components = tuple(estimate_components(crossed, moments, fitted, like))
    first = panel.cells[0]
    return LanguageAnalysis(
        subject=panel.subject,
        benchmark=first.benchmark,
        part=first.part,
        protocol=protocol,
        quantity=panel.quantity,
        languages=tuple(panel.languages),
        items=crossed.n,
        left_out=panel.left_out,
        cells=tuple(_list_cell_values(panel, measure)),
        these=these,
        same=infer_same_models(crossed, measure),
        like=like,
        groups=tuple(grouping.estimate_effects(panel, fitted)),
        interaction=compute_interaction(crossed),
        components=components,
        invariance=assess_invariance(panel, moments),
        quality=adjust_for_quality(panel, like),
        sentence=describe_languages(panel.quantity, first.part, these, like),
    )


def _analyse_variants(
    query: PanelQuery, cells: Sequence[Cell], grouping: _Grouping, notes: list[str], over_protocols: bool
) -> Iterator[LanguageAnalysis]:
    """Yield the analyses of all cells or, with `over_protocols`, those of each protocol."""
    if not over_protocols:
        for panel in query.build_panels(cells, notes):
            yield analyse_panel(panel, grouping, panel.protocol)
        return
    across: list[Across] = list(dict.fromkeys([*query.across, "protocols"]))
    for part in dict.fromkeys((cell.benchmark, cell.part) for cell in cells if cell.part != OVERALL):
        of_part = [cell for cell in cells if (cell.benchmark, cell.part) == part]
        for protocol, chosen in list_protocol_variants(of_part):
            for panel in replace(query, across=across).build_panels(chosen, notes):
                yield analyse_panel(panel, grouping, protocol)


def _list_cell_values(panel: LanguagePanel, measure: Measure) -> Iterator[CellValue]:
    for cell, row in zip(panel.cells, np.eye(len(panel.cells)), strict=True):
        mean = panel.crossed.estimate_combination(row)
        low, high = measure.clip(mean.interval())
        yield CellValue(
            model=cell.model,
            kind=cell.conditions.kind,
            language=cell.language,
            value=mean.value,
            low=low,
            high=high,
        )


def _answer_question(analyses: Sequence[LanguageAnalysis]) -> list[str]:
    """Return one sentence for each single part, about its primary measure; about the first measure if none is primary.

    If a part was analysed with several protocols, the sentence is about the first protocol.
    """
    single = [one for one in analyses if one.part != OVERALL] or list(analyses)
    primary = [one for one in single if one.quantity.measure.decides] or single
    first = primary[0].quantity.name
    chosen = {(one.subject, one.part): one for one in reversed(primary) if one.quantity.name == first}
    return [one.sentence for one in reversed(chosen.values())]


def _explain_empty(cells: Sequence[Cell], notes: Sequence[str]) -> str:
    if len({cell.language for cell in cells}) < 2:
        return "A comparison of languages needs runs in at least two languages; add runs on translations of the items."
    return next((note for note in notes if note.startswith("Not ")), notes[-1] if notes else "The runs have no scores.")
