"""Cells: tables with the scores of one model on one part of a benchmark in one language, under one protocol."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tiltmeter.datasets.name_suggestions import suggest_name
from tiltmeter.errors import DataError, UsageError
from tiltmeter.forms import list_hidden_attributes
from tiltmeter.measures import find_module_scale, list_comparable_quantities
from tiltmeter.measures.factors import Factors, Labels, build_factors
from tiltmeter.measures.measure import ItemScale, Quantity
from tiltmeter.measures.records import KEY_COLUMNS, OVERALL, Record, get_base_protocol, split_by_key
from tiltmeter.measures.standard_errors import Floats
from tiltmeter.printable_text import escape_unsafe
from tiltmeter.runs.fixed_factors import list_fixed_columns
from tiltmeter.runs.manifest import DataSetFiles
from tiltmeter.runs.measurement import find_measure_modules, reject_missing_packages
from tiltmeter.runs.measurement_conditions import MeasurementConditions, pool_conditions
from tiltmeter.runs.result import Result

# The name of the attribute that contains the translation of an item by the measured system.
ITEM_TRANSLATION = "translation"

# Pairs of the name of a run and its result.
NamedRuns = Sequence[tuple[str, Result]]

_SCORE_COLUMNS = {*KEY_COLUMNS, "item", "candidate", "role", "score"}


@dataclass(frozen=True, slots=True, repr=False)
class Cell:
    """The scores of one model on one part of a benchmark in one language, under one protocol.

    `scores` has a row for each item, indexed by part and id, and a column for each role (such as stereotype and
    anti-stereotype). `attributes` has a row for each item and a column for each attribute (bias type, target,
    stereotype). `data` are the files of the data set. `module` is the name of the measure module; it may be empty.
    `texts` is the table with the texts of the items, if the run has one. `fixed` are the attributes of factors over
    which results do not generalise (option `--fixed`).
    """

    run: str
    model: str
    benchmark: str
    part: str
    language: str
    protocol: str
    scores: pd.DataFrame
    attributes: pd.DataFrame
    data: DataSetFiles
    conditions: MeasurementConditions
    module: str
    texts: pd.DataFrame | None = None
    fixed: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"{self.model} on {self.location}"

    def __repr__(self) -> str:
        return escape_unsafe(f"<Cell: {self}, {len(self.scores):,} items>")

    @property
    def location(self) -> str:
        """The benchmark, part and language, as in `stereoset/intrasentence:de`."""
        return format_location(self.benchmark, self.part, self.language)

    @property
    def key(self) -> tuple[str, ...]:
        """The run, model, benchmark, part, language and protocol."""
        return self.run, self.model, self.benchmark, self.part, self.language, self.protocol

    def list_quantities(self) -> list[Quantity]:
        """Return the measures that are computed item by item, in which the cell can be compared with other cells."""
        if not self.module:
            return []
        return list_comparable_quantities(self.module, self.scores.columns, self.attributes.columns)

    def find_primary_quantity(self) -> Quantity | None:
        """Return the first measure that decides verdicts, otherwise the first measure of bias; None if there is none.

        If g_s decides, for example, this is its logarithm, to which single items contribute.
        """
        quantities = self.list_quantities()
        deciding = (quantity for quantity in quantities if quantity.measure.decides)
        biases = (quantity for quantity in quantities if quantity.measure.bias_direction)
        return next(deciding, None) or next(biases, None)

    def list_items(self, quantity: Quantity) -> pd.Index:
        """Return the items that contribute to a measure."""
        if not quantity.values.may_be_missing:
            return self.scores.index
        return self.scores.index[self.scores[list(quantity.values.roles)].notna().all(axis=1)]

    def compute_item_values(self, quantity: Quantity, items: pd.Index) -> Floats:
        """Return the contributions of items to a measure: one row for each mean of the measure, one column per item."""
        return quantity.values.contributions(
            self._get_role_scores(quantity, items) | self._get_numbers(quantity, items)
        )

    def _get_role_scores(self, quantity: Quantity, items: pd.Index) -> dict[str, Floats]:
        """Return a mapping from role to the scores of items; raise an error if a score is not finite."""
        roles = {role: self.scores[role].loc[items].to_numpy(dtype=float) for role in quantity.values.roles}
        for role, scores in roles.items():
            bad = ~np.isfinite(scores)
            if bad.any():
                part, item = items[int(np.argmax(bad))]
                raise DataError(
                    f"{self.model} has no finite score for the role {role} of item {item} in {self.benchmark}/{part}:"
                    f"{self.language}; repeat the run."
                )
        return roles

    def _get_numbers(self, quantity: Quantity, items: pd.Index) -> dict[str, Floats]:
        """Return a mapping from numeric attribute to the values of items; raise an error if a value is no number."""
        columns = {}
        for name in quantity.values.number_columns:
            numbers = pd.to_numeric(self.attributes[name].loc[items], errors="coerce")
            columns[name] = numbers.to_numpy(dtype=float, na_value=np.nan)
            if np.isnan(columns[name]).any():
                part, item = items[int(np.argmax(np.isnan(columns[name])))]
                raise DataError(
                    f"Item {item} in {self.benchmark}/{part}:{self.language} has no number in the column {name}, which "
                    f"{quantity.name} needs; correct the data."
                )
        return columns

    def find_item_scale(self) -> ItemScale | None:
        """Return the scale by which items are sorted from anti-stereotypical to stereotypical; None if undefined."""
        if not self.module:
            return None
        return find_module_scale(self.module, self.scores.columns, self.attributes.columns)

    def compute_strengths(self, scale: ItemScale, items: pd.Index) -> Floats:
        """Return how much the model prefers the stereotype in each item; negative values are against the stereotype."""
        values = scale.quantity.values
        roles = {role: self.scores[role].loc[items].to_numpy(dtype=float) for role in scale.strength.roles}
        names = [name for name in (*values.columns, values.sides) if name in self.attributes.columns]
        columns: dict[str, NDArray[Any]] = {
            name: self.attributes[name].loc[items].to_numpy(dtype=object) for name in names
        }
        return scale.compute(roles, {**columns, **self._get_numbers(scale.quantity, items)})

    def compute_directions(self, quantity: Quantity, items: pd.Index) -> Floats:
        """Return 1 for each item whose higher contributions are more stereotypical, -1 for the other items."""
        names = [name for name in (*quantity.values.columns, quantity.values.sides) if name in self.attributes.columns]
        columns = {name: self.attributes[name].loc[items].to_numpy(dtype=object) for name in names}
        return quantity.compute_directions(columns, len(items))

    def get_strata(self, quantity: Quantity, items: pd.Index) -> Labels | None:
        """Return the stratum of each item (such as its stereotype); None if the measure does not weight strata."""
        if quantity.values.weigh is None:
            return None
        return self.attributes[quantity.values.columns[0]].loc[items].to_numpy(dtype=object)

    def get_stratum_sides(self, quantity: Quantity, items: pd.Index) -> Labels | None:
        """Return the side of each item's stratum (such as women or men); None if strata have no sides in the data."""
        name = quantity.values.sides
        return self.attributes[name].loc[items].to_numpy(dtype=object) if name in self.attributes.columns else None

    def supports_quantity(self, quantity: Quantity, items: pd.Index) -> bool:
        """Return whether a measure is defined on these items; a two-sided measure needs items of both sides."""
        return quantity.values.is_defined(self.get_strata(quantity, items), self.get_stratum_sides(quantity, items))

    def build_factors(self, quantity: Quantity, items: pd.Index) -> Factors | None:
        """Return the factors that items share, such as a template, for clustered errors; None if they share none."""
        known = [name for name in quantity.values.factors if name in self.attributes.columns and name not in self.fixed]
        columns = {name: self.attributes[name].loc[items].to_numpy(dtype=object) for name in known}
        return build_factors(columns, known)

    def get_attributes(self, item: tuple[str, str]) -> dict[str, str]:
        """Return the attributes of an item, such as bias type, that outputs show; its translation is not among them."""
        row = self._find_row(item)
        hidden = {ITEM_TRANSLATION, *list_hidden_attributes()}
        names = [name for name in self.attributes.columns if name not in hidden]
        values: dict[str, Any] = {name: self.attributes[name].iat[row] for name in names}
        return {name: str(value) for name, value in values.items() if not pd.isna(value)}

    def get_translation(self, item: tuple[str, str]) -> str | None:
        """Return the translation of an item by the measured system; None for language models."""
        if ITEM_TRANSLATION not in self.attributes.columns:
            return None
        return str(self.attributes[ITEM_TRANSLATION].iat[self._find_row(item)])

    def get_score(self, item: tuple[str, str], role: str) -> float | None:
        """Return the score of an item for a role; None if there is no score."""
        if role not in self.scores.columns:
            return None
        return float(self.scores[role].to_numpy()[self._find_row(item)])

    def _find_row(self, item: tuple[str, str]) -> int:
        return cast(int, self.scores.index.get_loc(item))

    def select_attribute_values(self, where: Mapping[str, str]) -> "Cell":
        """Return a copy of these scores with only the items that have the attribute values in `where`."""
        keep = np.ones(len(self.attributes), dtype=bool)
        for column, value in where.items():
            if column not in self.attributes.columns:
                keep[:] = False
                continue
            keep &= (self.attributes[column].astype(str) == value).to_numpy()
        return replace(self, scores=self.scores[keep], attributes=self.attributes[keep])


def format_location(benchmark: str, part: str, language: str) -> str:
    """Return a text with the benchmark, part and language; the part is omitted if the benchmark has only one.

    >>> format_location("stereoset", "intrasentence", "de"), format_location("crows-pairs", "all", "en")
    ('stereoset/intrasentence:de', 'crows-pairs:en')
    """
    return f"{benchmark}{'' if part == 'all' else f'/{part}'}:{language}"


def list_attribute_columns(rows: pd.DataFrame) -> list[str]:
    """Return the names of the columns of a score table that contain attributes of items."""
    return [str(name) for name in rows.columns if name not in _SCORE_COLUMNS and rows[name].notna().any()]


def build_all_cells(runs: Iterable[tuple[str, Result]]) -> list[Cell]:
    """Return the cells of several runs; a factor is fixed only if it is fixed in all runs."""
    listed = list(runs)
    common = list_fixed_columns(list_common_fixed_factors(listed))
    return [replace(cell, fixed=common) for name, result in listed for cell in build_cells(name, result)]


def list_common_fixed_factors(runs: Iterable[tuple[str, Result]]) -> list[str]:
    """Return the factors that are fixed in all runs (option `--fixed`), such as `words`."""
    first, *others = [result.manifest.statistics.fixed for _, result in runs] or [()]
    return [noun for noun in first if all(noun in fixed for fixed in others)]


def build_cells(run: str, result: Result) -> list[Cell]:
    """Return the cells of a run: one for each model, part and language, then one for each group of pooled parts."""
    cells = []
    fixed = list_fixed_columns(result.manifest.statistics.fixed)
    reject_missing_packages(result.manifest)
    modules = find_measure_modules(result.scores, result.manifest)
    data_of = result.manifest.index_data_sets()
    conditions_of = {
        (entry.model, entry.benchmark, entry.part, entry.language, entry.protocol): entry
        for entry in result.manifest.asked
    }
    texts_of = _group_texts(result)
    for key, rows in split_by_key(result.scores):
        place = (key.benchmark, key.language)
        data = data_of.get(place, DataSetFiles())
        conditions = conditions_of.get(key.names) or MeasurementConditions(*key.names, "likelihood", None)
        tables, module = _build_tables(run, rows, key.part), modules.get(key.benchmark, "")
        cells.append(Cell(run, *key.names, *tables, data, conditions, module, texts_of.get(place), fixed))
    return [*cells, *_build_pooled_cells(cells, result.records)]


def _group_texts(result: Result) -> dict[tuple[str, str], pd.DataFrame]:
    """Return a mapping from (benchmark, language) to the table with the texts of the items."""
    if result.texts is None:
        return {}
    groups = result.texts.groupby(["benchmark", "language"], sort=False)
    return {(str(names[0]), str(names[1])): rows for names, rows in groups}


def restrict_cells(cells: Sequence[Cell], where: Mapping[str, str]) -> list[Cell]:
    """Return copies of the cells (one model each) with only the items that have the attribute values in `where`.

    Raise an error for unknown attributes.
    """
    columns = list(dict.fromkeys(column for cell in cells for column in cell.attributes.columns))
    for column, value in where.items():
        if column not in columns:
            raise UsageError(
                f"No item has the attribute {column!r}{suggest_name(column, columns)}; items have {', '.join(columns)}."
            )
        known = sorted(
            {str(known) for cell in cells if column in cell.attributes for known in cell.attributes[column].dropna()}
        )
        if value not in known:
            raise UsageError(
                f"No item has the {column} {value!r}{suggest_name(value, known)}; values are {shorten_names(known)}."
            )
    restricted = [cell.select_attribute_values(where) for cell in cells]
    return [cell for cell in restricted if len(cell.scores)]


def shorten_names(names: Sequence[str], limit: int = 12) -> str:
    """Return at most `limit` names of a list, separated by commas.

    >>> shorten_names(["a", "b", "c"], 2)
    'a, b …'
    """
    return f"{', '.join(names[:limit])}{' …' if len(names) > limit else ''}"


def _build_tables(run: str, rows: pd.DataFrame, part: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    twice = rows.duplicated(["item", "role"])
    if twice.any():
        row = rows[twice].iloc[0]
        raise DataError(
            f"{run} has two scores of {row['model']} for the role {row['role']} of item {row['item']}; repeat the run."
        )
    scores = rows.pivot(index="item", columns="role", values="score").sort_index()
    attributes = rows.drop_duplicates("item").set_index("item")[list_attribute_columns(rows)].loc[scores.index]
    # If some items have no stereotype, pandas stores the numbers of GEST stereotypes as floats: 8.0 instead of 8.
    attributes = attributes.convert_dtypes()
    index = pd.MultiIndex.from_arrays([[part] * len(scores), scores.index], names=["part", "item"])
    return scores.set_axis(index), attributes.set_axis(index)


def _build_pooled_cells(cells: Sequence[Cell], records: Iterable[Record]) -> Iterator[Cell]:
    """Yield the scores (a cell) of the items of all parts, for each group of parts that the measures pooled.

    Parts are pooled if the run has a record over all parts, for a measure to which single items contribute. Templates
    of GEST are not pooled, because g_s over all templates is a mean of the templates' g_s, not a mean over items.
    """
    overall: dict[tuple[str, ...], dict[str, Record]] = {}
    for record in records:
        if record.part == OVERALL and record.view == "all":
            protocol = get_base_protocol(record.protocol.split(" + ")[0])
            overall_key = (record.model, record.benchmark, record.language, protocol)
            overall.setdefault(overall_key, {})[record.measure] = record
    groups: dict[tuple[str, ...], dict[str, Cell]] = {}
    for cell in cells:
        # The protocols "published" and "published/d" can be pooled with each other, as in the measures.
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
            conditions=pool_conditions([cell.conditions for cell in pool]),
        )
