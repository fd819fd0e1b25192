"""The catalogue of data sets."""

from collections.abc import Iterator, Mapping
from functools import cached_property

from tiltmeter.datasets.dataset_definition import Dataset
from tiltmeter.registry import collect_components, find_package_objects


class Catalogue(Mapping[str, Dataset]):
    """Data sets by name: built-in ones, and those of entry points in the group `tiltmeter.datasets`.

    Plug-ins import from this package, so they are loaded on first access.
    """

    @cached_property
    def _datasets(self) -> dict[str, Dataset]:
        entries = [
            data for listed in find_package_objects("tiltmeter.datasets.builtin_datasets", "ENTRIES") for data in listed
        ]
        entries.sort(key=lambda data: not data.name.startswith("starter"))  # what to try first is listed first
        return collect_components(entries, "datasets", Dataset, lambda data: str(data.name))

    def __getitem__(self, name: str) -> Dataset:
        return self._datasets[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._datasets)

    def __len__(self) -> int:
        return len(self._datasets)


DATASETS = Catalogue()
