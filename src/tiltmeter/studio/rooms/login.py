"""Letting reviewers in to a shared studio by their password."""

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tiltmeter.errors import UsageError
from tiltmeter.studio import responses
from tiltmeter.studio.reviewers import check_password, session_key, studio_reviewer
from tiltmeter.studio.rooms.people import form_values


def _ask(request: Request) -> Response:
    studio = responses.studio_of(request)
    session = request.scope["state"].get("session")
    if session is not None and session.role == "reviewer":
        return responses.go_to(request, "/")
    guest = session or studio.sessions.new("guest")
    request.scope["state"]["session"] = guest
    return responses.set_session(request, responses.page(request, "login.html.jinja"), guest)


async def _let_in(request: Request) -> Response:
    studio, given = responses.studio_of(request), await form_values(request)
    name, folder = given.get("name", ""), studio.workspace.folder
    # Behind a proxy, the server takes the address from what the proxy says.
    address = request.client.host if request.client else ""
    studio.attempts.begin(name, address)
    if not await run_in_threadpool(check_password, folder, name, given.get("password", "")):
        raise UsageError("Name and password do not belong together.")
    studio.attempts.succeeded(name, address)
    reviewer = await run_in_threadpool(studio_reviewer, folder, name)
    assert reviewer is not None, "whoever has a password is a reviewer"
    session = studio.sessions.new("reviewer", reviewer.name, session_key(folder, reviewer.name))
    return responses.set_session(request, responses.go_to(request, "/"), session)


ROUTES = [Route("/login", _ask), Route("/login", _let_in, methods=["POST"])]
