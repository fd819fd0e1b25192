"""The pages of the studio, which is Tiltmeter's web application.

A built-in page is a module of this package with an object `STUDIO_PAGE`. Plug-ins add pages with entry points of the
group `tiltmeter.studio_pages`.
"""

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

    A studio that is shared with reviewers serves the page only if `shared` is true. `running` returns a context manager
    for background work; the studio enters it when the studio starts, and leaves it when the studio ends. The navigation
    is sorted by `order`, then by path.
    """

    title: str
    path: str
    routes: Sequence[BaseRoute]
    shared: bool = False
    running: "Callable[[Studio], AbstractContextManager[None]]" = lambda _studio: nullcontext()
    order: int = 100


@cache
def list_studio_pages() -> tuple[StudioPage, ...]:
    """Return all pages of the studio, built-in and from plug-ins, in the order in which the navigation lists them."""
    builtin = find_package_objects(__name__, "STUDIO_PAGE")
    pages = load_components("studio_pages", builtin, StudioPage, lambda page: page.path)
    return tuple(sorted(pages.values(), key=lambda page: (page.order, page.path)))
