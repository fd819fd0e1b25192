"""Who asks for a page of the room Review, about which project, and what they may do."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tiltmeter.errors import UsageError
from tiltmeter.making.project_settings import ProjectSettings
from tiltmeter.making.review.review import Review
from tiltmeter.studio.project_threads import ProjectSession
from tiltmeter.studio.responses import get_session, get_studio
from tiltmeter.studio.reviewer_accounts import find_studio_reviewer

T = TypeVar("T")

# The source of decisions that are made on a page.
VIA = "studio"
LONGEST = 20_000


def get_project_name(request: Request) -> str:
    """The name of the project that a request is about."""
    return request.query_params.get("project", "")


def get_project_folder(request: Request) -> Path:
    """The folder of the project that a request is about."""
    return get_studio(request).workspace.project(get_project_name(request))


def run_in_project(request: Request, work: Callable[[ProjectSession], T]) -> T:
    """Do something with the project that a request is about, in the project's thread."""
    return get_studio(request).projects.submit(get_project_folder(request), work)


def run_in_review(request: Request, work: Callable[[Review], T]) -> T:
    """Do something with the review of the project that a request is about."""
    return get_studio(request).projects.review(get_project_folder(request), work)


def get_settings(request: Request) -> ProjectSettings:
    """The settings of the project that a request is about."""
    return run_in_project(request, lambda opened: opened.project.settings)


async def read_form_values(request: Request) -> dict[str, str]:
    """The texts of a form."""
    async with request.form(max_files=0, max_fields=200) as form:
        return {key: normalise_line_ends(value) for key, value in form.items()}


def build_form_route(path: str, answer: Callable[[Request, Mapping[str, str]], Response]) -> Route:
    """A route for a form that is sent; `answer` gets its texts, in a thread."""

    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(answer, request, await read_form_values(request))

    return Route(path, endpoint, methods=["POST"])


def get_person(request: Request) -> str:
    """The name of who asks; empty for an owner who has not said which reviewer they are."""
    return get_session(request).name


def require_person(request: Request) -> str:
    """The name of who asks; a UsageError without one."""
    name = get_person(request)
    if not name:
        raise UsageError("Say first who you are: open the project in the room Review.")
    return name


def can_adjudicate(request: Request) -> bool:
    """Whether who asks may see and settle conflicts, answer questions, publish, and copy projects away."""
    studio, session = get_studio(request), get_session(request)
    if session.role == "owner":
        return True
    found = find_studio_reviewer(studio.workspace.folder, session.name)
    return found is not None and found.is_adjudicator


def require_adjudicator(request: Request) -> None:
    """A UsageError unless who asks may settle."""
    if not can_adjudicate(request):
        raise UsageError("This is for adjudicators; ask whoever runs the studio.")


def normalise_line_ends(text: object) -> str:
    """A text of a form, with plain line ends."""
    found = str(text).replace("\r\n", "\n").replace("\r", "\n")
    if len(found) > LONGEST:
        raise UsageError(f"A text is longer than {LONGEST:,} characters.")
    return found
