"""The login page of a shared studio, for reviewers."""

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tiltmeter.errors import UsageError
from tiltmeter.studio import responses
from tiltmeter.studio.pages.permissions import read_form_values
from tiltmeter.studio.reviewer_accounts import check_password, find_studio_reviewer, get_session_key


def _render_login(request: Request) -> Response:
    studio = responses.get_studio(request)
    session = request.scope["state"].get("session")
    if session is not None and session.role == "reviewer":
        return responses.redirect(request, "/")
    guest = session or studio.sessions.create_session("guest")
    request.scope["state"]["session"] = guest
    return responses.set_session(request, responses.render_page(request, "login.html.jinja"), guest)


async def _log_in(request: Request) -> Response:
    studio, given = responses.get_studio(request), await read_form_values(request)
    name, folder = given.get("name", ""), studio.workspace.folder
    # Behind a proxy, the web server has already replaced the proxy's address by the address of the user, which is in a
    # header of the request.
    address = request.client.host if request.client else ""
    studio.attempts.record_attempt(name, address)
    if not await run_in_threadpool(check_password, folder, name, given.get("password", "")):
        raise UsageError("Wrong name or password.")
    studio.attempts.record_success(name, address)
    reviewer = await run_in_threadpool(find_studio_reviewer, folder, name)
    assert reviewer is not None, "only reviewers have a password"
    session = studio.sessions.create_session("reviewer", reviewer.name, get_session_key(folder, reviewer.name))
    return responses.set_session(request, responses.redirect(request, "/"), session)


ROUTES = [Route("/login", _render_login), Route("/login", _log_in, methods=["POST"])]
