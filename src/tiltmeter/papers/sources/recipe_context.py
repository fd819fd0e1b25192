"""Run recipes: fetch files, run models, and cache the numbers."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tiltmeter.datasets.file_fetcher import UnavailableFileError, fetch_file
from tiltmeter.datasets.file_hashes import get_sha256
from tiltmeter.datasets.http_download import UnreachableServerError
from tiltmeter.datasets.local_files import is_local
from tiltmeter.datasets.upstream_files import get_upstream_file
from tiltmeter.errors import ModelError
from tiltmeter.papers.sources.recipe import NotAvailable, Numbers, Recipe

if TYPE_CHECKING:
    from tiltmeter.measures.records import Record

Kept = TypeVar("Kept")
Watch = Callable[[str], AbstractContextManager[Any]]


class UsedFile(NamedTuple):
    """The SHA-256 of a released file, and whether its hash was known before."""

    known: bool
    sha256: str


class RecipeContext:
    """The state shared by the recipes of one reproduction.

    `model_paths` maps hub ids to local folders; `head_paths` to those of next-sentence heads for these models.
    """

    def __init__(
        self,
        model_paths: Mapping[str, str] | None = None,
        *,
        head_paths: Mapping[str, str] | None = None,
        device: str = "auto",
        watch: Watch = lambda _label: nullcontext(lambda _progress: None),
    ) -> None:
        self.model_paths = dict(model_paths or {})
        self.head_paths = dict(head_paths or {})
        self.device = device
        self.watch = watch
        self.files: dict[str, UsedFile] = {}
        self._numbers: dict[Recipe, Numbers | NotAvailable] = {}
        self._kept: dict[tuple[object, ...], Any] = {}
        self._unreachable: str | None = None

    def compute(self, recipe: Recipe) -> Numbers:
        """The numbers of a recipe, computed once."""
        if recipe not in self._numbers:
            try:
                self._numbers[recipe] = recipe.numbers(self)
            except NotAvailable as lack:
                self._numbers[recipe] = lack
            except UnavailableFileError as error:
                self._numbers[recipe] = NotAvailable(str(error))
        numbers = self._numbers[recipe]
        if isinstance(numbers, NotAvailable):
            raise numbers
        return numbers

    def compute_once(self, make: Callable[..., Kept], *arguments: object) -> Kept:
        """The result of a function that several recipes call with these arguments, computed once."""
        key = (make, *arguments)
        if key not in self._kept:
            self._kept[key] = make(*arguments)
        kept: Kept = self._kept[key]
        return kept

    def fetch(self, repository: str, path: str) -> Path:
        """The path of a released file; NotAvailable if it cannot be fetched, an error if it is not the pinned file."""
        file = get_upstream_file(repository, path)
        if self._unreachable is not None and not is_local(file):
            # Without a network, trying every file would take seconds each.
            raise NotAvailable(self._unreachable)
        try:
            path_here = fetch_file(file)
        except UnavailableFileError as error:
            if isinstance(error.__cause__, UnreachableServerError):
                self._unreachable = str(error)
            raise NotAvailable(str(error)) from error
        self.files[file.name] = UsedFile(file.pin.is_hash, get_sha256(path_here))
        return path_here

    def model(self, hub: str) -> str:
        """The path or hub id to load a model from."""
        return self.model_paths.get(hub, hub)

    def head(self, hub: str) -> str:
        """The path of a next-sentence head for the model with this hub id, `BASE+HEAD` if that has a folder, too."""
        if hub not in self.head_paths:
            raise NotAvailable(
                f"The next-sentence head that was fine-tuned for {hub} is not on the hub; if you have its .pth file or "
                f"trained one, convert it with `tiltmeter train convert` and give it with --head-path {hub}=FOLDER."
            )
        head = self.head_paths[hub]
        return f"{self.model_paths[hub]}+{head}" if hub in self.model_paths else head

    def run(self, model: str, on: str, **options: Any) -> list["Record"]:
        """Run a model, by its path or hub id, and return its records."""
        from tiltmeter.runs.evaluate import evaluate

        try:
            return evaluate(model, on, device=self.device, watch=self.watch, every_item=True, **options).records
        except ModelError as error:
            raise NotAvailable(str(error)) from error
