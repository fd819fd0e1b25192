"""The pages of the studio: modules with the object `STUDIO_PAGE`, and entry points `tiltmeter.studio_pages`."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from starlette.routing import BaseRoute

from tiltmeter.registry import find_package_objects, load_components

if TYPE_CHECKING:
    from tiltmeter.studio.app import Studio


@dataclass(frozen=True, slots=True)
class StudioPage:
    """A page of the studio. `title` is shown in the navigation; all routes begin with `path`.

    A shared studio serves the page only if `shared` is true. `running` is a context manager for background work; the
    studio enters it at its start and leaves it at its end. The navigation is sorted by `order`, then by path.
    """

    title: str
    path: str
    routes: Sequence[BaseRoute]
    shared: bool = False
    running: "Callable[[Studio], AbstractContextManager[None]]" = lambda _studio: nullcontext()
    order: int = 100


@cache
def list_studio_pages() -> tuple[StudioPage, ...]:
    """Return all pages, built-in and from plug-ins, in the order of the navigation."""
    builtin = find_package_objects(__name__, "STUDIO_PAGE")
    pages = load_components("studio_pages", builtin, StudioPage, lambda page: page.path)
    return tuple(sorted(pages.values(), key=lambda page: (page.order, page.path)))
