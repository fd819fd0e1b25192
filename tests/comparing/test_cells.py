"""Cells: the scores and texts of items, and which parts are pooled."""

from dataclasses import replace

import pandas as pd

from tests.runs.made import CASE, association_scores, gest_scores, pair_scores, run
from tiltmeter.comparing.cells import Cell, build_cells


def cell(cells: list[Cell], part: str) -> Cell:
    (found,) = (cell for cell in cells if cell.part == part)
    return found


def test_the_score_of_an_item_by_role() -> None:
    scores = association_scores(n=5)
    intra = cell(build_cells("a", run(scores)), "intrasentence")
    rows = scores[scores["item"] == "intra-003"]
    assert len(rows) == 3
    for role, score in zip(rows["role"], rows["score"], strict=True):
        assert intra.get_score(("intrasentence", "intra-003"), role) == score
    assert intra.get_score(("intrasentence", "intra-003"), "more") is None


def test_texts_are_those_of_the_benchmark_and_language() -> None:
    tables = [association_scores(language=code, n=5, parts=["intrasentence"]) for code in ("en", "de")]
    other = gest_scores(n=32)
    result = run(*tables, other, family={"stereoset": "association", "gest": "gest"})
    places = [("stereoset", "en"), ("stereoset", "de"), ("gest", "en"), ("gest", "de")]
    items = pd.DataFrame(
        [{"benchmark": name, "language": code, "text": f"{name} {code} {n}"} for n in range(2) for name, code in places]
    )
    cells = build_cells("a", replace(result, texts=items))
    assert len(cells) == 3
    for found in cells:
        assert found.texts is not None
        assert found.texts["text"].tolist() == [f"{found.benchmark} {found.language} {n}" for n in range(2)]
    assert all(found.texts is None for found in build_cells("a", result))


def test_columns_may_be_categories() -> None:
    """A category holds the names of all benchmarks and parts, also of those that do not occur together."""
    result = run(association_scores(n=5), gest_scores(n=32), family={"stereoset": "association", "gest": "gest"})
    categories = replace(result, scores=result.scores.astype(dict.fromkeys(CASE, "category")))
    plain, same = build_cells("a", result), build_cells("a", categories)
    assert list(map(str, same)) == list(map(str, plain))
    for first, second in zip(plain, same, strict=True):
        pd.testing.assert_frame_equal(first.scores, second.scores)


def test_parts_are_pooled_where_the_measures_pool_them() -> None:
    def parts(*names: str) -> pd.DataFrame:
        return pd.concat([pair_scores(seed=seed, n=10).assign(part=name) for seed, name in enumerate(names)])

    assert [found.part for found in build_cells("a", run(parts("first", "second"), family="pairs"))] == [
        "first",
        "second",
    ]
    case = run(
        association_scores(n=5, parts=["intrasentence"]),
        association_scores(n=5, parts=["intersentence"], protocol="published/d"),
        kind="causal",
    )
    cells = build_cells("a", case)
    pooled = cell(cells, "overall")
    assert pooled.protocol == "published + published/d"
    assert list(pooled.scores.index) == [item for part in cells[:2] for item in part.scores.index]
