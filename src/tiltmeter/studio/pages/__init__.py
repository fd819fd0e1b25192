"""The pages of the studio: one module each with a `STUDIO_PAGE`; plug-ins provide more (`tiltmeter.studio_pages`)."""

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
    """A page of the studio: its title in the navigation, its path, and its routes, which all begin with this path.

    A shared studio serves only pages with `shared`. `running` is a context manager for background work, entered when
    the studio starts. The navigation is sorted by `order`, then by path.
    """

    title: str
    path: str
    routes: Sequence[BaseRoute]
    shared: bool = False
    running: "Callable[[Studio], AbstractContextManager[None]]" = lambda _studio: nullcontext()
    order: int = 100


@cache
def list_studio_pages() -> tuple[StudioPage, ...]:
    """Return all pages, built-in and of plug-ins, in the order of the navigation."""
    builtin = find_package_objects(__name__, "STUDIO_PAGE")
    pages = load_components("studio_pages", builtin, StudioPage, lambda page: page.path)
    return tuple(sorted(pages.values(), key=lambda page: (page.order, page.path)))
