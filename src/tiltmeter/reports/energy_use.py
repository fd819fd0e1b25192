"""Hours, energy and emissions of runs and trainings."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiltmeter.errors import UsageError
from tiltmeter.runs.manifest import ComputeUse
from tiltmeter.runs.manifest_file import read_manifest
from tiltmeter.runs.run_files import MANIFEST
from tiltmeter.runs.typed_json import from_json
from tiltmeter.text_files import read_json_object

_TRAINING = "training.json"


@dataclass(frozen=True, slots=True)
class EnergyUse:
    """The energy of one model's answers or of one training; `energy_wh` is None if it is not known.

    `source` says how the energy was found, and `kg_co2eq` is the emission for a given carbon intensity.
    """

    folder: str
    name: str
    hardware: tuple[str, ...]
    hours: float
    energy_wh: float | None
    source: str
    kg_co2eq: float | None

    def to_json(self) -> dict[str, Any]:
        """Return the values as JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


def list_energy_uses(folder: Path, *, watts: float | None, carbon_intensity: float | None) -> list[EnergyUse]:
    """Return the energy of each model of a run, or of the training of a head.

    If the energy was not measured, it is estimated from `watts`, the power of each device. `carbon_intensity` is the
    emission of the electricity in grams of CO2 equivalents per kilowatt-hour. Without it, there are no emissions.
    """
    found = list(_read_compute(folder))
    if not found:
        raise UsageError(
            f"{folder} has no information about hardware; give the folder of a run of local models, or of a trained "
            "head."
        )
    return [_build_use(folder, name, compute, watts, carbon_intensity) for name, compute in found]


def _read_compute(folder: Path) -> Iterator[tuple[str, ComputeUse]]:
    if (folder / _TRAINING).is_file():
        path = folder / _TRAINING
        if compute := read_json_object(path).get("compute"):
            yield "training", from_json(ComputeUse, compute, f"{path}: compute")
    elif (folder / MANIFEST).is_file():
        for model in read_manifest(folder).models:
            if model.compute is not None and model.compute.hardware:
                yield model.name, model.compute


def _build_use(
    folder: Path, name: str, compute: ComputeUse, watts: float | None, carbon_intensity: float | None
) -> EnergyUse:
    energy, source = compute.energy_wh, compute.energy
    if energy is None and watts is not None:
        energy = watts * len(compute.hardware) * compute.hours
        source = f"estimated from {watts:g} W for each device"
    emission = None if energy is None or carbon_intensity is None else energy / 1000 * carbon_intensity / 1000
    return EnergyUse(str(folder), name, compute.hardware, compute.hours, energy, source, emission)
