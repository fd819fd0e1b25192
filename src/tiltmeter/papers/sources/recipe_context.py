"""The class `RecipeContext`, which fetches files, reads runs of models and caches the numbers of recipes."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tiltmeter.datasets.file_fetcher import UnavailableFileError, fetch_file
from tiltmeter.datasets.file_hashes import get_sha256
from tiltmeter.datasets.http_download import UnreachableServerError
from tiltmeter.datasets.local_files import is_local
from tiltmeter.datasets.upstream_files import get_upstream_file
from tiltmeter.papers.sources.paper_run import PaperRun, SavedRun
from tiltmeter.papers.sources.recipe import NotAvailable, Numbers, Recipe

if TYPE_CHECKING:
    import pandas as pd

    from tiltmeter.measures.records import Record
    from tiltmeter.runs.manifest import Manifest
    from tiltmeter.runs.result import Result

Value = TypeVar("Value")


class UsedFile(NamedTuple):
    """The SHA-256 of a released file, and whether the file was checked against a known hash."""

    known: bool
    sha256: str


class RecipeContext:
    """The state that the recipes of one reproduction share.

    `model_paths` maps hub ids of models to local folders of these models. `runs` has the folder of each run of a model,
    or the reason why there is no such run. `samples` is the folder of the samples of translations that people rate.
    """

    def __init__(
        self,
        model_paths: Mapping[str, str] | None = None,
        *,
        runs: Mapping[PaperRun, SavedRun] | None = None,
        samples: Path | None = None,
    ) -> None:
        self.model_paths = dict(model_paths or {})
        self.runs = dict(runs or {})
        self.samples = samples
        self.files: dict[str, UsedFile] = {}
        self._numbers: dict[Recipe, Numbers | NotAvailable] = {}
        self._results: dict[tuple[object, ...], Any] = {}
        self._unreachable: str | None = None

    def compute_numbers(self, recipe: Recipe) -> Numbers:
        """Return the numbers of a recipe; they are computed only at the first call."""
        if recipe not in self._numbers:
            try:
                self._numbers[recipe] = recipe.compute(self, *recipe.arguments)
            except NotAvailable as reason:
                self._numbers[recipe] = reason
            except UnavailableFileError as error:
                self._numbers[recipe] = NotAvailable(str(error))
        numbers = self._numbers[recipe]
        if isinstance(numbers, NotAvailable):
            raise numbers
        return numbers

    def compute_once(self, function: Callable[..., Value], *arguments: object) -> Value:
        """Return the result of a function that several recipes need; equal calls are computed only once."""
        key = (function, *arguments)
        if key not in self._results:
            self._results[key] = function(*arguments)
        result: Value = self._results[key]
        return result

    def fetch_file(self, repository: str, path: str) -> Path:
        """Return the path of a released file.

        Raise NotAvailable if the file cannot be fetched, and DownloadError if its hash differs from the pinned hash.
        """
        file = get_upstream_file(repository, path)
        if self._unreachable is not None and not is_local(file):
            # An earlier download failed without a network; each further attempt would take seconds.
            raise NotAvailable(self._unreachable, file.name)
        try:
            path_here = fetch_file(file)
        except UnavailableFileError as error:
            if isinstance(error.__cause__, UnreachableServerError):
                self._unreachable = str(error)
            raise NotAvailable(str(error), file.name) from error
        self.files[file.name] = UsedFile(file.pin.is_hash, get_sha256(path_here))
        return path_here

    def get_model_path(self, hub: str) -> str:
        """Return the path or hub id from which a model is loaded."""
        return self.model_paths.get(hub, hub)

    def load_records(self, run: PaperRun) -> list["Record"]:
        """Return the records of a run; raise NotAvailable if there is no such run, or if it lacks scores of items."""
        result = self._load_run(run)
        if skipped := result.manifest.skipped:
            raise NotAvailable(f"{run.name} has no score for {len(skipped)} items: {skipped[0].reason}.")
        return result.records

    def load_scores(self, run: PaperRun) -> "pd.DataFrame":
        """Return the scores of a run; raise NotAvailable if there is no such run."""
        return self._load_run(run).scores

    def load_manifest(self, run: PaperRun) -> "Manifest":
        """Return the manifest of a run; raise NotAvailable if there is no such run."""
        return self._load_run(run).manifest

    def _load_run(self, run: PaperRun) -> "Result":
        from tiltmeter.runs.result import Result

        saved = self.runs.get(run, SavedRun(problem=f"{run.name} was not run."))
        if saved.folder is None:
            raise NotAvailable(saved.problem)
        return Result.load(saved.folder)

    def list_differences(self, runs: Iterable[PaperRun]) -> list[str]:
        """Return how runs differ from the experiments of the paper, without duplicates."""
        return list(dict.fromkeys(text for run in runs if run in self.runs for text in self.runs[run].differences))
