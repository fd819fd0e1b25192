"""The catalogue of data sets."""

from collections.abc import Iterator, Mapping
from functools import cached_property

from tiltmeter.datasets.dataset_definition import Dataset
from tiltmeter.registry import find_package_objects, load_components


class Catalogue(Mapping[str, Dataset]):
    """A mapping from names to data sets: built-in data sets, and data sets of plug-ins.

    Plug-ins provide data sets by the entry points `tiltmeter.datasets`. Plug-ins are loaded at the first access, not
    when this module is imported, because they import this module themselves.
    """

    @cached_property
    def _datasets(self) -> dict[str, Dataset]:
        datasets = [
            data
            for entries in find_package_objects("tiltmeter.datasets.builtin_datasets", "ENTRIES")
            for data in entries
        ]
        datasets.sort(key=lambda data: not data.name.startswith("starter"))  # list the starter sets first
        return load_components("datasets", datasets, Dataset, lambda data: str(data.name))

    def __getitem__(self, name: str) -> Dataset:
        return self._datasets[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._datasets)

    def __len__(self) -> int:
        return len(self._datasets)


DATASETS = Catalogue()
