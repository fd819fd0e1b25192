"""The rooms of the studio, one module each; `app.py` lists them."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.routing import BaseRoute

if TYPE_CHECKING:
    from tiltmeter.studio.app import Studio


@dataclass(frozen=True, slots=True)
class StudioPage:
    """A room: its title in the navigation, its path, its pages.

    `shared` rooms are also served to reviewers elsewhere. `running` is entered when the studio starts and left when
    it ends: it starts and stops what the room does in the background.
    """

    title: str
    path: str
    routes: Sequence[BaseRoute]
    shared: bool = False
    running: "Callable[[Studio], AbstractContextManager[None]]" = lambda _studio: nullcontext()
