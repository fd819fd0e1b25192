"""Comparison of groups of models, or of groups of languages, by an attribute such as instruct, multilingual or script.

For each item, the mean over the members of one group is paired with the mean over the members of the other group. The
first interval and test are for these members; only the items are a sample. If both groups have at least five members,
there is a second interval for other members, which treats members and items as samples (`measures.crossed_effects`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from tiltmeter.comparing.attributes import ModelAttributes, get_language_attributes
from tiltmeter.comparing.cells import Cell, build_all_cells, list_common_fixed_factors, restrict_cells, shorten_names
from tiltmeter.comparing.comparability import Across, explain_incomparable, list_comparison_warnings
from tiltmeter.comparing.comparable_cells import (
    ComparableCells,
    describe_unreliable_cells,
    find_unreliable_cells,
    group_comparable_cells,
    list_common_quantities,
    reject_duplicates,
    reject_missing_measures,
    select_reliable_cells,
)
from tiltmeter.comparing.comparison import By, complete_measure_names
from tiltmeter.comparing.group_difference import (
    Group,
    GroupComparison,
    GroupDifference,
    correct_member_tests,
    describe_related_members,
)
from tiltmeter.comparing.paired_difference import correct_test_families, mark_contradictions
from tiltmeter.comparing.shared_answers import build_shared_answers
from tiltmeter.datasets.name_suggestions import suggest_name
from tiltmeter.errors import UsageError
from tiltmeter.measures.group_contrasts import compute_group_contrast
from tiltmeter.measures.measure import Quantity
from tiltmeter.measures.records import OVERALL
from tiltmeter.measures.verdict import Verdict
from tiltmeter.measures.verdict_rule import PORTION, Families
from tiltmeter.runs.file_digests import describe_changed_files
from tiltmeter.runs.fixed_factors import describe_fixed_factors
from tiltmeter.runs.result import Result
from tiltmeter.runs.sample_notes import list_sample_notes


def compare_groups(
    runs: Sequence[tuple[str, Result]],
    group: str,
    attributes: ModelAttributes,
    *,
    by: By | None = None,
    measures: Sequence[str] = (),
    where: Mapping[str, str] | None = None,
    across: Sequence[Across] = (),
    families: Families = PORTION,
) -> GroupComparison:
    """Compare groups of models or languages that differ in an attribute.

    `group` is the name of the attribute, or `name=value,value` to compare only these values. Languages are grouped
    if `by` is "language" or if no model has the attribute; otherwise models are grouped.
    """
    if by == "any":
        raise UsageError("Groups consist of models or of languages; use --by model or --by language.")
    measures = complete_measure_names(measures)
    cells = build_all_cells(runs)
    cells = restrict_cells(cells, where) if where else cells
    name, _, wanted = group.partition("=")
    of_models, of_languages = _collect_attributes(runs, cells, attributes)
    source = _select_source(name.strip(), of_models, of_languages, attributes, by)
    values = {member: texts[name.strip()] for member, texts in source.items() if name.strip() in texts}
    chosen = _select_values(name.strip(), wanted, values)
    reject_missing_measures(cells, measures)
    notes = [sentence for run, result in runs for sentence in describe_changed_files(result.changed, run)]
    by_language = source is of_languages
    query = _GroupQuery(name.strip(), values, chosen, by_language, measures, across, find_unreliable_cells(runs, where))
    differences = list(query.build_differences(cells, notes))
    if not differences:
        raise UsageError(query.explain_empty_result(cells, notes))
    notes += dict.fromkeys(sample for _, result in runs for sample in list_sample_notes(result.manifest.data))
    notes += filter(None, [describe_fixed_factors(list_common_fixed_factors(runs))])
    corrected = correct_member_tests(correct_test_families(differences, families), families)
    if name.strip() != "family":
        notes += describe_related_members(
            corrected, {member: texts.get("family", "") for member, texts in source.items()}
        )
    return GroupComparison(mark_contradictions(corrected), list(dict.fromkeys(notes)))


@dataclass(frozen=True, slots=True)
class _GroupQuery:
    """The parameters of a comparison: the attribute, its value for each member, and the values to compare."""

    attribute: str
    values: Mapping[str, str]
    chosen: Sequence[str]
    of_languages: bool
    measures: Sequence[str]
    across: Sequence[Across]
    unreliable: Mapping[tuple[str, ...], Verdict]

    def get_member(self, cell: Cell) -> str:
        return cell.language if self.of_languages else cell.model

    def group_cells(self, cells: Sequence[Cell]) -> list[list[ComparableCells]]:
        """Return the groups of comparable cells (one model each) for each benchmark and language.

        If languages are compared, return the groups for each benchmark and model instead.
        """
        used = [cell for cell in cells if self.values.get(self.get_member(cell)) in self.chosen]
        return group_comparable_cells(
            used, self.across, lambda cell: (cell.benchmark, cell.model if self.of_languages else cell.language)
        )

    def build_differences(self, cells: Sequence[Cell], notes: list[str]) -> Iterator[GroupDifference]:
        unknown = list(
            dict.fromkeys(self.get_member(cell) for cell in cells if self.get_member(cell) not in self.values)
        )
        if unknown:
            notes.append(f"Left out, because the attribute {self.attribute} is not given: {shorten_names(unknown)}.")
        for place in self.group_cells(cells):
            for alike in place:
                reject_duplicates(alike.cells)
                yield from self._build_contrasts(alike, notes)
            if len(place) > 1:
                one, other = place[0].cells[0], place[1].cells[0]
                notes.append(f"Not averaged or compared in one group: {explain_incomparable(one, other, self.across)}")

    def _build_contrasts(self, alike: ComparableCells, notes: list[str]) -> Iterator[GroupDifference]:
        cells = alike.cells
        sides = {
            value: [cell for cell in cells if self.values[self.get_member(cell)] == value] for value in self.chosen
        }
        for one, other in combinations([value for value in self.chosen if sides[value]], 2):
            for quantity in list_common_quantities([*sides[one], *sides[other]], self.measures):
                both = [select_reliable_cells(sides[value], quantity, self.unreliable) for value in (one, other)]
                kept = {id(cell) for side in both for cell in side}
                dropped = [cell for value in (one, other) for cell in sides[value] if id(cell) not in kept]
                pooled = " over all parts" if cells[0].part == OVERALL else ""
                location = f"of {self._format_location(cells[0])} in {quantity.name}{pooled}"
                notes += describe_unreliable_cells(dropped, self.unreliable, location, self.get_member)
                if all(both) and (difference := self._build_difference(quantity, (one, other), both, notes)):
                    notes += list_comparison_warnings(
                        (both[0][0], cell, quantity.measure) for side in both for cell in side
                    )
                    yield replace(difference, subject=alike.qualify_subject(difference.subject))

    def _format_location(self, cell: Cell) -> str:
        part = "" if cell.part in ("all", OVERALL) else f"/{cell.part}"
        return (
            f"{cell.model} on {cell.benchmark}{part}"
            if self.of_languages
            else f"{cell.benchmark}{part}:{cell.language}"
        )

    def _build_difference(
        self, quantity: Quantity, names: tuple[str, str], both: Sequence[Sequence[Cell]], notes: list[str]
    ) -> GroupDifference | None:
        cells = [cell for side in both for cell in side]
        first, count = cells[0], len(both[0])
        location = f"on {self._format_location(first)}"
        shared = build_shared_answers(cells, quantity, self.across, location, self.get_member, notes)
        if shared is None:
            return None
        result, over = compute_group_contrast(
            quantity, shared.answers[:count], shared.answers[count:], shared.labels, shared.factors, shared.sides
        )
        members = dict(zip(map(self.get_member, cells), map(float, shared.values), strict=True))
        split = list(members.items())
        return GroupDifference(
            subject=self._format_location(replace(first, part="all")),
            benchmark=first.benchmark,
            part=first.part,
            left=Group(f"{self.attribute}={names[0]}", dict(split[:count])),
            right=Group(f"{self.attribute}={names[1]}", dict(split[count:])),
            quantity=quantity,
            contrast=result,
            members="languages" if self.of_languages else "models",
            left_out=shared.left_out,
            over_members=over,
        )

    def explain_empty_result(self, cells: Sequence[Cell], notes: Sequence[str]) -> str:
        """Return a sentence that explains why there are no differences."""
        for place in self.group_cells(cells):
            groups = {self.values[self.get_member(cell)] for alike in place for cell in alike.cells}
            if len(groups) > 1 and len(place) > 1:
                return explain_incomparable(place[0].cells[0], place[1].cells[0], self.across)
        if notes:
            return next((note for note in notes if note.startswith("Not compared")), notes[-1])
        members = "languages" if self.of_languages else "models"
        values = "; ".join(f"{member}: {self.values[member]}" for member in list(self.values)[:6])
        return f"No two groups of {members} were measured on the same data ({values}); run them on the same data."


_Texts = Mapping[str, Mapping[str, str]]


def _collect_attributes(
    runs: Sequence[tuple[str, Result]], cells: Sequence[Cell], attributes: ModelAttributes
) -> tuple[_Texts, _Texts]:
    """Return two mappings: the attributes of each model, and the attributes of each language."""
    entries = {entry.name: entry for _, result in runs for entry in result.manifest.models}
    models = dict.fromkeys(cell.model for cell in cells)
    of_models = {model: attributes.describe_model(model, entries.get(model)).get_attribute_texts() for model in models}
    return of_models, {cell.language: get_language_attributes(cell.language) for cell in cells}


def _select_source(
    name: str, of_models: _Texts, of_languages: _Texts, attributes: ModelAttributes, by: By | None
) -> _Texts:
    """Return the attributes of models if a model has the attribute `name`, otherwise the attributes of languages."""
    sources = {"model": [of_models], "language": [of_languages]}.get(by or "", [of_models, of_languages])
    for source in sources:
        if any(name in texts for texts in source.values()):
            return source
    known = list(dict.fromkeys(key for source in sources for texts in source.values() for key in texts))
    files = ", ".join(str(path) for path in attributes.sources) or "no plan.toml in or above the folders of the runs"
    raise UsageError(
        f"No model or language has the attribute {name!r}{suggest_name(name, known)}; the attributes are "
        f"{shorten_names(known) or 'none'} (source of model attributes: {files}; name another with --attributes)."
    )


def _select_values(attribute: str, wanted: str, values: Mapping[str, str]) -> list[str]:
    known = list(dict.fromkeys(values.values()))
    spellings: dict[str, str] = {}
    for value in known:
        if (first := spellings.setdefault(value.casefold(), value)) != value:
            raise UsageError(f"{attribute} has the values {first} and {value}; use the same spelling.")
    named = parse_values(wanted, known)
    for value in named:
        if value not in known:
            raise UsageError(
                f"No model or language has the {attribute} {value!r}{suggest_name(value, known)}; "
                f"the values are {shorten_names(known)}."
            )
    chosen = list(dict.fromkeys(named)) or sorted(known)
    if len(chosen) < 2:
        raise UsageError(
            f"The only {attribute} is {chosen[0]}, for {shorten_names(list(values))}; a comparison needs two values."
            if not named
            else f"--group {attribute}={chosen[0]} names one value; name at least two of {shorten_names(known)}."
        )
    return chosen


def parse_values(text: str, known: Sequence[str]) -> list[str]:
    """Split a text into values at commas; known values may contain commas.

    >>> parse_values("none,masculine, feminine", ["masculine, feminine", "none"])
    ['none', 'masculine, feminine']
    """
    of_pieces = {tuple(piece.strip() for piece in value.split(",")): value for value in known}
    pieces = tuple(piece for part in text.split(",") if (piece := part.strip()))
    named = []
    while pieces:
        length = next((count for count in range(len(pieces), 0, -1) if pieces[:count] in of_pieces), 1)
        named.append(of_pieces.get(pieces[:length], pieces[0]))
        pieces = pieces[length:]
    return named
