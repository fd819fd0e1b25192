"""Functions that find the project, the user and the user's permissions in a request to the page "Review"."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tiltmeter.errors import UsageError
from tiltmeter.making.project_settings import ProjectSettings
from tiltmeter.making.review.review import Review
from tiltmeter.making.review.review_views import ReviewItem
from tiltmeter.reports.language_names import get_language_name
from tiltmeter.studio.interface_texts import ENGLISH, InterfaceTexts, load_project_texts, load_texts
from tiltmeter.studio.project_threads import ProjectSession
from tiltmeter.studio.responses import get_session, get_studio, render_fragment
from tiltmeter.studio.reviewer_accounts import find_studio_reviewer

T = TypeVar("T")

# Each decision is stored with the program in which it was made; this is the value for decisions made in the studio.
VIA = "studio"
# Maximum number of characters in a form field.
LONGEST = 20_000


def get_project_name(request: Request) -> str:
    """Return the name of the project that the query of a request contains; empty if it contains none."""
    return request.query_params.get("project", "")


def get_project_folder(request: Request) -> Path:
    """Return the folder of the project that a request is about."""
    return get_studio(request).workspace.get_project_folder(get_project_name(request))


def run_in_project(request: Request, task: Callable[[ProjectSession], T]) -> T:
    """Call `task` with the project that a request is about, in the thread of the project; return the task's result."""
    return get_studio(request).projects.run_task(get_project_folder(request), task)


def run_in_review(request: Request, task: Callable[[Review], T]) -> T:
    """Call `task` with the review of the project that a request is about; return the result of the task."""
    return get_studio(request).projects.run_review_task(get_project_folder(request), task)


def get_settings(request: Request) -> ProjectSettings:
    """Return the settings of the project that a request is about."""
    return run_in_project(request, lambda session: session.project.settings)


def build_language_values(settings: ProjectSettings) -> dict[str, str]:
    """Return the codes and names of a project's source language and target language, as values for templates."""
    return {
        "source_language": settings.source_language,
        "language": settings.language,
        "source_name": get_language_name(settings.source_language),
        "language_name": get_language_name(settings.language),
    }


def parse_seconds(values: Mapping[str, str]) -> float:
    """Return the time that the page measured, in seconds; 0 if it is missing or is not a number."""
    try:
        seconds = float(values.get("seconds", ""))
    except ValueError:
        return 0.0
    return seconds if 0 < seconds < float("inf") else 0.0


def select_fields(values: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return the form fields whose names begin with `prefix`, such as `text:`; the prefix is removed from the names."""
    return {key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)}


async def read_form_values(request: Request) -> dict[str, str]:
    """Return a dictionary from the names of the fields of a form to their values."""
    async with request.form(max_files=0, max_fields=200) as form:
        return {key: normalise_line_ends(value) for key, value in form.items()}


def build_form_route(path: str, answer: Callable[[Request, Mapping[str, str]], Response]) -> Route:
    """Return a route for a form that is sent with POST.

    `answer` is called in a worker thread with the request and the form fields, and returns the response.
    """

    async def handle_form(request: Request) -> Response:
        return await run_in_threadpool(answer, request, await read_form_values(request))

    return Route(path, handle_form, methods=["POST"])


def get_texts(request: Request) -> InterfaceTexts:
    """Return the texts of the interface in the language that the request's project chooses."""
    return load_project_texts(get_project_folder(request)) if get_project_name(request) else load_texts(ENGLISH)


def render_review(request: Request, template: str, **values: Any) -> Response:
    """Render a page or part of a page about a project, in the language that the project chooses."""
    texts = get_texts(request)
    return render_fragment(request, template, project=get_project_name(request), t=texts, **values)


def quote_title(view: ReviewItem, texts: InterfaceTexts) -> Markup:
    """Return the title of an item in quotes, for a notice."""
    return texts.isolate(f"“{view.title}”")


def get_user_name(request: Request) -> str:
    """Return the name of the user; empty for an owner who has not chosen a name."""
    return get_session(request).name


def require_user_name(request: Request) -> str:
    """Return the name of the user; raise a UsageError if the user has no name."""
    name = get_user_name(request)
    if not name:
        raise UsageError("Choose your name first: open the project on the page “Review”.")
    return name


def can_adjudicate(request: Request) -> bool:
    """Return whether the user may see and settle conflicts, answer questions, and publish or download projects."""
    studio, session = get_studio(request), get_session(request)
    if session.role == "owner":
        return True
    reviewer = find_studio_reviewer(studio.workspace.folder, session.name)
    return reviewer is not None and reviewer.is_adjudicator


def require_adjudicator(request: Request) -> None:
    """Raise a UsageError unless the user is an adjudicator."""
    if not can_adjudicate(request):
        raise UsageError("Only adjudicators have access to this page; ask the person who runs the studio.")


def normalise_line_ends(text: object) -> str:
    """Return a text with Unix line ends; raise a UsageError if the text is too long."""
    normalised = str(text).replace("\r\n", "\n").replace("\r", "\n")
    if len(normalised) > LONGEST:
        raise UsageError(f"A text in the form is longer than {LONGEST:,} characters; shorten it.")
    return normalised
