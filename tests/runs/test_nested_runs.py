"""Folders of runs below a folder, and the commands that take them."""

from pathlib import Path

import tiltmeter
from tests.examples.written import COMMANDS
from tests.runs.made import association_scores, run, saved
from tests.support.messages import raises_mentioning
from tiltmeter.runs.nested_runs import expand_run_folders, list_nested_runs
from tiltmeter.runs.run_files import MANIFEST


def make_empty_run(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / MANIFEST).touch()
    return folder


def test_runs_are_found_below_a_folder_but_not_in_each_other_nor_in_hidden_folders(tmp_path: Path) -> None:
    found = [make_empty_run(tmp_path / "out" / name) for name in ("a/en", "a/fr", "b/en")]
    make_empty_run(found[0] / "inside")
    make_empty_run(tmp_path / "out" / ".trash" / "old")
    (tmp_path / "circle").symlink_to(tmp_path)
    (tmp_path / "out" / "linked").symlink_to(found[0])
    assert list_nested_runs(tmp_path) == [*found, tmp_path / "out" / "linked"]
    assert list_nested_runs(found[1]) == [found[1]]


def test_runs_are_found_at_most_eight_levels_deep(tmp_path: Path) -> None:
    deepest = make_empty_run(tmp_path.joinpath("eight", *"1234567"))
    make_empty_run(tmp_path.joinpath("nine", *"12345678"))
    assert list_nested_runs(tmp_path) == [deepest]
    assert "at most eight levels deep" in str(vars(COMMANDS[("board",)].params[0])["help"])


def test_a_folder_without_runs_is_rejected_when_it_is_read(tmp_path: Path) -> None:
    one = make_empty_run(tmp_path / "one")
    assert expand_run_folders([one, tmp_path / "none", one]) == [one, tmp_path / "none", one]
    with raises_mentioning(tiltmeter.UsageError, "none has", "manifest.json"):
        tiltmeter.compare([tmp_path / "none"])


def test_the_runs_of_a_folder_are_compared(tmp_path: Path) -> None:
    for seed, name in enumerate(("ada", "bea")):
        saved(tmp_path / "matrix" / name / "stereoset.en.published", run(association_scores(name, seed=seed)))
    together = tiltmeter.compare([tmp_path / "matrix"])
    apart = tiltmeter.compare([tmp_path / "matrix" / name / "stereoset.en.published" for name in ("ada", "bea")])
    assert together.differences
    assert [one.to_dict() for one in together.differences] == [one.to_dict() for one in apart.differences]
    with raises_mentioning(tiltmeter.UsageError, "given twice"):
        tiltmeter.compare([tmp_path / "matrix", tmp_path / "matrix" / "ada"])
