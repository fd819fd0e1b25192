"""Comparisons of runs: the same pages as from `tiltmeter compare --html`, and the pairs that are not compared.

The modules that compare runs are imported only when they are used, because they import torch, which takes seconds.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tiltmeter.errors import TiltmeterError, UsageError
from tiltmeter.runs.result import Result

if TYPE_CHECKING:
    from tiltmeter.comparing.comparability import Across
    from tiltmeter.comparing.comparison import By
    from tiltmeter.comparing.omitted_pairs import OmittedPairs

# Maximum number of comparisons in the cache.
_MAX_KEPT = 8


@dataclass(frozen=True, slots=True)
class ComparedRuns:
    """The result of a comparison: an HTML page or a `problem`, and the pairs that are not compared (`left_out`)."""

    page: str
    problem: str
    left_out: "list[OmittedPairs]"


@dataclass(frozen=True, slots=True)
class ComparisonKind:
    """A kind of comparison: its words in the list of choices, its heading, and the numbers of runs that it accepts.

    `render` makes the page of a comparison. In the heading, `{runs}` is the number of runs with the word "runs". If
    `is_pairwise` is true, runs are compared pair by pair, and the page lists the pairs that cannot be compared.
    `list_inputs` returns the files other than runs that the result depends on.
    """

    words: str
    heading: str
    fewest: int
    most: int
    render: "Callable[[ComparisonRequest, Mapping[str, Result]], str]"
    is_pairwise: bool = False
    list_inputs: Callable[[], Sequence[Path]] = tuple


@dataclass(frozen=True, slots=True)
class ComparisonRequest:
    """A request for a comparison: the runs as (name, folder), and the options.

    `by` is the name of a kind of comparison, and `across` names the properties in which compared runs may differ.
    `state` changes if the content of a folder or of another input changes, so that an outdated result in the cache is
    not used.
    """

    runs: tuple[tuple[str, Path], ...]
    state: tuple[Any, ...] = ()
    by: str = ""
    across: "tuple[Across, ...]" = ()

    @property
    def kind(self) -> ComparisonKind:
        """The kind of comparison."""
        return KINDS[self.by]

    @property
    def pairs_by(self) -> "By | None":
        """Which pairs are compared; None for the default."""
        return cast("By | None", self.by or None)

    @property
    def heading(self) -> str:
        """The heading of the page."""
        return self.kind.heading.format(runs=f"{len(self.runs)} run{'s' if len(self.runs) != 1 else ''}")


def build_comparison_request(
    runs: Mapping[str, Path], by: str = "", across: tuple[str, ...] = (), state: tuple[Any, ...] = ()
) -> ComparisonRequest:
    """Check the runs and options of a comparison, and return them as a request."""
    from tiltmeter.comparing.comparability import ACROSS

    if by not in KINDS:
        raise UsageError(f"Runs cannot be compared by {by!r}; choose one of {', '.join(filter(None, KINDS))}.")
    kind = KINDS[by]
    if kind.fewest == kind.most != len(runs):
        raise UsageError(f"You have chosen {len(runs)} run{'s' if len(runs) != 1 else ''}; choose {kind.most}.")
    if len(runs) < kind.fewest:
        raise UsageError(f"Choose at least {'one run' if kind.fewest == 1 else 'two runs'} to compare.")
    if len(runs) > kind.most:
        raise UsageError(f"You have chosen {len(runs)} runs; choose at most {kind.most}.")
    if unknown := [name for name in across if name not in ACROSS]:
        raise UsageError(
            f"{unknown[0]!r} is not a property in which compared runs may differ; choose from {', '.join(ACROSS)}."
        )
    inputs = tuple((path, path.stat().st_mtime_ns) for path in kind.list_inputs())
    return ComparisonRequest(tuple(runs.items()), (state, inputs), by, tuple(name for name in ACROSS if name in across))


class RunComparisons:
    """Compares runs, and keeps the last results in a cache."""

    def __init__(self) -> None:
        self._kept: OrderedDict[ComparisonRequest, ComparedRuns] = OrderedDict()
        self._lock = threading.Lock()

    def get_comparison(self, request: ComparisonRequest) -> ComparedRuns:
        """Return the result of a comparison; only one comparison is computed at a time."""
        with self._lock:
            if request not in self._kept:
                self._kept[request] = _compare_runs(request)
                if len(self._kept) > _MAX_KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(request)
            return self._kept[request]


def _compare_runs(request: ComparisonRequest) -> ComparedRuns:
    from tiltmeter.comparing.omitted_pairs import list_omitted_pairs

    results = {name: Result.load(folder) for name, folder in request.runs}
    left_out: list[OmittedPairs] = []
    if request.kind.is_pairwise:
        left_out = list_omitted_pairs(list(results.items()), by=request.pairs_by, across=request.across)
    try:
        return ComparedRuns(request.kind.render(request, results), "", left_out)
    except TiltmeterError as error:
        return ComparedRuns("", str(error), left_out)


def _render_pairs(request: ComparisonRequest, results: Mapping[str, Result]) -> str:
    from tiltmeter.api import compare
    from tiltmeter.reports.comparison_page import render_comparison_page

    return render_comparison_page(compare(results, by=request.pairs_by, across=request.across), everything=True)


def _render_languages(request: ComparisonRequest, results: Mapping[str, Result]) -> str:
    from tiltmeter.api import compare_languages
    from tiltmeter.reports.language_page import render_language_page

    return render_language_page(compare_languages(results, across=request.across))


def _render_published(request: ComparisonRequest, results: Mapping[str, Result]) -> str:
    from tiltmeter.api import compare_with_references
    from tiltmeter.reports.reference_page import render_reference_page

    return render_reference_page(compare_with_references(results, across=request.across))


def _list_published_files() -> list[Path]:
    from tiltmeter.comparing.reference_sets import list_cached_files
    from tiltmeter.runs.released_results import load_published_sets

    return [path for published in load_published_sets().values() for path in list_cached_files(published)]


def _render_change(request: ComparisonRequest, _results: Mapping[str, Result]) -> str:
    from tiltmeter.api import assess_change
    from tiltmeter.reports.change_page import render_change_page

    before, after = (folder for _, folder in request.runs)
    return render_change_page(assess_change(before, after, across=request.across))


_PAIRS = ComparisonKind(
    "models on the same items, and languages of a model", "Comparison of {runs}", 2, 12, _render_pairs, True
)
# The kinds of comparison by the value of the parameter `by`.
KINDS = {
    "": _PAIRS,
    "model": replace(_PAIRS, words="models on the same items"),
    "language": replace(_PAIRS, words="languages of a model"),
    "any": replace(_PAIRS, words="different models in different languages"),
    "languages": ComparisonKind(
        "all languages at once, over all models", "Languages in {runs}", 1, 60, _render_languages
    ),
    "published": ComparisonKind(
        "each run with published results",
        "Published results and {runs}",
        1,
        12,
        _render_published,
        list_inputs=_list_published_files,
    ),
    "change": ComparisonKind("a model before and after a change", "Before and after a change", 2, 2, _render_change),
}
