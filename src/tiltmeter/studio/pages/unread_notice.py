"""The guidelines and a notice about offensive contents, which people read before their first item in a project."""

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tiltmeter.studio.pages.permissions import require_user_name, run_in_project
from tiltmeter.studio.project_threads import ProjectSession


def build_unread_notice(request: Request, start: str) -> dict[str, Any]:
    """Return the values of the notice if the user has not read it yet, and otherwise an empty dictionary.

    `start` is the path of the route that confirms the notice and renders the first item.
    """
    name = require_user_name(request)

    def read_notice(session: ProjectSession) -> dict[str, Any]:
        if session.project.has_read_notice(name):
            return {}
        guidelines, settings = session.project.read_guidelines(), session.project.settings
        return {"start": start, "guidelines": guidelines, "settings": settings, "notice": ""}

    return run_in_project(request, read_notice)


def build_start_route(path: str, render_first: Callable[[Request], Response]) -> Route:
    """Return a route that records that the user has read the notice, and renders the first item."""

    def confirm_notice(request: Request) -> Response:
        name = require_user_name(request)
        run_in_project(request, lambda session: session.project.record_notice(name))
        return render_first(request)

    return Route(path, confirm_notice, methods=["POST"])
