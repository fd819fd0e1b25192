"""Cells: the scores of one model, benchmark part, language and protocol, as tables that can be compared."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pandas as pd

from tiltmeter.datasets.name_suggestions import suggest_name
from tiltmeter.errors import DataError, UsageError
from tiltmeter.measures.measure import Quantity, list_quantities, select_clusters
from tiltmeter.measures.records import OVERALL, Record, get_base_protocol
from tiltmeter.measures.standard_errors import Floats, Labels
from tiltmeter.printable_text import escape_unsafe
from tiltmeter.runs.conditions import MeasurementConditions, pool_conditions, read_conditions
from tiltmeter.runs.manifest import index_data_sets
from tiltmeter.runs.result import Result

# The attribute of an item that holds its translation by the system that is measured.
ITEM_TRANSLATION = "translation"

_CELL_COLUMNS = ["model", "benchmark", "part", "language", "protocol"]
_SCORE_COLUMNS = {*_CELL_COLUMNS, "item", "candidate", "role", "score"}


@dataclass(frozen=True, slots=True, repr=False)
class Cell:
    """The scores of one model on one part of a benchmark in one language, under one protocol.

    `scores` has a row for each item, indexed by part and id, and a column for each role; `attributes` has the same rows
    with the items' attributes (bias type, target, stereotype). `data` is the manifest's entry for the data set,
    `asking` how the model was asked, and `texts` the run's table of items for this benchmark and language, if any.
    """

    run: str
    model: str
    benchmark: str
    part: str
    language: str
    protocol: str
    scores: pd.DataFrame
    attributes: pd.DataFrame
    data: Mapping[str, Any]
    asking: MeasurementConditions
    texts: pd.DataFrame | None = None

    def __str__(self) -> str:
        return f"{self.model} on {self.location}"

    def __repr__(self) -> str:
        return escape_unsafe(f"<Cell: {self}, {len(self.scores):,} items>")

    @property
    def location(self) -> str:
        """The benchmark, part and language, as in `stereoset/intrasentence:de`."""
        return format_location(self.benchmark, self.part, self.language)

    def list_quantities(self) -> list[Quantity]:
        """The measures in which the cell can be compared."""
        return list_quantities(self.scores.columns, self.attributes.columns)

    def items(self, quantity: Quantity) -> pd.Index:
        """The items that contribute to a measure."""
        if not quantity.values.may_be_missing:
            return self.scores.index
        return self.scores.index[self.scores[list(quantity.values.roles)].notna().all(axis=1)]

    def values(self, quantity: Quantity, items: pd.Index) -> Floats:
        """The contributions of items to a measure: a row for each mean it is made of, a column for each item."""
        roles = {role: self.scores[role].loc[items].to_numpy(dtype=float) for role in quantity.values.roles}
        for role, scores in roles.items():
            bad = ~np.isfinite(scores)
            if bad.any():
                part, item = items[int(np.argmax(bad))]
                raise DataError(
                    f"{self.model} has no finite score for the role {role} of item {item} in {self.benchmark}/{part}:"
                    f"{self.language}; make the run again."
                )
        return quantity.values.contributions(roles)

    def labels(self, quantity: Quantity, items: pd.Index) -> Labels | None:
        """The strata of items, if the measure weights items by stratum."""
        if quantity.values.weigh is None:
            return None
        return self.attributes[quantity.values.columns[0]].loc[items].to_numpy(dtype=object)

    def sides(self, quantity: Quantity, items: pd.Index) -> Labels | None:
        """The sides of the items' strata, if the measure has sides and the items say so."""
        name = quantity.values.sides
        return self.attributes[name].loc[items].to_numpy(dtype=object) if name in self.attributes.columns else None

    def supports_quantity(self, quantity: Quantity, items: pd.Index) -> bool:
        """Whether a measure is defined on these items; one that compares two sides needs items of both."""
        return quantity.values.is_defined(self.labels(quantity, items), self.sides(quantity, items))

    def clusters(self, quantity: Quantity, items: pd.Index) -> Labels | None:
        """The clusters of items, if the measure names an attribute to cluster by."""
        known = [name for name in quantity.values.clusters if name in self.attributes.columns]
        columns = {name: self.attributes[name].loc[items].to_numpy(dtype=object) for name in known}
        return select_clusters(quantity.values, columns)

    def get_attributes(self, item: tuple[str, str]) -> dict[str, str]:
        """The attributes of an item, such as its bias type and target, without its translation."""
        row = self._find_row(item)
        names = [name for name in self.attributes.columns if name != ITEM_TRANSLATION]
        values: dict[str, Any] = {name: self.attributes[name].iat[row] for name in names}
        return {name: str(value) for name, value in values.items() if not pd.isna(value)}

    def translation(self, item: tuple[str, str]) -> str | None:
        """The translation of an item by the system that is measured; None for language models."""
        if ITEM_TRANSLATION not in self.attributes.columns:
            return None
        return str(self.attributes[ITEM_TRANSLATION].iat[self._find_row(item)])

    def score(self, item: tuple[str, str], role: str) -> float | None:
        """The score of an item for a role, if there is one."""
        if role not in self.scores.columns:
            return None
        return float(self.scores[role].to_numpy()[self._find_row(item)])

    def _find_row(self, item: tuple[str, str]) -> int:
        return cast(int, self.scores.index.get_loc(item))

    def only(self, where: Mapping[str, str]) -> "Cell":
        """The cell with only the items that have these attributes."""
        keep = np.ones(len(self.attributes), dtype=bool)
        for column, value in where.items():
            if column not in self.attributes.columns:
                keep[:] = False
                continue
            keep &= (self.attributes[column].astype(str) == value).to_numpy()
        return replace(self, scores=self.scores[keep], attributes=self.attributes[keep])


def format_location(benchmark: str, part: str, language: str) -> str:
    """A benchmark with its part and language, the part only where there are several.

    >>> format_location("stereoset", "intrasentence", "de"), format_location("crows-pairs", "all", "en")
    ('stereoset/intrasentence:de', 'crows-pairs:en')
    """
    return f"{benchmark}{'' if part == 'all' else f'/{part}'}:{language}"


def list_attribute_columns(rows: pd.DataFrame) -> list[str]:
    """The columns of a table of scores that hold attributes of its items."""
    return [str(name) for name in rows.columns if name not in _SCORE_COLUMNS and rows[name].notna().any()]


def build_cells(run: str, result: Result) -> list[Cell]:
    """The cells of a run, followed by those of its pooled parts."""
    cells = []
    data_of = index_data_sets(result.manifest)
    asked = {
        (asking.model, asking.benchmark, asking.part, asking.language, asking.protocol): asking
        for asking in read_conditions(result.manifest, result.scores)
    }
    texts_of = _group_texts(result)
    for names, rows in result.scores.groupby(_CELL_COLUMNS, observed=True, sort=False):
        model, benchmark, part, language, protocol = map(str, names)
        data = data_of.get((benchmark, language), {"benchmark": benchmark, "language": language})
        key = (model, benchmark, part, language, protocol)
        asking = asked.get(key) or MeasurementConditions(*key, "likelihood", None)
        cells.append(
            Cell(run, *key, *_build_tables(run, rows, part), data, asking, texts_of.get((benchmark, language)))
        )
    return [*cells, *_build_pooled_cells(cells, result.records)]


def _group_texts(result: Result) -> dict[tuple[str, str], pd.DataFrame]:
    """The run's table of items by benchmark and language."""
    if result.texts is None:
        return {}
    groups = result.texts.groupby(["benchmark", "language"], sort=False)
    return {(str(names[0]), str(names[1])): rows for names, rows in groups}


def restrict_cells(cells: Sequence[Cell], where: Mapping[str, str]) -> list[Cell]:
    """The cells with only the items that have these attributes; an error if no item has such an attribute or value."""
    columns = list(dict.fromkeys(column for cell in cells for column in cell.attributes.columns))
    for column, value in where.items():
        if column not in columns:
            raise UsageError(
                f"No item has the attribute {column!r}{suggest_name(column, columns)}; there is {', '.join(columns)}."
            )
        known = sorted(
            {str(known) for cell in cells if column in cell.attributes for known in cell.attributes[column].dropna()}
        )
        if value not in known:
            raise UsageError(
                f"No item has the {column} {value!r}{suggest_name(value, known)}; there is {shorten_names(known)}."
            )
    kept = [cell.only(where) for cell in cells]
    return [cell for cell in kept if len(cell.scores)]


def shorten_names(names: Sequence[str], limit: int = 12) -> str:
    """The first names of a list, separated by commas, for an error message.

    >>> shorten_names(["a", "b", "c"], 2)
    'a, b …'
    """
    return f"{', '.join(names[:limit])}{' …' if len(names) > limit else ''}"


def _build_tables(run: str, rows: pd.DataFrame, part: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    twice = rows.duplicated(["item", "role"])
    if twice.any():
        row = rows[twice].iloc[0]
        raise DataError(f"{run} has two scores of {row['model']} for the role {row['role']} of item {row['item']}.")
    scores = rows.pivot(index="item", columns="role", values="score").sort_index()
    attributes = rows.drop_duplicates("item").set_index("item")[list_attribute_columns(rows)].loc[scores.index]
    # In a table with other benchmarks, whose items have no stereotype, GEST's stereotypes are floats: 8.0 for 8.
    attributes = attributes.convert_dtypes()
    index = pd.MultiIndex.from_arrays([[part] * len(scores), scores.index], names=["part", "item"])
    return scores.set_axis(index), attributes.set_axis(index)


def _build_pooled_cells(cells: Sequence[Cell], records: Iterable[Record]) -> Iterator[Cell]:
    """The cells of parts that the run's measures pooled, as one cell each.

    Parts are pooled here if the run has a record over all parts in a measure that is compared item by item. g_s of GEST
    is not: over all templates it is the mean of their g_s, which no item contributes to.
    """
    overall: dict[tuple[str, ...], dict[str, Record]] = {}
    for record in records:
        if record.part == OVERALL and record.view == "all":
            family = get_base_protocol(record.protocol.split(" + ")[0])
            overall_key = (record.model, record.benchmark, record.language, family)
            overall.setdefault(overall_key, {})[record.measure] = record
    groups: dict[tuple[str, ...], dict[str, Cell]] = {}
    for cell in cells:
        # "published" is pooled with "published" and with "published/d", as in the measures.
        cell_key = (cell.model, cell.benchmark, cell.language, get_base_protocol(cell.protocol))
        groups.setdefault(cell_key, {})[cell.part] = cell
    for key, parts in groups.items():
        recorded = overall.get(key, {})
        first, *others = parts.values()
        if not others or not any(quantity.name in recorded for quantity in first.list_quantities()):
            continue
        pool = [first, *others]
        yield replace(
            first,
            part=OVERALL,
            protocol=next(iter(recorded.values())).protocol,
            scores=pd.concat([cell.scores for cell in pool]),
            attributes=pd.concat([cell.attributes for cell in pool]),
            asking=pool_conditions([cell.asking for cell in pool]),
        )
