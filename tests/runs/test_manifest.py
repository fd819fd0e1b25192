"""The manifest: typed, kept as it is by reading and writing, with the components of each part and their packages."""

import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tiltmeter
from tests.runs.made import association_scores, pair_scores, run
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.comparing.cells import build_cells
from tiltmeter.errors import DataError, UsageError
from tiltmeter.registry import ComponentVersion
from tiltmeter.runs.manifest import Components, DataEntry, Manifest, build_model_entry
from tiltmeter.runs.manifest_file import ManifestError, parse_manifest, read_manifest, read_request, write_manifest
from tiltmeter.runs.measurement import describe_packages, find_measure_modules
from tiltmeter.runs.result import Result
from tiltmeter.runs.run_files import MANIFEST

OWN = ("tiltmeter", tiltmeter.__version__)


def components(form: str, module: str, package: str = "tiltmeter", version: str = "") -> Components:
    return Components(
        ComponentVersion(form, package, version),
        ComponentVersion(form, package, version),
        ComponentVersion(module, package, version),
    )


def recorded(result: Result, benchmark: str, parts: Components) -> Result:
    data = (DataEntry(benchmark=benchmark, part="all", language="en", items=5, components=parts),)
    return replace(result, manifest=replace(result.manifest, data=data))


@pytest.mark.parametrize(
    ("model", "on", "expected"),
    [
        ("bert-tiny", "starter:en", ("association", "association", "association")),
        ("gpt2-tiny", "starter-gest:en", ("gest", "gest", "gest")),
        ("gpt2-tiny", "starter-pairs:en", ("pairs", "pairs", "pairs")),
    ],
)
def test_a_run_records_its_components_and_their_packages(
    model: str, on: str, expected: tuple[str, ...], fixtures_dir: Path, tmp_path: Path
) -> None:
    tiltmeter.evaluate(str(fixtures_dir / model), on, limit=3, out=tmp_path / "run")
    for entry in read_manifest(tmp_path / "run").data:
        assert entry.components is not None
        parts = (entry.components.form, entry.components.benchmark, entry.components.measures)
        assert tuple(part.name for part in parts) == expected
        assert {(part.package, part.version) for part in parts} == {OWN}


def test_reading_and_writing_keep_everything(tmp_path: Path) -> None:
    values: dict[str, Any] = {
        "request": {"models": ["m"], "on": ["starter"], "odd": [1]},
        "models": [{"name": "m", "kind": "masked", "compute": {"hardware": ["CPU"], "hours": 1}, "own": {"key": 1}}],
        "data": [],
        "asked": [],
        "refused": [],
        "skipped": [],
        "later": {"version": 2},
    }
    write_manifest(tmp_path, parse_manifest(values))
    written = json.loads((tmp_path / MANIFEST).read_text(encoding="utf-8"))
    assert {key: written[key] for key in values} == values
    manifest = read_manifest(tmp_path)
    assert (manifest.models[0].kind, manifest.models[0].hardware) == ("masked", "CPU")
    assert manifest.models[0].details["own"] == {"key": 1}
    assert manifest.other == {"later": {"version": 2}}


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"request": 4}', b"\xff"])
def test_a_damaged_manifest_is_named_with_the_remedy(content: str | bytes, tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_bytes(content if isinstance(content, bytes) else content.encode())
    with raises_mentioning(ManifestError, str(tmp_path), MANIFEST, "Repeat the run"):
        read_manifest(tmp_path)


def test_the_request_of_a_damaged_run_is_still_read(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text('{"request": {"on": ["starter"]}, "models": 4}', encoding="utf-8")
    assert read_request(tmp_path) == {"on": ["starter"]}
    (tmp_path / MANIFEST).write_text("{", encoding="utf-8")
    assert read_request(tmp_path) is None


def test_a_description_of_a_model_with_a_wrong_type_is_an_error() -> None:
    with raises_mentioning(DataError, "'kind'", "of m is not"):
        build_model_entry({"name": "m", "kind": 7})


def test_the_recorded_module_measures_scores_that_fit_another() -> None:
    """Without a record, the module is the one whose roles and columns the scores have."""
    result = run(pair_scores(), family="pairs")
    assert find_measure_modules(result.scores, result.manifest) == {"gender-pairs": "pairs"}
    other = recorded(result, "gender-pairs", components("pairs", "association"))
    assert find_measure_modules(other.scores, other.manifest) == {"gender-pairs": "association"}
    assert [quantity.name for quantity in build_cells("run", result)[0].list_quantities()] != []
    assert build_cells("run", other)[0].list_quantities() == []
    with raises_mentioning(DataError, "target"):
        other.remeasure()


def test_a_plug_in_that_is_not_installed_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    parts = components("blanks", "blanks", "tiltmeter-none", "2.1")
    result = recorded(run(association_scores()), "stereoset", parts)
    for use in (result.remeasure, lambda: build_cells("run", result)):
        with raises_mentioning(UsageError, "'blanks'", "tiltmeter-none 2.1"):
            use()
    result.save(tmp_path / "run")
    with caplog.at_level(logging.WARNING):
        Result.load(tmp_path / "run")
    assert_mentions(caplog.text, "tiltmeter-none 2.1", "not installed")


def test_a_plug_in_in_another_version_is_named() -> None:
    manifest = run(association_scores()).manifest
    assert describe_packages(manifest) == []
    entry = DataEntry(benchmark="b", part="all", language="en", components=components("f", "m", "numpy", "0.1"))
    (warning,) = describe_packages(replace(manifest, data=(entry,)), "runs/bert")
    assert_mentions(warning, "runs/bert", "numpy 0.1")


def test_other_versions_of_tiltmeter_itself_cause_no_warning() -> None:
    manifest = run(association_scores()).manifest
    entry = DataEntry(benchmark="b", part="all", language="en", components=components("pairs", "pairs", version="0.0"))
    assert describe_packages(replace(manifest, data=(entry,))) == []


def test_files_of_a_data_set_by_part() -> None:
    first = DataEntry(benchmark="b", part="one", language="en", files={"x": "1"})
    manifest: Manifest = replace(run(association_scores()).manifest, data=(first, replace(first, part="two", files={})))
    files = manifest.index_data_sets()["b", "en"]
    assert files.get_edition("one") == files.get_edition("two") == files.get_edition("overall") == {"1"}
