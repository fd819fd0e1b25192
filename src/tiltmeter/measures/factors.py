"""Factors: what items share, such as a target term, a word or a template.

Items with the same label of a factor are correlated. An item belongs to several factors at once (crossed factors): in
StereoSet, to its target term and to its two words. `standard_errors` accounts for all of them.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Labels = NDArray[np.object_]
Codes = NDArray[np.intp]


_fixed_columns: ContextVar[frozenset[str]] = ContextVar("fixed_columns", default=frozenset())


@contextmanager
def fix_factors(columns: Iterable[str]) -> Iterator[None]:
    """Do not account for the factors in these columns inside the `with` block (option `--fixed`).

    Results then concern only the labels in the data, such as these words, and do not generalise to others.

    >>> words = np.array(["kind", "kind", "calm"], dtype=object)
    >>> with fix_factors(["word"]):
    ...     build_factors({"word": words}, ["word"])
    """
    token = _fixed_columns.set(frozenset(columns))
    try:
        yield
    finally:
        _fixed_columns.reset(token)


@dataclass(frozen=True, slots=True)
class Factors:
    """The clusters of items by factor.

    `labels` maps the name of a factor to the label of each item. `codes` maps the name to the index of each item's
    cluster; indexes start at 0 and have no gaps. An item without a label (None, NaN or "") is a cluster of its own.

    >>> words = np.array(["kind", "kind", None], dtype=object)
    >>> targets = np.array(["nurse", "cook", "cook"], dtype=object)
    >>> factors = Factors.from_labels({"word": words, "target": targets})
    >>> factors.codes["word"].tolist(), factors.codes["target"].tolist()
    ([0, 0, 1], [0, 1, 1])
    """

    labels: Mapping[str, Labels]
    codes: Mapping[str, Codes]

    @classmethod
    def from_labels(cls, labels: Mapping[str, Labels]) -> "Factors":
        """Build factors from the labels of items."""
        return cls(labels, {name: _encode_labels(values) for name, values in labels.items()})

    def select_rows(self, rows: NDArray[np.bool_] | Codes) -> "Factors":
        """Return the factors of the items that a mask or indexes select."""
        return Factors(
            {name: labels[rows] for name, labels in self.labels.items()},
            {name: _number_labels(codes[rows]) for name, codes in self.codes.items()},
        )

    def are_shared(self) -> bool:
        """Tell whether at least two items are in the same cluster of a factor."""
        return any(codes.max(initial=-1) + 1 < len(codes) for codes in self.codes.values())

    def drop_factors(self, *dropped: str) -> "Factors | None":
        """Return the factors except those with the names `dropped`; None if no factor remains."""
        labels = {name: labels for name, labels in self.labels.items() if name not in dropped}
        codes = {name: self.codes[name] for name in labels}
        return Factors(labels, codes) if labels else None

    def join_groups(self, other: "Factors") -> "Factors":
        """Return the factors of two groups of items together; items with the same label are one cluster.

        If a group of items lacks a factor of the other group, its items have no label of this factor.
        """
        names = dict.fromkeys((*self.labels, *other.labels))
        return Factors.from_labels(
            {name: np.concatenate([self._get_codes(name), other._get_codes(name)]) for name in names}
        )

    def _get_codes(self, name: str) -> Labels:
        n = len(next(iter(self.labels.values())))
        return self.labels.get(name, np.full(n, None, dtype=object))


def _number_labels(labels: NDArray[Any]) -> Codes:
    """Return an index for each label: 0 for the first label and its repetitions, and so on; -1 for None."""
    return np.asarray(pd.factorize(labels)[0], dtype=np.intp)


def list_generalised_factors(names: Iterable[str]) -> list[str]:
    """Return the names of the factors that are not fixed (see `fix_factors`)."""
    return [name for name in names if name not in _fixed_columns.get()]


def build_factors(columns: Mapping[str, Labels], names: Iterable[str]) -> Factors | None:
    """Return the factors with these names that have more than one label and are not fixed; None if there is none."""
    known = [name for name in list_generalised_factors(names) if name in columns]
    used = {name: columns[name] for name in known if _has_several_labels(columns[name])}
    return Factors.from_labels(used) if used else None


def read_factors(rows: pd.DataFrame, names: Iterable[str]) -> Factors | None:
    """Return the factors in the columns of a table with a row for each item (see `build_factors`)."""
    columns = {name: rows[name].to_numpy(dtype=object) for name in names if name in rows.columns}
    return build_factors(columns, columns)


def _encode_labels(labels: Labels) -> Codes:
    """Return the index of each item's cluster; items without a label have indexes of their own."""
    known = labels.copy()
    known[_are_missing(labels)] = None
    codes = _number_labels(known)
    alone = codes < 0
    codes[alone] = codes.max(initial=-1) + 1 + np.arange(int(alone.sum()))
    return codes


def _are_missing(labels: Labels) -> NDArray[np.bool_]:
    return np.asarray(pd.isna(labels) | (labels == ""), dtype=np.bool_)


def _has_several_labels(labels: Labels) -> bool:
    return len(set(labels[~_are_missing(labels)].tolist())) > 1
