"""The runs of a board, and the values that share a column."""

import json
from dataclasses import replace
from pathlib import Path

from tests.cluster.board.boards import save
from tests.runs.made import association_scores, gest_scores, pair_scores
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.cluster.board.board_runs import find_runs
from tiltmeter.cluster.board.columns import BoardColumn, build_columns
from tiltmeter.cluster.board.view_models import build_section_views
from tiltmeter.errors import UsageError


def columns(folder: Path) -> list[BoardColumn]:
    return build_columns(find_runs([folder])[0])[0]


def models(folder: Path, part: str = "intrasentence") -> list[list[str]]:
    """Return the models of each column of a part."""
    return sorted(sorted(cell.model for cell in one.cells) for one in columns(folder) if one.key.part == part)


def test_runs_are_found_at_any_depth_once_and_broken_ones_are_named(tmp_path: Path) -> None:
    save(tmp_path / "a" / "b" / "run", association_scores("one", n=20))
    save(tmp_path / "run", association_scores("two", n=20))
    for name, text in (("torn", "{"), ("other", "[]")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text(text, encoding="utf-8")
    (tmp_path / "unfinished").mkdir()
    (tmp_path / "unfinished" / "measures.json").write_text("[]", encoding="utf-8")
    runs, broken = find_runs([tmp_path, tmp_path / "a"])
    assert [one.name for one in runs] == [f"{tmp_path.name}/a/b/run", f"{tmp_path.name}/run"]
    assert {one.name.rpartition("/")[2]: one.reason for one in broken}.keys() == {"torn", "other", "unfinished"}
    assert not any(str(tmp_path) in one.reason for one in broken)


def test_links_are_followed_to_runs_only(tmp_path: Path) -> None:
    save(tmp_path / "elsewhere" / "run", association_scores("one", n=20))
    (tmp_path / "runs").mkdir()
    for name, target in (("run", "../elsewhere/run"), ("all", "../elsewhere"), ("circle", "."), ("lost", "none")):
        (tmp_path / "runs" / name).symlink_to(target)
    assert [one.name for one in find_runs([tmp_path / "runs"])[0]] == ["run"]


def test_a_folder_without_runs_is_an_error(tmp_path: Path) -> None:
    with raises_mentioning(UsageError, "no finished run", str(tmp_path)):
        find_runs([tmp_path])
    with raises_mentioning(UsageError, str(tmp_path / "none"), "not a folder"):
        find_runs([tmp_path / "none"])
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / "manifest.json").write_text("{", encoding="utf-8")
    with raises_mentioning(UsageError, "1 run cannot be", "torn/manifest.json"):
        find_runs([tmp_path])


def test_changed_files_are_listed(tmp_path: Path) -> None:
    folder = save(tmp_path / "run", association_scores("one", n=20))
    assert not find_runs([tmp_path])[0][0].changed
    rows = json.loads((folder / "measures.json").read_text(encoding="utf-8"))
    (folder / "measures.json").write_text(json.dumps(rows[:30]), encoding="utf-8")
    assert find_runs([tmp_path])[0][0].changed == ["measures.json"]
    with (folder / "scores.parquet").open("ab") as file:
        file.write(b"x")
    assert find_runs([tmp_path])[0][0].changed == ["scores.parquet", "measures.json"]


def test_only_comparable_numbers_share_a_column(tmp_path: Path) -> None:
    scores = {name: association_scores(name, n=20, parts=["intrasentence"]) for name in "abcdefgh"}
    save(tmp_path / "a", scores["a"])
    save(tmp_path / "b", scores["b"])
    save(tmp_path / "c", scores["c"], "causal")
    save(tmp_path / "d", scores["d"], "chat", answers="prompted")
    save(tmp_path / "e", scores["e"].assign(protocol="other"))
    data = {"benchmark": "stereoset", "part": "intrasentence", "language": "en", "files": {"x": "1" * 64}}
    save(tmp_path / "f", scores["f"], data=[data])
    save(tmp_path / "g", scores["g"], None)
    save(tmp_path / "h", scores["h"], None)
    assert models(tmp_path) == [["a", "b"], ["c"], ["d"], ["e"], ["f"], ["g"], ["h"]]


def test_means_over_tokens_share_a_column_only_with_one_tokenizer(tmp_path: Path) -> None:
    for name, tokenizer in (("a", "1"), ("b", "1"), ("c", "2"), ("d", None)):
        save(tmp_path / name, pair_scores(name), family="pairs", tokenizer=tokenizer)
    assert models(tmp_path, "all") == [["a", "b", "c", "d"]]  # CPS is not a mean over tokens
    runs = [
        replace(one, records=[record for record in one.records if record.measure.startswith("S_JSD")])
        for one in find_runs([tmp_path])[0]
    ]
    found = build_columns(runs)[0]
    assert sorted(sorted(cell.model for cell in one.cells) for one in found) == [["a", "b"], ["c"], ["d"]]


def test_the_newest_of_several_runs_is_used_with_a_note(tmp_path: Path) -> None:
    for day, seed in ((3, 1), (9, 2), (5, 3)):
        save(tmp_path / f"day{day}", association_scores("one", seed=seed, n=20), day=day)
    found, notes = build_columns(find_runs([tmp_path])[0])
    assert {cell.run.name for one in found for cell in one.cells} == {"day9"}
    (note,) = notes
    assert_mentions(note, "one", "stereoset:en", "day9")


def test_one_model_in_two_precisions_is_two_models(tmp_path: Path) -> None:
    for dtype in ("float32", "bfloat16"):
        entry = {"name": "one", "kind": "masked", "dtype": dtype}
        save(tmp_path / dtype, association_scores("one", n=20, parts=["intrasentence"]), models=[entry])
    assert models(tmp_path) == [["one (bfloat16)", "one (float32)"]]


def test_pooled_parts_are_the_summary_and_parts_alone_are_too(tmp_path: Path) -> None:
    save(tmp_path / "both", association_scores("both", n=20))
    found = {one.key.part: one.is_summary for one in columns(tmp_path)}
    assert found == {"overall": True, "intersentence": False, "intrasentence": False}
    save(tmp_path / "one", association_scores("one", n=20, parts=["intrasentence"]))
    found = {one.key.part: one.is_summary for one in columns(tmp_path)}
    assert found == {"overall": True, "intersentence": False, "intrasentence": True}


def test_benchmarks_without_a_verdict_have_no_column(tmp_path: Path) -> None:
    save(tmp_path / "gest", gest_scores("one", n=32), family="gest")
    assert [one.key.measure for one in columns(tmp_path)] == ["g_s"]


def test_parts_are_pooled_in_one_column_only_if_they_are_the_same(tmp_path: Path) -> None:
    for name, parts in (("a", (1, 2)), ("b", (1, 2)), ("c", (1, 2, 3))):
        save(tmp_path / name, gest_scores(name, parts=[f"template-{number}" for number in parts]), family="gest")
    assert models(tmp_path, "overall") == [["a", "b"], ["c"]]
    assert models(tmp_path, "template-1") == [["a", "b", "c"]]


def test_columns_with_next_sentence_scores_are_named_so(tmp_path: Path) -> None:
    save(tmp_path / "a", association_scores("a", n=20), answers="next-sentence")
    save(tmp_path / "b", association_scores("b", n=20, benchmark="other"))
    (section,) = build_section_views(columns(tmp_path), {"a": 0, "b": 1})
    assert {view.column.key.family: view.extra for view in section.columns} == {
        "next-sentence": "next-sentence",
        "likelihood": "",
    }


def test_different_models_have_different_names(tmp_path: Path) -> None:
    names = ("/home/ada/first/step-10", "/home/ada/second/step-10", "two  spaces", "two spaces")
    for number, name in enumerate(names):
        save(tmp_path / str(number), association_scores(name, n=20, parts=["intrasentence"]))
    (found,) = models(tmp_path)
    assert found[:2] == ["first/step-10", "second/step-10"]
    assert len(set(found)) == 4
