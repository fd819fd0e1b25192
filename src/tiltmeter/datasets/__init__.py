"""Data sets: pinned upstream files, cache and mirror, file readers, validation, and the starter sets.

>>> from tiltmeter.datasets import load
>>> len(load("starter-gest", None, "en"))
64
"""

from tiltmeter.datasets.by_name import DATASETS, load, load_file, load_spec
from tiltmeter.datasets.description import Dataset
from tiltmeter.datasets.spec import Spec, parse_spec

__all__ = ["DATASETS", "Dataset", "Spec", "load", "load_file", "load_spec", "parse_spec"]
