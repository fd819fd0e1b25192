"""Factors: clusters, selections of items, and joins of two groups of items."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.measures.factors import Codes, Factors, Labels, build_factors


def column(*labels: object) -> Labels:
    return np.array(labels, dtype=object)


def are_together(codes: Codes) -> set[tuple[int, int]]:
    """The pairs of items that are in one cluster."""
    return {(i, j) for i in range(len(codes)) for j in range(i) if codes[i] == codes[j]}


@pytest.mark.parametrize("missing", [None, float("nan"), ""])
def test_items_without_a_label_are_clusters_of_their_own(missing: object) -> None:
    factors = Factors.from_labels({"word": column("kind", missing, "kind", missing, missing)})
    assert are_together(factors.codes["word"]) == {(2, 0)}
    assert len(set(factors.codes["word"])) == 4


labels = st.sampled_from(["a", "b", "c", None])


@given(st.lists(st.tuples(labels, labels, labels), min_size=1, max_size=30), st.data())
def test_items_with_equal_labels_are_one_cluster(rows: list[tuple[str | None, ...]], data: st.DataObject) -> None:
    names = ("target", "word", "template")
    factors = Factors.from_labels(
        {name: column(*values) for name, values in zip(names, zip(*rows, strict=True), strict=True)}
    )
    kept = np.array(data.draw(st.permutations(range(len(rows)))), dtype=np.intp)[: max(1, len(rows) // 2)]
    for some, chosen in ((factors, rows), (factors.select_rows(kept), [rows[at] for at in kept])):
        assert tuple(some.codes) == names
        for at, codes in enumerate(some.codes.values()):
            expected = {
                (i, j)
                for i in range(len(chosen))
                for j in range(i)
                if chosen[i][at] is not None and chosen[i][at] == chosen[j][at]
            }
            assert are_together(codes) == expected
            assert set(codes) == set(range(len(set(codes))))


def test_a_join_unites_equal_labels_and_completes_missing_factors() -> None:
    first = Factors.from_labels({"target": column("nurse", "cook"), "word": column("kind", "kind")})
    second = Factors.from_labels({"target": column("cook", "pilot", "pilot")})
    for joined, shift in ((first.join_groups(second), (0, 2)), (second.join_groups(first), (3, 0))):
        ours, theirs = shift
        assert are_together(joined.codes["target"]) == {
            tuple(sorted((ours + 1, theirs), reverse=True)),
            (theirs + 2, theirs + 1),
        }
        assert are_together(joined.codes["word"]) == {(ours + 1, ours)}


def test_factors_without_one_of_them() -> None:
    factors = Factors.from_labels({"target": column("a", "a"), "word": column("b", "c")})
    remaining = factors.drop_factors("target")
    assert remaining is not None
    assert list(remaining.codes) == ["word"]
    assert factors.drop_factors("target", "word") is None
    assert factors.are_shared()
    assert not remaining.are_shared()


def test_a_column_with_a_single_label_is_no_factor() -> None:
    columns = {"target": column("a", "a", None), "template": column("a", "b", "b"), "other": column("x", "y", "z")}
    factors = build_factors(columns, ("target", "template", "occupation"))
    assert factors is not None
    assert list(factors.labels) == ["template"]
    assert build_factors(columns, ("target", "occupation")) is None
