"""The reproduction of papers: the numbers are recomputed and compared with the printed numbers."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tiltmeter.errors import UsageError
from tiltmeter.papers.difference_reasons import Reason, Remark, find_reason, load_remarks
from tiltmeter.papers.printed_numbers import Paper, PrintedNumber, find_paper, load_papers, read_printed_numbers
from tiltmeter.papers.rounding import matches_printed
from tiltmeter.papers.sources.recipe import NotAvailable, NumberSource
from tiltmeter.papers.sources.recipe_context import RecipeContext, UsedFile
from tiltmeter.papers.sources.source_lookup import find_source
from tiltmeter.reports.grouping import group_by

ALL = "all"


class ReproductionStatus(StrEnum):
    """The result of comparing a recomputed number with the printed number."""

    AGREES = "agrees"
    KNOWN = "differs for a known reason"
    TOLERATED = "differs within a tolerance"
    DIFFERS = "differs"
    ABSENT = "not available"
    UNPRINTED = "recomputed only"


@dataclass(frozen=True, slots=True)
class ReproducedNumber:
    """A printed number, the recomputed number (`ours`) and the status of their comparison.

    `source` is the name of the recipe. If the recomputed number is not available, `note` is the reason, and
    `missing_file` is the released file that is missing. If it differs, `note` says how the run of the model differs
    from the experiment of the paper.
    """

    printed: PrintedNumber
    status: ReproductionStatus
    source: str
    ours: float | None = None
    reason: Reason | None = None
    note: str = ""
    missing_file: str = ""


@dataclass(frozen=True)
class Reproduction:
    """The outcomes (recomputed numbers and their statuses) of all selected numbers, and the files that were used."""

    outcomes: Sequence[ReproducedNumber]
    files: Mapping[str, UsedFile]

    @property
    def has_only_known_differences(self) -> bool:
        """Whether every number that differs from the printed number has a known reason or is within a tolerance."""
        return all(outcome.status is not ReproductionStatus.DIFFERS for outcome in self.outcomes)

    def list_papers(self) -> list[Paper]:
        """Return the papers of the selected numbers."""
        return list({outcome.printed.paper.key: outcome.printed.paper for outcome in self.outcomes}.values())

    def group_by_table(self, paper: Paper) -> dict[str, list[ReproducedNumber]]:
        """Return a mapping from each table of a paper to the outcomes of its numbers."""
        outcomes = (outcome for outcome in self.outcomes if outcome.printed.paper.key == paper.key)
        return group_by(outcomes, lambda outcome: outcome.printed.table)

    def list_remarks(self) -> list[Remark]:
        """Return the remarks on the tables of the selected numbers."""
        tables = {(outcome.printed.paper.key, outcome.printed.table) for outcome in self.outcomes}
        return [remark for remark in load_remarks() if any((remark.paper, table) in tables for table in remark.tables)]


def count_statuses(outcomes: Iterable[ReproducedNumber]) -> dict[ReproductionStatus, int]:
    """Return the number of outcomes with each status."""
    counted = Counter(outcome.status for outcome in outcomes)
    return {status: counted[status] for status in ReproductionStatus}


def reproduce(
    key: str,
    *,
    table: str | None = None,
    model: str | None = None,
    language: str | None = None,
    from_models: bool = False,
    desk: RecipeContext | None = None,
) -> Reproduction:
    """Recompute the numbers of a paper, or of all papers, and compare them with the printed ones.

    The numbers are recomputed from the released predictions and translations, or with `from_models` from runs of the
    models, which `desk` names (see `tiltmeter.papers.model_runs.run_plan`). `table`, `model` and `language` select
    numbers; `model` is the name of a row in the tables. `desk` also caches recomputed numbers.

    >>> reproduction = reproduce("oeztuerk2023", table="2")  # doctest: +SKIP
    >>> reproduction.has_only_known_differences  # doctest: +SKIP
    True
    """
    numbers = select_numbers(key, table=table, model=model, language=language)
    return recompute_numbers(numbers, desk or RecipeContext(), from_models=from_models)


def recompute_numbers(
    numbers: Iterable[PrintedNumber], context: RecipeContext, *, from_models: bool = False
) -> Reproduction:
    """Recompute printed numbers and compare them with the printed ones; see `reproduce`."""
    outcomes = [_reproduce_number(number, context, from_models) for number in numbers]
    return Reproduction(outcomes, dict(context.files))


def select_numbers(
    key: str, *, table: str | None = None, model: str | None = None, language: str | None = None
) -> list[PrintedNumber]:
    """Return the printed numbers of a paper, or of all papers, that `table`, `model` and `language` select."""
    numbers = [number for source in _select_papers(key) for number in read_printed_numbers(source)]
    numbers = _select_numbers(numbers, "table", table, lambda number: number.table)
    numbers = _select_numbers(
        numbers, "model", model, lambda number: number.cell.get("model") or number.cell.get("system")
    )
    return _select_numbers(numbers, "language", language, _find_language)


def _select_papers(key: str) -> list[Paper]:
    return list(load_papers().values()) if key == ALL else [find_paper(key)]


def _select_numbers(
    numbers: list[PrintedNumber], noun: str, wanted: str | None, value: Callable[[PrintedNumber], str | None]
) -> list[PrintedNumber]:
    if wanted is None:
        return numbers
    chosen = [number for number in numbers if (value(number) or "").casefold() == wanted.casefold()]
    if not chosen:
        known = ", ".join(dict.fromkeys(name for number in numbers if (name := value(number))))
        raise UsageError(f"The selected numbers have no {noun} {wanted!r}; choose one of: {known}.")
    return chosen


def _find_language(number: PrintedNumber) -> str | None:
    """Return the language of a number; in the thesis, the language is part of the row's name."""
    if "language" in number.cell:
        return number.cell["language"] or None
    return "de" if number.cell["model"].endswith("German") else "en"


def _reproduce_number(number: PrintedNumber, context: RecipeContext, from_models: bool) -> ReproducedNumber:
    source = find_source(number, from_models=from_models)
    name = source.recipe.name if source.recipe else ""
    try:
        ours = _compute_value(source, context)
    except NotAvailable as reason:
        return ReproducedNumber(number, ReproductionStatus.ABSENT, name, note=str(reason), missing_file=reason.file)
    if not number.text:
        return ReproducedNumber(number, ReproductionStatus.UNPRINTED, name, ours)
    if matches_printed(number.text, ours, number.digits):
        return ReproducedNumber(number, ReproductionStatus.AGREES, name, ours)
    explanation = find_reason(number, ours, context, from_models=from_models)
    differences = context.list_differences(source.recipe.runs if source.recipe else ())
    note = "" if explanation else "; ".join(differences)
    return ReproducedNumber(number, _find_status(explanation), name, ours, explanation, note)


def _find_status(explanation: Reason | None) -> ReproductionStatus:
    if explanation is None:
        return ReproductionStatus.DIFFERS
    return ReproductionStatus.TOLERATED if explanation.is_tolerance else ReproductionStatus.KNOWN


def _compute_value(source: NumberSource, context: RecipeContext) -> float:
    if source.recipe is None:
        raise NotAvailable(source.lacking)
    numbers = context.compute_numbers(source.recipe)
    if source.key not in numbers:
        raise NotAvailable(f"{source.recipe.name} does not contain this number.")
    return numbers[source.key]
