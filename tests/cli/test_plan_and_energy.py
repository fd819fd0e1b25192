"""`tiltmeter plan` and `tiltmeter energy`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.cli import app
from tiltmeter.errors import DataError, UsageError
from tiltmeter.reports.energy_use import list_energy_uses

GPU = {"hardware": ["GPU", "GPU"], "hours": 2.0, "energy_wh": 500.0, "energy": "measured by the driver"}
CPU = {"hardware": ["CPU"], "hours": 3.0, "energy": "not measured"}


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments], env={"COLUMNS": "160"})


def write_head(folder: Path, compute: dict[str, object] | None) -> Path:
    folder.mkdir()
    (folder / "training.json").write_text(json.dumps({"updates": 3, **({"compute": compute} if compute else {})}))
    return folder


def test_plan_prints_items_effect_and_power() -> None:
    assert_mentions(call("plan", "--effect", "5").stdout, "783 items", "power 80%")
    assert_mentions(call("plan", "--items", "200", "--effect", "5").stdout, "29%", "9.8 points")
    assert_mentions(call("plan", "--items", "2").stdout, "no bias")
    found = json.loads(call("plan", "--effect", "5", "--per-cluster", "20", "--correlation", "0.05", "--json").stdout)
    assert found == {"items": 1566}


def test_plan_needs_a_number_and_a_correlation() -> None:
    with raises_mentioning(UsageError, "--effect"):
        CliRunner().invoke(app, ["plan"], standalone_mode=False, catch_exceptions=False)
    with raises_mentioning(UsageError, "--correlation"):
        CliRunner().invoke(
            app, ["plan", "--effect", "5", "--per-cluster", "9"], standalone_mode=False, catch_exceptions=False
        )


def test_measured_energy_is_not_replaced_by_an_estimate(tmp_path: Path) -> None:
    (gpu,) = list_energy_uses(write_head(tmp_path / "gpu", GPU), watts=1000.0, carbon_intensity=400.0)
    assert (gpu.energy_wh, gpu.source) == (500.0, "measured by the driver")
    assert gpu.kg_co2eq == pytest.approx(0.2)


def test_energy_is_estimated_only_on_request(tmp_path: Path) -> None:
    folder = write_head(tmp_path / "cpu", CPU)
    (unknown,) = list_energy_uses(folder, watts=None, carbon_intensity=400.0)
    assert (unknown.energy_wh, unknown.kg_co2eq, unknown.source) == (None, None, "not measured")
    (estimated,) = list_energy_uses(folder, watts=50.0, carbon_intensity=None)
    assert (estimated.energy_wh, estimated.kg_co2eq) == (150.0, None)
    assert "50 W" in estimated.source


def test_energy_prints_the_total(tmp_path: Path) -> None:
    folders = [str(write_head(tmp_path / name, GPU)) for name in ("one", "two")]
    printed = call("energy", *folders, "--carbon-intensity", "100").stdout
    assert_mentions(printed, "4 hours", "1000 Wh", "0.1 kgCO2eq")
    content = json.loads(call("energy", *folders, "--json").stdout)
    assert [use["energy_wh"] for use in content["uses"]] == [500.0, 500.0]


def test_a_broken_record_names_the_file(tmp_path: Path) -> None:
    folder = write_head(tmp_path / "broken", {"hardware": "GPU"})
    with raises_mentioning(DataError, "training.json", "hardware"):
        list_energy_uses(folder, watts=None, carbon_intensity=None)
    (folder / "training.json").write_text("[1")
    with raises_mentioning(DataError, "training.json"):
        list_energy_uses(folder, watts=None, carbon_intensity=None)


def test_a_folder_without_hardware(tmp_path: Path) -> None:
    with raises_mentioning(UsageError, "no information about hardware"):
        list_energy_uses(write_head(tmp_path / "old", None), watts=None, carbon_intensity=None)
