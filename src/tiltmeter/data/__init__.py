"""Where items come from: pinned upstream files, a cache or a mirror, readers, and the starter set.

>>> from tiltmeter.data import load
>>> len(load("starter-gest", None, "en"))
64
"""

from tiltmeter.data.dataset import Dataset
from tiltmeter.data.datasets import DATASETS, load, load_file, load_spec
from tiltmeter.data.spec import Spec, parse_spec

__all__ = ["DATASETS", "Dataset", "Spec", "load", "load_file", "load_spec", "parse_spec"]
