"""The page that `tiltmeter compare --html` writes: one file, no script, nothing from the network."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import jinja2

import tiltmeter
from tiltmeter.comparing.cells import Cell
from tiltmeter.comparing.comparison import Comparison, Difference
from tiltmeter.datasets.by_name import DATASETS
from tiltmeter.errors import TiltmeterError
from tiltmeter.forms import ItemText
from tiltmeter.measures.gest_mt import FEMININE, MASCULINE, ROLE
from tiltmeter.reports.clean import clip, label
from tiltmeter.reports.comparison import METHOD, numbers, pairs, reading, summaries
from tiltmeter.reports.item_texts import kept_texts, texts_of

# What items say, by their ids; of each data set that was measured.
_Texts = Mapping[Hashable, Mapping[str, ItemText]]

WARNING = "The sentences voice stereotypes."

_GENDERS: Mapping[float | None, str] = {MASCULINE: "masculine", FEMININE: "feminine"}


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """A line of a table, with where on its scale the interval is drawn, in percent of the width."""

    difference: Difference
    cells: tuple[str, ...]
    low: float
    width: float
    point: float


@dataclass(frozen=True, slots=True)
class CandidateScores:
    """One text of an item with the scores that the two sides gave to it."""

    role: str
    texts: tuple[str, ...]
    scores: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An item on which the two disagree."""

    identifier: str
    about: str
    contexts: tuple[str, ...]
    lines: tuple[CandidateScores, ...]


@dataclass(frozen=True, slots=True)
class Items:
    """The items on which two disagree in one part and measure, as many as are shown."""

    title: str
    warning: str
    total: int
    shown: list[Disagreement]


@dataclass(frozen=True, slots=True)
class ComparedPair:
    """Two that were compared."""

    left: str
    right: str
    of: str
    readings: list[str]
    rows: list[DifferenceRow]
    items: list[Items]


def comparison_page(comparison: Comparison, *, items: int | None = 200) -> str:
    """The page, with at most so many items on which two disagree for each part and measure; None for all."""
    texts = _texts(comparison.differences)
    return _template().render(
        sections=[_section(pair, items, texts) for pair in pairs(comparison.differences)],
        notes=[clip(note) for note in comparison.notes],
        method=METHOD,
        version=tiltmeter.__version__,
    )


@cache
def _template() -> jinja2.Template:
    # Everything that comes from data is escaped by default; there is no `safe` in the template.
    loader = jinja2.PackageLoader("tiltmeter.reports", "templates")
    return jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined).get_template(
        "comparison.html"
    )


def _section(pair: Sequence[Difference], limit: int | None, texts: _Texts) -> ComparedPair:
    first = pair[0]
    return ComparedPair(
        label(first.left.label),
        label(first.right.label),
        label(first.of),
        [clip(reading(one)) for one in summaries(pair)],
        [_row(one, pair) for one in pair],
        list(_items(pair, limit, texts)),
    )


def _row(one: Difference, pair: Sequence[Difference]) -> DifferenceRow:
    found = one.contrast
    # Differences of one measure are drawn on one scale, with no difference in the middle.
    reach = max(
        max(abs(other.contrast.low), abs(other.contrast.high))
        for other in pair
        if other.quantity.name == one.quantity.name
    )
    low, high, point = (50 + 48 * end / (reach or 1.0) for end in (found.low, found.high, found.difference))
    said = numbers(one)
    cells = (
        label(one.part),
        one.quantity.name,
        said["left"],
        said["right"],
        said["difference"],
        f"{said['low']} to {said['high']}",
        said["p"],
        said["holm"],
        said["effect"],
        f"{found.disagree:,} of {found.n:,}",
        said["seen"],
    )
    return DifferenceRow(one, cells, round(low, 2), round(high - low, 2), round(point, 2))


def _items(pair: Sequence[Difference], limit: int | None, texts: _Texts) -> Iterator[Items]:
    """The items of each lean; those of both parts pooled are those of the parts."""
    divided = any(one.part != "overall" for one in pair)
    for one in pair:
        if one.quantity.measure.best_at_an_end or (divided and one.part == "overall"):
            continue
        found = one.disagreed()
        data = DATASETS.get(one.benchmark)
        sides = {cell.language: texts[_key(cell)] for cell in (one.left.cell, one.right.cell)}
        yield Items(
            f"{label(one.part)}, {one.quantity.name}",
            data.warning if data else WARNING,
            len(found),
            [_disagreement(one, key, sides.values()) for key, _ in found[:limit]],
        )


def _disagreement(one: Difference, key: tuple[str, str], texts: Iterable[Mapping[str, ItemText]]) -> Disagreement:
    item = key[1]
    found = [text for there in texts if (text := there.get(label(item)))]
    return Disagreement(
        clip(item, 80),
        ", ".join(_about(one.left.cell.about(key))),
        # Translations into two languages are of the same sentence.
        tuple(dict.fromkeys(text.context for text in found if text.context)),
        tuple(_translations(one, key) or _lines(one, key, found)),
    )


def _about(attributes: Mapping[str, str]) -> Iterator[str]:
    """What an item is; of what can be true or false, what is true."""
    for name, value in attributes.items():
        words = label(name).replace("_", " ")
        if value == "True":
            yield words
        elif value != "False":
            yield f"{words}: {label(value)}"


def _lines(one: Difference, key: tuple[str, str], found: Sequence[ItemText]) -> Iterator[CandidateScores]:
    """The texts of an item by their roles, those in two languages together, and what either side gave to them."""
    for role in dict.fromkeys((*one.quantity.values.roles, *(role for text in found for role in text.texts))):
        said = tuple(text.texts[role] for text in found if role in text.texts)
        scores = [side.cell.score(key, role) for side in (one.left, one.right)]
        yield CandidateScores(role, said, tuple("" if score is None else f"{score:.4g}" for score in scores))


def _translations(one: Difference, key: tuple[str, str]) -> list[CandidateScores]:
    """What either side made of a sentence, and the gender that shows in it; nothing if neither translates."""
    lines = []
    for number, side in enumerate((one.left, one.right)):
        translation = side.cell.translation(key)
        if translation is not None:
            genders = ["", ""]
            genders[number] = _GENDERS.get(side.cell.score(key, ROLE), "")
            lines.append(CandidateScores(label(side.label), (clip(translation),), tuple(genders)))
    return lines


def _texts(differences: Iterable[Difference]) -> _Texts:
    """What the items say, as the runs hold it; for runs of earlier versions as the data say it, if it is here."""
    found: dict[Hashable, Mapping[str, ItemText]] = {}
    for cell in (side.cell for one in differences for side in (one.left, one.right)):
        if _key(cell) not in found:
            try:
                found[_key(cell)] = texts_of(cell.data) if cell.texts is None else kept_texts(cell.texts)
            except (TiltmeterError, OSError):
                found[_key(cell)] = {}
    return found


def _key(cell: Cell) -> Hashable:
    """What tells the texts of two cells apart. A run's texts are its own; those of the data are shared by its runs."""
    if cell.texts is not None:
        return id(cell.texts)
    files = cell.data.get("files") or {}
    return cell.benchmark, cell.language, cell.data.get("source"), frozenset(files.items())
