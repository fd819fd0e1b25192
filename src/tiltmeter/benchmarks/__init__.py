"""What is asked: one file for each form of item, found by walking this folder.

Packages bring others by the entry points `tiltmeter.benchmarks`.
"""

from functools import cache

from tiltmeter.benchmarks.benchmark import Benchmark
from tiltmeter.errors import UsageError
from tiltmeter.registry import by_name, package_objects


@cache
def benchmarks() -> dict[str, Benchmark]:
    """All benchmarks, by the form of the items they ask about."""
    return by_name(
        package_objects(__name__, "BENCHMARK"), "benchmarks", Benchmark, lambda benchmark: str(benchmark.form)
    )


def benchmark_for(form: str) -> Benchmark:
    """The benchmark that asks about items of this form."""
    try:
        return benchmarks()[form]
    except KeyError:
        raise UsageError(f"No benchmark asks about items of the form {form!r}.") from None
