"""Where recipes are followed: fetches files, runs models, and keeps what was found."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tiltmeter.datasets.download import UnreachableError
from tiltmeter.datasets.fetch import AbsentError, fetch, is_local
from tiltmeter.datasets.upstream import upstream_file
from tiltmeter.errors import ModelError
from tiltmeter.papers.sources.recipe import NotAvailable, Numbers, Recipe

if TYPE_CHECKING:
    from tiltmeter.measures.records import Record

Kept = TypeVar("Kept")
Watch = Callable[[str], AbstractContextManager[Any]]


class Desk:
    """What the recipes of one reproduction share. `model_paths` gives other places for models, by their hub ids."""

    def __init__(
        self,
        model_paths: Mapping[str, str] | None = None,
        *,
        device: str = "auto",
        watch: Watch = lambda _label: nullcontext(lambda _progress: None),
    ) -> None:
        self.model_paths = dict(model_paths or {})
        self.device = device
        self.watch = watch
        # The files that were used, and whether there was a hash to check them by.
        self.files: dict[str, bool] = {}
        self._found: dict[Recipe, Numbers | NotAvailable] = {}
        self._kept: dict[tuple[object, ...], Any] = {}
        self._unreachable: str | None = None

    def compute(self, recipe: Recipe) -> Numbers:
        """What the recipe gives; it is followed the first time only."""
        if recipe not in self._found:
            try:
                self._found[recipe] = recipe.numbers(self)
            except NotAvailable as lack:
                self._found[recipe] = lack
            except AbsentError as error:
                self._found[recipe] = NotAvailable(str(error))
        found = self._found[recipe]
        if isinstance(found, NotAvailable):
            raise found
        return found

    def once(self, make: Callable[..., Kept], *arguments: object) -> Kept:
        """What a function gives for these arguments, which several recipes need; it is called the first time only."""
        key = (make, *arguments)
        if key not in self._kept:
            self._kept[key] = make(*arguments)
        kept: Kept = self._kept[key]
        return kept

    def fetch(self, repository: str, path: str) -> Path:
        """A released file. One that cannot be had is not available; one that is not the pinned file is an error."""
        file = upstream_file(repository, path)
        if self._unreachable is not None and not is_local(file):
            # Without a network every file would be tried for seconds in vain.
            raise NotAvailable(self._unreachable)
        try:
            found = fetch(file)
        except AbsentError as error:
            if isinstance(error.__cause__, UnreachableError):
                self._unreachable = str(error)
            raise NotAvailable(str(error)) from error
        self.files[file.name] = file.pin.is_hash
        return found

    def model(self, hub: str) -> str:
        """Where to load a model from."""
        return self.model_paths.get(hub, hub)

    def run(self, hub: str, on: str, **options: Any) -> list["Record"]:
        """The measures of a run of a model."""
        from tiltmeter.runs import evaluate

        try:
            return evaluate(self.model(hub), on, device=self.device, watch=self.watch, **options).records
        except ModelError as error:
            raise NotAvailable(str(error)) from error
