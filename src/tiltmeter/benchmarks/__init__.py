"""Benchmarks: one module per form of item, discovered in this package and in entry points `tiltmeter.benchmarks`."""

from functools import cache

from tiltmeter.benchmarks.benchmark import Benchmark
from tiltmeter.errors import UsageError
from tiltmeter.registry import collect_components, find_package_objects


@cache
def get_benchmarks() -> dict[str, Benchmark]:
    """All benchmarks, by the form of their items."""
    builtin = find_package_objects(__name__, "BENCHMARK")
    return collect_components(builtin, "benchmarks", Benchmark, lambda benchmark: str(benchmark.form))


def get_benchmark(form: str) -> Benchmark:
    """The benchmark for items of this form."""
    try:
        return get_benchmarks()[form]
    except KeyError:
        raise UsageError(f"No benchmark asks about items of the form {form!r}.") from None
