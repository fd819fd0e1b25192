"""Comparisons of runs: the same pages as from `tiltmeter compare --html`, and the pairs that are not compared.

The modules that compare runs are imported only when they are used, because they import torch, which takes seconds.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiltmeter.errors import TiltmeterError, UsageError
from tiltmeter.runs.result import Result

if TYPE_CHECKING:
    from tiltmeter.comparing.comparability import Across
    from tiltmeter.comparing.comparison import By
    from tiltmeter.comparing.omitted_pairs import OmittedPairs

# Maximum number of runs in a comparison of pairs.
MOST_RUNS = 12
# Maximum number of runs in a comparison of languages, which is one analysis of all runs.
MOST_RUNS_OF_LANGUAGES = 60
# The value of the parameter `by` that requests a comparison of languages over all models.
LANGUAGES = "languages"
# Maximum number of comparisons in the cache.
_MAX_KEPT = 8


@dataclass(frozen=True, slots=True)
class ComparisonRequest:
    """A request for a comparison: the runs as (name, folder), and the options.

    `by` selects the pairs that are compared, and `across` the properties in which compared runs may differ. If
    `languages` is true, languages are compared over all models instead of pairs of models or languages. `state`
    changes if the content of a folder changes, so that an outdated result in the cache is not used.
    """

    runs: tuple[tuple[str, Path], ...]
    state: tuple[Any, ...] = ()
    by: "By | None" = None
    across: "tuple[Across, ...]" = ()
    languages: bool = False


@dataclass(frozen=True, slots=True)
class ComparedRuns:
    """The result of a comparison: an HTML page or a `problem`, and the pairs that are not compared (`left_out`)."""

    page: str
    problem: str
    left_out: "list[OmittedPairs]"


def build_comparison_request(
    runs: Mapping[str, Path], by: str = "", across: tuple[str, ...] = (), state: tuple[Any, ...] = ()
) -> ComparisonRequest:
    """Check the runs and options of a comparison, and return them as a request."""
    from tiltmeter.comparing.comparability import ACROSS
    from tiltmeter.comparing.comparison import BY

    languages = by == LANGUAGES
    fewest, most = (1, MOST_RUNS_OF_LANGUAGES) if languages else (2, MOST_RUNS)
    if len(runs) < fewest:
        raise UsageError(f"Choose at least {'one run' if languages else 'two runs'} to compare.")
    if len(runs) > most:
        raise UsageError(f"You have chosen {len(runs)} runs; choose at most {most}.")
    chosen = next((known for known in BY if known == by), None)
    if by and chosen is None and not languages:
        raise UsageError(f"Runs cannot be compared by {by!r}; choose one of {', '.join((*BY, LANGUAGES))}.")
    if unknown := [name for name in across if name not in ACROSS]:
        raise UsageError(
            f"{unknown[0]!r} is not a property in which compared runs may differ; choose from {', '.join(ACROSS)}."
        )
    differing = tuple(name for name in ACROSS if name in across)
    return ComparisonRequest(tuple(runs.items()), state, chosen, differing, languages)


class RunComparisons:
    """Compares runs, and keeps the last results in a cache."""

    def __init__(self) -> None:
        self._kept: OrderedDict[ComparisonRequest, ComparedRuns] = OrderedDict()
        self._lock = threading.Lock()

    def get_comparison(self, request: ComparisonRequest) -> ComparedRuns:
        """Return the result of a comparison; only one comparison is computed at a time."""
        with self._lock:
            if request not in self._kept:
                self._kept[request] = _compare_languages(request) if request.languages else _compare_runs(request)
                if len(self._kept) > _MAX_KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(request)
            return self._kept[request]


def _compare_runs(request: ComparisonRequest) -> ComparedRuns:
    from tiltmeter.api import compare
    from tiltmeter.comparing.omitted_pairs import list_omitted_pairs
    from tiltmeter.reports.comparison_page import render_comparison_page

    results = {name: Result.load(folder) for name, folder in request.runs}
    left_out = list_omitted_pairs(list(results.items()), by=request.by, across=request.across)
    try:
        comparison = compare(results, by=request.by, across=request.across)
    except TiltmeterError as error:
        return ComparedRuns("", str(error), left_out)
    return ComparedRuns(render_comparison_page(comparison, everything=True), "", left_out)


def _compare_languages(request: ComparisonRequest) -> ComparedRuns:
    from tiltmeter.api import compare_languages
    from tiltmeter.reports.language_page import render_language_page

    results = {name: Result.load(folder) for name, folder in request.runs}
    try:
        comparison = compare_languages(results, across=request.across)
    except TiltmeterError as error:
        return ComparedRuns("", str(error), [])
    return ComparedRuns(render_language_page(comparison), "", [])
