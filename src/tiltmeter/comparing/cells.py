"""Cells: the scores of runs, cut to what can be laid side by side."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pandas as pd

from tiltmeter.datasets.suggest import did_you_mean
from tiltmeter.errors import DataError, UsageError
from tiltmeter.forms.association import PARTS
from tiltmeter.measures.measure import Quantity, clusters_of, quantities_for
from tiltmeter.measures.records import OVERALL, protocol_family
from tiltmeter.measures.standard_errors import Floats, Labels
from tiltmeter.runs.asking import Asking, askings_of, pooled
from tiltmeter.runs.manifest import data_sets
from tiltmeter.runs.result import Result

_CASE = ["model", "benchmark", "part", "language", "protocol"]
_OWN = {*_CASE, "item", "candidate", "role", "score"}
_TRANSLATION = "translation"


@dataclass(frozen=True, slots=True)
class Cell:
    """What one model said of one part of a benchmark in one language, under one protocol.

    `scores` has a row for each item, by part and id, and a column for each role; `attributes` the same rows with what
    the items are (bias type, target, stereotype). `data` is what the run's manifest says of the data set, `asking` how
    the model was asked, and `texts` the run's table of items in this benchmark and language, if the run has one.
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
    asking: Asking
    texts: pd.DataFrame | None = None

    def __str__(self) -> str:
        part = "" if self.part == "all" else f"/{self.part}"
        return f"{self.model} on {self.benchmark}{part}:{self.language}"

    def quantities(self) -> list[Quantity]:
        """What it can be compared in."""
        return quantities_for(self.scores.columns, self.attributes.columns)

    def items(self, quantity: Quantity) -> pd.Index:
        """The items that say something."""
        if not quantity.values.may_be_blank:
            return self.scores.index
        return self.scores.index[self.scores[list(quantity.values.roles)].notna().all(axis=1)]

    def values(self, quantity: Quantity, items: pd.Index) -> Floats:
        """What these items say, a row for each mean that the quantity is made of."""
        roles = {role: self.scores[role].loc[items].to_numpy(dtype=float) for role in quantity.values.roles}
        for role, scores in roles.items():
            bad = ~np.isfinite(scores)
            if bad.any():
                part, item = items[int(np.argmax(bad))]
                raise DataError(
                    f"{self.model} has no finite score for the role {role} of item {item} in {self.benchmark}/{part}:"
                    f"{self.language}; make the run again."
                )
        return quantity.values.of(roles)

    def labels(self, quantity: Quantity, items: pd.Index) -> Labels | None:
        """The strata of these items, where the quantity has any."""
        if quantity.values.weigh is None:
            return None
        return self.attributes[quantity.values.columns[0]].loc[items].to_numpy(dtype=object)

    def clusters(self, quantity: Quantity, items: pd.Index) -> Labels | None:
        """Which of these items belong together, where the measure says by what."""
        there = [name for name in quantity.values.clusters if name in self.attributes.columns]
        columns = {name: self.attributes[name].loc[items].to_numpy(dtype=object) for name in there}
        return clusters_of(quantity.values, columns)

    def about(self, item: tuple[str, str]) -> dict[str, str]:
        """What an item is: its bias type, its target and so on; not what a system made of it."""
        place = self._place(item)
        names = [name for name in self.attributes.columns if name != _TRANSLATION]
        values: dict[str, Any] = {name: self.attributes[name].iat[place] for name in names}
        return {name: str(value) for name, value in values.items() if not pd.isna(value)}

    def translation(self, item: tuple[str, str]) -> str | None:
        """What a translation system made of an item."""
        if _TRANSLATION not in self.attributes.columns:
            return None
        return str(self.attributes[_TRANSLATION].iat[self._place(item)])

    def score(self, item: tuple[str, str], role: str) -> float | None:
        """One score of an item, if it has one for this role."""
        if role not in self.scores.columns:
            return None
        return float(self.scores[role].to_numpy()[self._place(item)])

    def _place(self, item: tuple[str, str]) -> int:
        return cast(int, self.scores.index.get_loc(item))

    def only(self, where: Mapping[str, str]) -> "Cell":
        """The same with the items that have these attributes."""
        keep = np.ones(len(self.attributes), dtype=bool)
        for column, value in where.items():
            if column not in self.attributes.columns:
                keep[:] = False
                continue
            keep &= (self.attributes[column].astype(str) == value).to_numpy()
        return replace(self, scores=self.scores[keep], attributes=self.attributes[keep])


def cells_of(run: str, result: Result) -> list[Cell]:
    """The cells of a run; where both parts of an association benchmark are there, the two pooled as well."""
    cells = []
    data_of = data_sets(result.manifest)
    asked = {
        (asking.model, asking.benchmark, asking.part, asking.language, asking.protocol): asking
        for asking in askings_of(result.manifest, result.scores)
    }
    texts_of = _texts(result)
    for names, rows in result.scores.groupby(_CASE, observed=True, sort=False):
        model, benchmark, part, language, protocol = map(str, names)
        data = data_of.get((benchmark, language), {"benchmark": benchmark, "language": language})
        key = (model, benchmark, part, language, protocol)
        asking = asked.get(key) or Asking(*key, "likelihood", None)
        cells.append(Cell(run, *key, *_tables(run, rows, part), data, asking, texts_of.get((benchmark, language))))
    return [*cells, *_pooled(cells)]


def _texts(result: Result) -> dict[tuple[str, str], pd.DataFrame]:
    """The run's table of items, benchmark by benchmark and language by language."""
    if result.items is None:
        return {}
    groups = result.items.groupby(["benchmark", "language"], sort=False)
    return {(str(names[0]), str(names[1])): rows for names, rows in groups}


def restrict(cells: Sequence[Cell], where: Mapping[str, str]) -> list[Cell]:
    """The cells with the items that have these attributes; an error if there is no such attribute, or no such item."""
    columns = list(dict.fromkeys(column for cell in cells for column in cell.attributes.columns))
    for column, value in where.items():
        if column not in columns:
            raise UsageError(
                f"No item has the attribute {column!r}{did_you_mean(column, columns)}; there is {', '.join(columns)}."
            )
        there = sorted(
            {str(one) for cell in cells if column in cell.attributes for one in cell.attributes[column].dropna()}
        )
        if value not in there:
            raise UsageError(
                f"No item has the {column} {value!r}{did_you_mean(value, there)}; there is {', '.join(there[:12])}"
                f"{' …' if len(there) > 12 else ''}."
            )
    kept = [cell.only(where) for cell in cells]
    return [cell for cell in kept if len(cell.scores)]


def _tables(run: str, rows: pd.DataFrame, part: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    twice = rows.duplicated(["item", "role"])
    if twice.any():
        row = rows[twice].iloc[0]
        raise DataError(f"{run} has two scores of {row['model']} for the role {row['role']} of item {row['item']}.")
    scores = rows.pivot(index="item", columns="role", values="score").sort_index()
    columns = [name for name in rows.columns if name not in _OWN and rows[name].notna().any()]
    attributes = rows.drop_duplicates("item").set_index("item")[columns].loc[scores.index]
    # Beside another benchmark, whose items have none, GEST's stereotypes are 8.0 instead of 8.
    attributes = attributes.convert_dtypes()
    index = pd.MultiIndex.from_arrays([[part] * len(scores), scores.index], names=["part", "item"])
    return scores.set_axis(index), attributes.set_axis(index)


def _pooled(cells: Sequence[Cell]) -> Iterator[Cell]:
    groups: dict[tuple[str, ...], dict[str, Cell]] = {}
    for cell in cells:
        # "published" goes with "published" and with "published/d", as in the measures.
        key = (cell.model, cell.benchmark, cell.language, protocol_family(cell.protocol))
        groups.setdefault(key, {})[cell.part] = cell
    for parts in groups.values():
        if set(parts) == set(PARTS):
            both = [parts[part] for part in PARTS]
            yield replace(
                both[0],
                part=OVERALL,
                protocol=" + ".join(dict.fromkeys(cell.protocol for cell in both)),
                scores=pd.concat([cell.scores for cell in both]),
                attributes=pd.concat([cell.attributes for cell in both]),
                asking=pooled([cell.asking for cell in both]),
            )
