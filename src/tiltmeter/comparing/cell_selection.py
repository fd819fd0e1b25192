"""Selection of results by a text such as `stereoset/intrasentence:de.SS[bias_type=gender]`.

BENCHMARK[/PART][:LANGUAGE,…][.MEASURE][[NAME=GROUP]]

stereoset                        the primary measure of the pooled parts, in every language
stereoset/intrasentence:de.LMS   LMS of one part, in one language
stereoset.SS[bias_type=gender]   items about gender; bias_type=* means each bias type separately
gender-pairs.S_JSD               measures may be abbreviated if they remain unambiguous
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tiltmeter.comparing.cells import Cell, shorten_names
from tiltmeter.datasets.name_suggestions import suggest_name
from tiltmeter.errors import UsageError
from tiltmeter.measures.measure import complete_name

EVERY = "*"
GRAMMAR = "BENCHMARK[/PART][:LANGUAGE][.MEASURE][[NAME=GROUP]], as in: stereoset.SS[bias_type=gender]"

# The name of the benchmark ends at the first dot. If the benchmark is a file, its name ends after .jsonl.
LOCATION = r"(?P<location>.*?\.jsonl[^.\[]*|[^.\[]+)"
GROUP = r"(?:\[ \s* (?P<view>[^=\]]+?) \s* = \s* (?P<group>[^\]]+?) \s* \])?"
_SELECTION = re.compile(rf"{LOCATION} (?:\. (?P<measure>[^\[]+?))? {GROUP}", re.VERBOSE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The results that a text selects; if part, language or measure are empty, the command uses its default.

    `view` is an attribute of items, and `group` a value of it. Both are "all" for all items.
    """

    text: str
    benchmark: str = ""
    part: str | None = None
    languages: tuple[str, ...] = ()
    measure: str = ""
    view: str = "all"
    group: str = "all"

    @property
    def subject(self) -> str:
        """The beginning of messages about the selection."""
        return f"The target {self.text!r}"


def parse_target(text: str) -> Selection:
    """Return the selection that a text of `--target` states; raise a UsageError if it does not follow the syntax.

    >>> target = parse_target("stereoset/intrasentence:de.SS[bias_type=gender]")
    >>> target.benchmark, target.part, target.languages, target.measure, target.view, target.group
    ('stereoset', 'intrasentence', ('de',), 'SS', 'bias_type', 'gender')
    """
    text = " ".join(text.split())
    match = _SELECTION.fullmatch(text)
    if match is None:
        raise UsageError(f"The target {text!r} cannot be read; write {GRAMMAR}.")
    benchmark, part, languages = parse_location(match["location"], f"The target {text!r}", GRAMMAR)
    return Selection(
        text=text,
        benchmark=benchmark,
        part=part,
        languages=languages,
        measure=(match["measure"] or "").strip(),
        view=match["view"] or "all",
        group=match["group"] or "all",
    )


def parse_location(text: str, subject: str, grammar: str) -> tuple[str, str | None, tuple[str, ...]]:
    """Return the benchmark, part and languages of a location; `subject` and `grammar` are for the error message."""
    before, dot, after = text.rpartition(".jsonl") if ".jsonl" in text else ("", "", text)
    rest, colon, tail = after.partition(":")
    languages = tuple(filter(None, (language.strip() for language in tail.split(","))))
    name, slash, part = rest.partition("/")
    if (colon and not languages) or (slash and not part) or not (before + dot + name).strip():
        raise UsageError(f"{subject} has an empty benchmark, part or language; write {grammar}.")
    return before + dot + name, part or None, languages


def select_location(selection: Selection, cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells (scores of one model on one part and language) with the benchmark, part and languages selected.

    Raise an error if there are none.
    """
    kept = list(cells)
    wanted = (("benchmark", (selection.benchmark,)), ("part", (selection.part,)), ("language", selection.languages))
    for field, values in wanted:
        if not any(values) or values == (EVERY,):
            continue
        present = list(dict.fromkeys(getattr(cell, field) for cell in kept))
        for value in values:
            if value not in present:
                raise UsageError(
                    f"{selection.subject} matches nothing: the run has no {field} {value!r}"
                    f"{suggest_name(str(value), present)}; it has {', '.join(present)}."
                )
        kept = [cell for cell in kept if getattr(cell, field) in values]
    return kept


def list_groups(selection: Selection, cell: Cell) -> list[dict[str, str]]:
    """Return the groups of items that are selected, as values of attributes; an empty dictionary means all items."""
    if selection.view == "all":
        return [{}]
    columns = list(map(str, cell.attributes.columns))
    if selection.view not in columns:
        raise UsageError(
            f"{selection.subject} matches nothing: items have no attribute "
            f"{selection.view!r}{suggest_name(selection.view, columns)}; they have "
            f"{', '.join(columns) or 'no attributes'}."
        )
    groups = sorted({str(value) for value in cell.attributes[selection.view].dropna()})
    if selection.group != EVERY and selection.group not in groups:
        raise UsageError(
            f"{selection.subject} matches nothing: no item has the {selection.view} {selection.group!r}"
            f"{suggest_name(selection.group, groups)}; the values are {shorten_names(groups)}."
        )
    return [{selection.view: group} for group in (groups if selection.group == EVERY else [selection.group])]


def find_measure_name(selection: Selection, cell: Cell) -> str:
    """Return the full name of the measure that is selected; raise an error if it cannot be compared."""
    names = [quantity.name for quantity in cell.list_quantities()]
    measure = complete_name(selection.measure, names)
    if measure is None:
        raise UsageError(
            f"{selection.subject} matches nothing: {cell} cannot be compared by the measure {selection.measure!r}"
            f"{suggest_name(selection.measure, names)}; the measures are {', '.join(names)}."
        )
    return measure
