"""A run among reference results: ranks and tests, what is comparable, and files without texts."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tiltmeter
from tests.runs.made import association_scores, chosen_scores, half_sensible_scores, pair_scores, run, saved
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.comparing.reference_comparison import compare_with_references
from tiltmeter.comparing.reference_files import (
    read_reference_file,
    read_reference_header,
    strip_texts,
    write_reference_file,
)
from tiltmeter.comparing.reference_position import Position, ReferenceComparison
from tiltmeter.comparing.reference_sets import References, add_references, load_references
from tiltmeter.errors import DataError, UsageError
from tiltmeter.measures.multiple_testing import adjust_holm
from tiltmeter.runs.result import Result

HERE = {("stereoset", "en")}
PART = ["intrasentence"]


@cache
def model(name: str, ss: float, seed: int = 0, n: int = 2000, **given: Any) -> tuple[str, Result]:
    return name, run(chosen_scores(name, ss, n=n, seed=seed, parts=PART), **given)


def position(ours: Result, references: Sequence[tuple[str, Result]], **options: object) -> Position:
    (found,) = compared(ours, references, **options).positions
    return found


def compared(ours: Result, references: Sequence[tuple[str, Result]], **options: object) -> ReferenceComparison:
    stripped = References([(f"set/{name}", strip_texts(result)) for name, result in references])
    return compare_with_references([("mine", ours)], stripped, "set", **options)  # type: ignore[arg-type]


# The values of SS of nine reference models, six of them closer to 50 than the value 60 of the model.
NINE = {"a": 50, "b": 52, "c": 47, "d": 57, "e": 58, "f": 59, "g": 62, "h": 70, "i": 35}


def nine() -> list[tuple[str, Result]]:
    return [model(name, ss, seed=at + 1) for at, (name, ss) in enumerate(NINE.items())]


def test_counts_rank_and_percentile_follow_from_distances_and_significant_tests() -> None:
    found = position(model("mine", 60)[1], nine())
    assert (found.closer, found.farther, found.rank, len(found.standings)) == (6, 3, 7, 9)
    assert [standing.label for standing in found.standings] == ["h", "g", "f", "e", "d", "b", "a", "c", "i"]
    less = found.count("more biased")  # the references from which the model differs because it is more biased
    more = found.count("less biased")
    assert 0 < less < 6
    assert 0 < more < 3
    assert (found.rank_range.first, found.rank_range.last) == (1 + less, 10 - more)
    assert found.percentile == pytest.approx((100 * 6 / 9, 100 * less / 9, 100 * (9 - more) / 9))


def test_opposite_values_are_equally_far_from_the_ideal() -> None:
    found = position(model("mine", 60)[1], [model("other", 40, seed=1)])
    (standing,) = found.standings
    assert standing.difference.significant
    assert not standing.is_separated
    assert standing.outcome == "higher"
    assert (found.rank, found.rank_range.first, found.rank_range.last) == (1, 1, 2)


def test_tests_on_the_same_side_have_the_p_values_of_paired_differences_corrected_by_holm() -> None:
    found = position(
        model("mine", 70)[1], [model(name, ss, seed=at + 1) for at, (name, ss) in enumerate(NINE.items()) if ss > 56]
    )
    expected = adjust_holm([standing.difference.contrast.p_value for standing in found.standings])
    assert [standing.p_farther for standing in found.standings] == pytest.approx(expected, rel=1e-6)


def test_few_models_have_a_rank_but_no_percentile() -> None:
    found = position(model("mine", 60)[1], nine()[:4])
    assert found.percentile is None
    assert (found.rank, found.rank_range.last) == (5, 5 - found.count("less biased"))


def test_intervals_of_ranks_contain_the_true_rank_and_exclude_others() -> None:
    """With five reference models, the interval contains the true rank in at least 14 of 15 samples of 400 items."""
    rng = np.random.default_rng(3)
    leans, mine = (0.0, 0.1, -0.4, 0.5, 1.0), 0.45
    template = run(association_scores("mine", n=5, parts=PART)).manifest

    def draw(name: str, lean: float) -> tuple[str, Result]:
        seed = int(rng.integers(0, 1 << 30))
        asked = tuple(replace(entry, model=name) for entry in template.asked)
        scores = association_scores(name, lean=lean, seed=seed, n=400, parts=PART, targets=400)
        return name, Result(scores, [], replace(template, asked=asked))

    ranges = []
    for _ in range(15):
        references = [draw(f"m{at}", lean) for at, lean in enumerate(leans)]
        ranges.append(position(draw("mine", mine)[1], references).rank_range)
    # Two reference models are closer to the ideal, and one is probably closer: 0.4 on the other side.
    assert sum(found.first <= 4 <= found.last for found in ranges) >= 14
    assert np.mean([found.last - found.first + 1 for found in ranges]) < 5


def test_other_kinds_are_left_out_with_the_option_that_includes_them() -> None:
    ours = model("mine", 60)[1]
    references = [*nine()[:2], model("gpt", 55, seed=9, kind="causal"), model("odd", 55, seed=9, kind=None)]
    found = position(ours, references)
    assert [standing.label for standing in found.standings] == ["b", "a"]
    (left_out,) = found.left_out
    assert (left_out.models, left_out.option) == (("gpt", "odd"), "--across kinds")
    allowed = compared(ours, references, across=["kinds"])
    assert len(allowed.positions[0].standings) == 4
    assert_mentions("\n".join(allowed.notes), "Compared across kinds")


def test_nothing_comparable_is_an_error_with_the_reasons() -> None:
    with raises_mentioning(UsageError, "mine on stereoset/intrasentence:en", "gpt", "--across kinds"):
        compared(model("mine", 60)[1], [model("gpt", 55, kind="causal")])


def test_the_same_model_does_not_count_and_copies_count_once() -> None:
    references = [
        model("mine", 58, seed=4),
        model("a", 55, seed=1),
        ("copy", run(chosen_scores("owner/a", 55, n=2000, seed=1, parts=PART))),
        model("b", 51, seed=2),
    ]
    found = position(model("mine", 60)[1], references)
    assert [standing.label for standing in found.standings] == ["a", "b"]
    (same,) = found.same
    assert same.difference.right.cell.run == "set/mine"
    assert {one.difference.tests for one in found.standings} == {2}


def test_a_result_with_equal_scores_is_the_same_model_under_any_name() -> None:
    ours = run(chosen_scores("mine", 60, parts=PART))
    copy = ("released", run(chosen_scores("other/name", 60, parts=PART)))
    found = position(ours, [copy, model("a", 55, seed=1)])
    assert [same.outcome for same in found.same] == ["identical"]
    assert len(found.standings) == 1


def test_results_that_are_not_interpretable_have_no_position() -> None:
    good, bad = run(chosen_scores("good", 60)), run(half_sensible_scores("bad", 60))
    other = ("other", run(chosen_scores("other", 55, seed=3)))
    by_part = {found.cell.part: found for found in compared(bad, [other]).positions}
    assert by_part["intersentence"].reason
    assert not by_part["intersentence"].standings
    assert by_part["intrasentence"].standings
    left_out = {found.cell.part: found.left_out for found in compared(good, [other, ("bad", bad)]).positions}
    assert [one.models for one in left_out["intersentence"]] == [("bad",)]
    assert left_out["intrasentence"] == ()


def test_measures_and_items_are_selected() -> None:
    ours, references = model("mine", 60)[1], nine()
    found = compared(ours, references, measures=["LMS", "SS"], where={"bias_type": "gender"})
    assert {one.quantity.name for one in found.positions} == {"LMS", "SS"}
    assert {standing.difference.contrast.n for one in found.positions for standing in one.standings} == {667}
    with raises_mentioning(UsageError, "CPS", "SS"):
        compared(ours, references, measures=["CPS"])


def test_missing_items_are_said() -> None:
    fewer = run(chosen_scores("fewer", 55, n=900, parts=PART))
    found = compared(model("mine", 60)[1], [("fewer", fewer)])
    assert found.positions[0].standings[0].difference.contrast.n == 900
    assert_mentions("\n".join(found.notes), "fewer", "900")


def test_a_file_has_the_scores_but_no_texts_of_a_run(tmp_path: Path) -> None:
    (_, ours), references = model("mine", 60), nine()
    name, result = references[0]
    noisy = replace(
        result,
        manifest=replace(
            result.manifest, request={"prompt": "SECRET"}, notes=("SECRET",), platform="SECRET", other={"x": "SECRET"}
        ),
    )
    path = tmp_path / "set.parquet"
    write_reference_file(path, [(name, noisy), *references[1:]])
    table = pq.read_table(path)
    assert set(table.column_names) == {
        *("model", "benchmark", "part", "language", "protocol", "item", "role", "score", "run")
    }
    assert b"SECRET" not in table.schema.metadata[b"tiltmeter-references"]
    assert b"target 3" not in path.read_bytes()
    read = load_references(path, HERE)
    assert [name for name, _ in read.runs] == [f"set/{name}" for name in NINE]
    again = compare_with_references([("mine", ours)], read, "set").positions[0]
    direct = position(ours, references)
    assert again.to_dict()["standings"] == direct.to_dict()["standings"]


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("/home/ada/models/mine", "mine"),
        ("gpt2+/home/ada/fair.safetensors", "gpt2+fair.safetensors"),
        ("openai:mine@http://ada.example:8000/v1", "openai:mine"),
    ],
)
def test_names_have_no_folders_and_no_addresses(name: str, short: str, tmp_path: Path) -> None:
    local = run(chosen_scores(name, 60, parts=PART))
    (model,) = local.manifest.models
    local = replace(local, manifest=replace(local.manifest, models=(replace(model, base="/home/ada/base"),)))
    path = tmp_path / "x.parquet"
    write_reference_file(path, [("x", local)])
    header = read_reference_header(path)
    assert header.models == (short,)
    assert header.portions == HERE
    assert set(read_reference_file(path)[0][1].scores["model"]) == {short}
    description = pq.read_metadata(path).metadata[b"tiltmeter-references"]
    assert not any(place in description for place in (b"/home", b"ada.example"))


def test_models_of_a_run_that_would_have_one_name_are_refused(tmp_path: Path) -> None:
    names = ("/home/ada/a/step-9", "/home/ada/b/step-9")
    result = run(*(chosen_scores(name, 60, n=20, parts=PART) for name in names))
    with raises_mentioning(UsageError, *names, "separate runs"):
        write_reference_file(tmp_path / "x.parquet", [("x", result)])
    assert not (tmp_path / "x.parquet").exists()


def test_people_who_add_to_one_file_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "new" / "team.parquet"
    runs = [model(name, 60, seed=at, n=20) for at, name in enumerate("abcdefgh")]
    with ThreadPoolExecutor(len(runs)) as pool:
        list(pool.map(lambda named: add_references([named], file), runs))
    assert {name for name, _ in read_reference_file(file)} == {*"abcdefgh"}


def test_sets_are_folders_with_a_file_for_each_run_or_single_files(tmp_path: Path) -> None:
    runs = nine()[:2]
    folder, file = tmp_path / "team", tmp_path / "team.parquet"
    assert [path.name for path in add_references(runs, folder)] == ["a.parquet", "b.parquet"]
    add_references(runs[:1], file)
    add_references(runs[1:], file)
    for source in (folder, file):
        assert [name for name, _ in load_references(source, HERE).runs] == ["team/a", "team/b"]
        with raises_mentioning(UsageError, str(source), "--name", "--force"):
            add_references(runs[:1], source)
        add_references(runs[:1], source, force=True)
        assert len(load_references(source, HERE).runs) == 2
        assert load_references(source, {("gest", "en")}).runs == []


def test_a_folder_of_runs_is_a_set(tmp_path: Path) -> None:
    for name, result in nine()[:3]:
        saved(tmp_path / "runs" / name, result)
    pairs = run(pair_scores("pairs"), family="pairs")
    saved(tmp_path / "runs" / "pairs", pairs)
    found = load_references(tmp_path / "runs", HERE)
    assert [name for name, _ in found.runs] == ["runs/a", "runs/b", "runs/c"]
    assert all(result.texts is None for _, result in found.runs)


def damage(path: Path, kind: str) -> None:
    table = pq.read_table(path)
    if kind == "cut":
        path.write_bytes(path.read_bytes()[:-50])
    elif kind == "column":
        pq.write_table(table.drop_columns(["score"]), path)
    elif kind == "other":
        pq.write_table(pa.table({"x": [1]}), path)
    elif kind == "format":
        pq.write_table(table.replace_schema_metadata({b"tiltmeter-references": b'{"format": 9}'}), path)
    elif kind == "text":
        pq.write_table(table.replace_schema_metadata({b"tiltmeter-references": b"{"}), path)
    elif kind == "score":
        scores = pa.array([float("inf")] * len(table))
        pq.write_table(table.set_column(table.column_names.index("score"), "score", scores), path)


@pytest.mark.parametrize("kind", ["cut", "column", "other", "format", "text", "score"])
def test_a_damaged_file_is_named_with_a_remedy(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "set.parquet"
    write_reference_file(path, nine()[:1])
    damage(path, kind)
    with raises_mentioning(DataError, str(path), "tiltmeter reference add"):
        load_references(path, HERE)


def test_sources_without_references_are_errors(tmp_path: Path) -> None:
    with raises_mentioning(UsageError, str(tmp_path), "tiltmeter reference add"):
        load_references(tmp_path, HERE)
    with raises_mentioning(UsageError, str(tmp_path / "none"), "published"):
        load_references(tmp_path / "none", HERE)
    with raises_mentioning(UsageError, "stereoset:en", "tiltmeter reference fetch"):
        load_references("published", HERE)
    with raises_mentioning(UsageError, "starter:en", "--with FOLDER"):
        load_references("published", {("starter", "en")})


def test_from_python(tmp_path: Path) -> None:
    add_references(nine(), tmp_path / "team")
    found = tiltmeter.compare_with_references({"mine": model("mine", 60)[1]}, tmp_path / "team")
    assert isinstance(found, tiltmeter.ReferenceComparison)
    assert found.positions[0].rank == 7
