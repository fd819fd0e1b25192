"""Where items come from: pinned upstream files, a cache or a mirror, readers, and the starter set.

>>> from tiltmeter.datasets import load
>>> len(load("starter-gest", None, "en"))
64
"""

from tiltmeter.datasets.by_name import DATASETS, load, load_file, load_spec
from tiltmeter.datasets.description import Dataset
from tiltmeter.datasets.spec import Spec, parse_spec

__all__ = ["DATASETS", "Dataset", "Spec", "load", "load_file", "load_spec", "parse_spec"]
