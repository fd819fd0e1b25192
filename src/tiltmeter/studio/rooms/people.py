"""Who asks for a page of the room Review, about which project, and what they may do."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tiltmeter.errors import UsageError
from tiltmeter.making.review.review import Review
from tiltmeter.making.settings import Settings
from tiltmeter.studio.responses import session_of, studio_of
from tiltmeter.studio.reviewers import studio_reviewer
from tiltmeter.studio.workbench import OpenWork

T = TypeVar("T")

# The source of decisions that are made on a page.
VIA = "studio"
LONGEST = 20_000


def project_name(request: Request) -> str:
    """The name of the project that a request is about."""
    return request.query_params.get("project", "")


def project_folder(request: Request) -> Path:
    """The folder of the project that a request is about."""
    return studio_of(request).workspace.project(project_name(request))


def at_work(request: Request, work: Callable[[OpenWork], T]) -> T:
    """Do something with the project that a request is about, in the project's thread."""
    return studio_of(request).workbench.work(project_folder(request), work)


def reviewing(request: Request, work: Callable[[Review], T]) -> T:
    """Do something with the review of the project that a request is about."""
    return studio_of(request).workbench.review(project_folder(request), work)


def settings_of(request: Request) -> Settings:
    """The settings of the project that a request is about."""
    return at_work(request, lambda opened: opened.project.settings)


async def form_values(request: Request) -> dict[str, str]:
    """The texts of a form."""
    async with request.form(max_files=0, max_fields=200) as form:
        return {key: clean(value) for key, value in form.items()}


def form_route(path: str, answer: Callable[[Request, Mapping[str, str]], Response]) -> Route:
    """A route for a form that is sent; `answer` gets its texts, in a thread."""

    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(answer, request, await form_values(request))

    return Route(path, endpoint, methods=["POST"])


def person(request: Request) -> str:
    """The name of who asks; empty for an owner who has not said which reviewer they are."""
    return session_of(request).name


def person_needed(request: Request) -> str:
    """The name of who asks; a UsageError without one."""
    name = person(request)
    if not name:
        raise UsageError("Say first who you are: open the project in the room Review.")
    return name


def may_settle(request: Request) -> bool:
    """Whether who asks may see and settle conflicts, answer questions, publish, and copy projects away."""
    studio, session = studio_of(request), session_of(request)
    if session.role == "owner":
        return True
    found = studio_reviewer(studio.workspace.folder, session.name)
    return found is not None and found.is_adjudicator


def settler(request: Request) -> None:
    """A UsageError unless who asks may settle."""
    if not may_settle(request):
        raise UsageError("This is for adjudicators; ask whoever runs the studio.")


def clean(text: object) -> str:
    """A text of a form, with plain line ends."""
    found = str(text).replace("\r\n", "\n").replace("\r", "\n")
    if len(found) > LONGEST:
        raise UsageError(f"A text is longer than {LONGEST:,} characters.")
    return found
