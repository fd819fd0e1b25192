"""Benchmarks: one module per form of item, discovered in this package and in entry points `tiltmeter.benchmarks`."""

from functools import cache

from tiltmeter.benchmarks.benchmark import Benchmark
from tiltmeter.errors import UsageError
from tiltmeter.registry import load_components, package_objects


@cache
def benchmarks() -> dict[str, Benchmark]:
    """All benchmarks, by the form of their items."""
    builtin = package_objects(__name__, "BENCHMARK")
    return load_components("benchmarks", builtin, Benchmark, lambda benchmark: str(benchmark.form))


def benchmark_for(form: str) -> Benchmark:
    """The benchmark for items of this form."""
    try:
        return benchmarks()[form]
    except KeyError:
        raise UsageError(f"No benchmark asks about items of the form {form!r}.") from None
