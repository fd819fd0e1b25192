"""Compute the records and verdicts of a table of scores, for all types of runs."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

import pandas as pd

from tiltmeter.datasets.name_suggestions import suggest_name
from tiltmeter.errors import DataError, UsageError
from tiltmeter.measures import (
    collect_notes,
    find_measure_module,
    get_measure,
    get_measure_function,
    is_measure_module,
    list_measures,
)
from tiltmeter.measures.factors import fix_factors
from tiltmeter.measures.looks import Look, index_looks
from tiltmeter.measures.measure import complete_name
from tiltmeter.measures.records import Record
from tiltmeter.measures.skipped_items import widen_for_skipped_items
from tiltmeter.measures.verdict_rule import FAMILIES, PORTION, Families, assign_verdicts
from tiltmeter.registry import find_installed_version
from tiltmeter.runs.fixed_factors import list_fixed_columns
from tiltmeter.runs.manifest import Manifest, UnscoredItem
from tiltmeter.runs.measurement_conditions import MeasurementConditions, add_conditions, build_unknown_records


def group_by_benchmark(scores: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each benchmark with its scores, without empty columns; the rows of a single benchmark are not copied."""
    names = scores["benchmark"].unique()
    for name in names:
        table = scores if len(names) == 1 else scores[scores["benchmark"] == name]
        yield str(name), table.dropna(axis="columns", how="all")


def measure_scores(
    scores: pd.DataFrame,
    measure_modules: Mapping[str, str],
    conditions: Sequence[MeasurementConditions],
    margins: Mapping[str, float] | None = None,
    skipped: Iterable[UnscoredItem] = (),
    *,
    families: Families = PORTION,
    fixed: Iterable[str] = (),
    looks: Iterable[Look] = (),
) -> list[Record]:
    """Return the records of every benchmark in a table of scores, with their verdicts.

    `measure_modules` maps each benchmark to its module of measures. `margins` maps names of measures to equivalence
    margins that replace the defaults. `skipped` are the items without scores; verdicts account for their worst cases.
    `families` says which tests are corrected together. `fixed` are factors over which the results do not generalise,
    such as `words`. `looks` says which samples of the items were tested before.
    """
    records: list[Record] = []
    with fix_factors(list_fixed_columns(fixed)):
        for name, table in group_by_benchmark(scores):
            records += get_measure_function(measure_modules[name])(table, margins=margins)
    distinct = {(entry.model, entry.benchmark, entry.part, entry.language, entry.item) for entry in skipped}
    records = widen_for_skipped_items(records, Counter(key[:4] for key in distinct))
    records += build_unknown_records(conditions)
    return add_conditions(assign_verdicts(records, families, index_looks(looks)), conditions)


def collect_measure_notes(scores: pd.DataFrame, measure_modules: Mapping[str, str]) -> list[str]:
    """Return notes on measures that are undefined for some scores, such as g_s for stereotypes of only one gender."""
    return [note for name, table in group_by_benchmark(scores) for note in collect_notes(measure_modules[name], table)]


def remeasure_scores(scores: pd.DataFrame, manifest: Manifest) -> list[Record]:
    """Compute the records of a run again from its scores, with the modules and corrections that its manifest names."""
    reject_missing_packages(manifest)
    modules = find_measure_modules(scores, manifest)
    for name in scores["benchmark"].unique():
        if name not in modules:
            roles = sorted(set(scores.loc[scores["benchmark"] == name, "role"]))
            raise DataError(
                f"The manifest names no measures for {name}, and no measures fit the roles of its scores "
                f"({', '.join(roles)}); install the package that defines {name}."
            )
    statistics = manifest.statistics
    return measure_scores(
        scores,
        modules,
        manifest.asked,
        statistics.margins,
        manifest.skipped,
        families=read_families(statistics.families),
        fixed=statistics.fixed,
        looks=manifest.looks,
    )


def find_measure_modules(scores: pd.DataFrame, manifest: Manifest) -> dict[str, str]:
    """Return the module of measures of each benchmark: from the manifest, otherwise the module that fits the scores.

    Manifests written by hand or by an older version of Tiltmeter do not name the module.
    """
    modules = manifest.get_measure_modules()
    unrecorded = set(scores["benchmark"].unique()) - modules.keys()
    if unrecorded:
        for name, table in group_by_benchmark(scores[scores["benchmark"].isin(unrecorded)]):
            if module := find_module(manifest, name, set(table["role"]), set(table.columns)):
                modules[name] = module
    return modules


def find_module(manifest: Manifest, benchmark: str, roles: AbstractSet[str], columns: AbstractSet[str]) -> str | None:
    """Return the module of measures of a benchmark: from the manifest, otherwise the one that fits the scores."""
    return manifest.get_measure_modules().get(benchmark) or find_measure_module(roles, columns)


def reject_missing_packages(manifest: Manifest) -> None:
    """Raise a UsageError if the package that measured a benchmark of the run is not installed."""
    for entry in manifest.data:
        module = entry.components.measures if entry.components else None
        if module is not None and not is_measure_module(module.name):
            raise UsageError(
                f"The measures {module.name!r} of {entry.benchmark} need the package {module.package} "
                f"{module.version}, which is not installed; install it to measure or compare the run."
            )


def describe_packages(manifest: Manifest, folder: Path | str = "") -> list[str]:
    """Return a warning for each plug-in that the run used and that is now missing or has another version."""
    used = {
        (part.package, part.version)
        for entry in manifest.data
        if entry.components is not None
        for part in (
            *(entry.components.form, entry.components.benchmark, entry.components.measures),
            *(entry.components.scorers or ()),
        )
        if part.is_plugin
    }
    where = f"{folder}: " if str(folder) else ""
    warnings = []
    for package, version in sorted(used):
        installed = find_installed_version(package)
        if installed is None:
            warnings.append(f"{where}the run was made with {package} {version}, which is not installed; install it.")
        elif version and installed != version:
            warnings.append(
                f"{where}the run was made with {package} {version}, but {installed} is installed; recomputed numbers "
                "may differ."
            )
    return warnings


def read_families(text: str) -> Families:
    """Return the checked value of the option `--family`: which tests are corrected together."""
    for families in FAMILIES:
        if families == text:
            return families
    raise UsageError(f"{text!r} is not a test family{suggest_name(text, FAMILIES)}; choose {' or '.join(FAMILIES)}.")


def read_margins(requested: Mapping[str, float] | None) -> dict[str, float]:
    """Check the requested equivalence margins, and return them with the full names of their measures.

    >>> read_margins({"SS": 3.0, "S_JSD": 2.0})
    {'SS': 3.0, 'S_JSD x 1e3': 2.0}
    """
    with_margin = [name for name, measure in list_measures().items() if measure.margin is not None and measure.decides]
    margins: dict[str, float] = {}
    for text, margin in (requested or {}).items():
        name = complete_name(text, with_margin)
        if name is None:
            raise UsageError(
                f"{text!r} is not a measure with an equivalence margin{suggest_name(text, with_margin)}; choose one of "
                f"{', '.join(with_margin)}."
            )
        measure = get_measure(name)
        least = 1.0 if measure.ratio else 0.0
        most = math.inf if measure.bounds is None else max(abs(end - (measure.ideal or 0.0)) for end in measure.bounds)
        if not margin > least:
            raise UsageError(f"The margin {margin:g} of {name} is too small; it must be greater than {least:g}.")
        if not margin < most:
            raise UsageError(
                f"The margin {margin:g} of {name} is too large, because it includes all possible values"
                f"{f'; it must be less than {most:g}' if math.isfinite(most) else ''}."
            )
        margins[name] = margin
    return margins
