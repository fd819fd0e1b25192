"""Benchmarks: one module for each form of items, in this package or from the entry points `tiltmeter.benchmarks`."""

from functools import cache

from tiltmeter.benchmarks.benchmark import Benchmark
from tiltmeter.errors import UsageError
from tiltmeter.registry import find_package_objects, load_components


@cache
def get_benchmarks() -> dict[str, Benchmark]:
    """Return a dictionary from each form of items, such as "pairs", to its benchmark."""
    builtin = find_package_objects(__name__, "BENCHMARK")
    return load_components("benchmarks", builtin, Benchmark, lambda benchmark: str(benchmark.form))


def get_benchmark(form: str) -> Benchmark:
    """Return the benchmark for items of a form; raise a UsageError if the form has no benchmark."""
    try:
        return get_benchmarks()[form]
    except KeyError:
        raise UsageError(f"There is no benchmark for items of the form {form!r}.") from None
