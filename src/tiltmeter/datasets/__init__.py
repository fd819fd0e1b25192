"""Data sets: files pinned to a commit, cache and mirror, file readers, validation and starter sets.

>>> import tiltmeter
>>> tiltmeter.datasets.names()[:2]
['starter', 'starter-pairs']
>>> len(tiltmeter.datasets.load("starter-gest", language="en"))
64
"""

from tiltmeter.datasets.dataset_definition import Dataset
from tiltmeter.datasets.dataset_loader import DATASETS, load, load_file, load_spec, names
from tiltmeter.datasets.dataset_spec import Spec, parse_spec

__all__ = ["DATASETS", "Dataset", "Spec", "load", "load_file", "load_spec", "names", "parse_spec"]
