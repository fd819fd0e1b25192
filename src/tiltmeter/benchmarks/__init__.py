"""What is asked: one file for each form of benchmark, found by walking this folder."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from tiltmeter.benchmarks.asking import Benchmark
from tiltmeter.errors import UsageError


@cache
def benchmarks() -> dict[str, Benchmark]:
    """All benchmarks, by the form of the items they ask about."""
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    found = [module.BENCHMARK for module in modules if hasattr(module, "BENCHMARK")]
    return {benchmark.form: benchmark for benchmark in found}


def benchmark_for(form: str) -> Benchmark:
    """The benchmark that asks about items of this form."""
    try:
        return benchmarks()[form]
    except KeyError:
        raise UsageError(f"No benchmark asks about items of the form {form!r}.") from None
