"""The room Review: projects, and one item at a time for reviewers."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tiltmeter.errors import TiltmeterError, UsageError
from tiltmeter.making.item_makers import WRITTEN
from tiltmeter.making.project_settings import ProjectSettings, read_settings
from tiltmeter.making.review.review import Review
from tiltmeter.making.review.review_marks import mark_changes
from tiltmeter.making.review.review_rule import ReviewVerdict
from tiltmeter.making.review.review_views import ReviewItem
from tiltmeter.reports.language_names import get_language_name
from tiltmeter.studio import responses
from tiltmeter.studio.pages import StudioPage, adjudication, rating, writing
from tiltmeter.studio.pages.permissions import (
    VIA,
    build_form_route,
    can_adjudicate,
    get_person,
    get_project_folder,
    get_project_name,
    get_settings,
    require_person,
    run_in_project,
    run_in_review,
)
from tiltmeter.studio.project_threads import ProjectSession
from tiltmeter.studio.review_page import ReviewPage, build_review_page

if TYPE_CHECKING:
    from tiltmeter.studio.app import Studio

_WORDS = {"accept": "accepted", "edit": "edited", "drop": "dropped"}


@dataclass(frozen=True, slots=True)
class ProjectCard:
    """A project in the list; `problem` says why it cannot be opened."""

    name: str
    title: str = ""
    language: str = ""
    is_written: bool = False
    problem: str = ""


def _render_projects(request: Request) -> Response:
    workspace = responses.get_studio(request).workspace
    cards = []
    for folder in sorted(workspace.list_projects()):
        name = workspace.name_of(folder)
        try:
            settings = read_settings(folder)
        except TiltmeterError as error:
            cards.append(ProjectCard(name, problem=responses.hide_paths(request, str(error))))
        else:
            is_written = settings.system == WRITTEN
            cards.append(ProjectCard(name, settings.title or name, get_language_name(settings.language), is_written))
    return responses.render_page(request, "review.html.jinja", cards=cards, person=get_person(request))


def _render_state(request: Request) -> Response:
    """How far a project is, and this person in it; nothing about what others decided."""
    name = get_person(request)

    def look(work: ProjectSession) -> dict[str, Any]:
        counts = work.project.store.count_stages()
        items, untranslated = sum(counts.values()), counts.get("source", 0)
        return {"items": items, "untranslated": untranslated, "progress": _count_progress(work, name)}

    return responses.render_fragment(request, "review_state.html.jinja", **run_in_project(request, look))


def _count_progress(work: ProjectSession, name: str) -> tuple[int, int] | None:
    """How many items somebody has decided on and has left; None for who is no reviewer of the project."""
    known = next((one for one in work.project.store.list_reviewer_names() if one.casefold() == name.casefold()), "")
    return work.review.count_progress(known) if known else None


def _render_project(request: Request) -> Response:
    """A project: what this person can do in it."""
    name = get_person(request)
    settings = get_settings(request)

    def look(work: ProjectSession) -> dict[str, Any]:
        return {
            "reviewers": work.project.store.list_reviewer_names(),
            "progress": _count_progress(work, name),
            "guidelines": work.review.guidelines(),
        }

    return responses.render_page(
        request,
        "review_project.html.jinja",
        project=get_project_name(request),
        settings=settings,
        person=name,
        language=get_language_name(settings.language),
        is_written=settings.system == WRITTEN,
        may_settle=can_adjudicate(request),
        **run_in_project(request, look),
    )


def _choose_reviewer(request: Request, values: Mapping[str, str]) -> Response:
    """The owner says which reviewer they are, and becomes one if they were not."""
    session = responses.get_session(request)
    if session.role != "owner":
        raise UsageError("Your name is the one that you logged in with.")
    name = (values.get("new", "").strip() or values.get("name", "")).strip()
    if not name or len(name) > 100 or not name.isprintable():
        raise UsageError("Choose a name, or give a new one of at most 100 characters.")
    response = responses.redirect(
        request, _build_url("/review/project", request) if get_project_name(request) else "/review"
    )
    # A new session: pages that still show another name cannot send anything under this one.
    return responses.set_session(request, response, responses.get_studio(request).sessions.new("owner", name))


def _build_url(path: str, request: Request) -> str:
    return f"{path}?project={quote(get_project_name(request))}"


# One item


FoundItem = tuple[ReviewItem | None, str]


def _render_found(
    request: Request, find: Callable[[Review, str], FoundItem], template: str = "review_next.html.jinja"
) -> Response:
    """The page of the item that `find` leads to, with the sentence about what was done; one visit to the project."""
    name = require_person(request)

    def look(work: ProjectSession) -> tuple[ReviewPage | None, str, ProjectSettings]:
        view, said = find(work.review, name)
        return build_review_page(work.review, name, view) if view else None, said, work.project.settings

    page, said, settings = run_in_project(request, look)
    return responses.render_fragment(
        request,
        template,
        project=get_project_name(request),
        page=page,
        said=said,
        words=_WORDS,
        source_language=settings.source_language,
        language=settings.language,
        source_name=get_language_name(settings.source_language),
        language_name=get_language_name(settings.language),
    )


def _render_item(request: Request) -> Response:
    """The page for items, with the one that is named, or without one: it then asks for the next, which is held."""
    item = request.query_params.get("item", "")
    if item:
        return _render_found(request, lambda review, name: (review.show(item, name), ""), "review_item.html.jinja")
    require_person(request)
    get_project_folder(request)
    return responses.render_page(
        request, "review_item.html.jinja", project=get_project_name(request), page="next", said=""
    )


def _render_next(request: Request) -> Response:
    """The next item, held for this person, who becomes a reviewer of the project."""

    def find(review: Review, name: str) -> FoundItem:
        review.add_reviewer(name)
        return review.take_next_item(name), ""

    return _render_found(request, find)


def _store_decision(request: Request, values: Mapping[str, str]) -> Response:
    """Store a decision and show the next item."""
    return _render_found(request, lambda review, name: _decide_item(review, name, values))


def _decide_item(review: Review, name: str, values: Mapping[str, str]) -> FoundItem:
    item, is_dropped = values.get("item", ""), values.get("verdict") == "drop"
    now = review.show(item, name).texts
    changed = {field: text for field, text in _get_texts(values).items() if now.get(field) != text and not is_dropped}
    accepted = {key.removeprefix("why:"): why for key, why in values.items() if key.startswith("why:") and why.strip()}
    verdict: ReviewVerdict = "drop" if is_dropped else "edit" if changed else "accept"
    review.decide(
        name,
        item,
        verdict,
        texts=changed,
        accepted={} if is_dropped else accepted,
        comment=values.get("comment", ""),
        shown=values.get("shown", ""),
        known=responses.parse_whole_number(values.get("known") or "0", "The number of decisions"),
        via=VIA,
    )
    # What was decided, not what comes of it with others' decisions, which this person may not know.
    return review.take_next_item(name), f"{item} is {_WORDS[verdict]}."


def _store_question(request: Request, values: Mapping[str, str]) -> Response:
    def find(review: Review, name: str) -> FoundItem:
        item = values.get("item", "")
        review.ask(name, item, values.get("question", ""))
        said = f"The question about {item} is stored; the item comes again when it is answered."
        return review.take_next_item(name), said

    return _render_found(request, find)


def _undo_decision(request: Request) -> Response:
    """Withdraw the last decision, and show its item again."""

    def find(review: Review, name: str) -> FoundItem:
        undone = review.undo(name)
        said = f"The decision on {undone.item}, {_WORDS[undone.verdict]}, is withdrawn."
        return review.show(undone.item, name), said

    return _render_found(request, find)


def _render_previous(request: Request) -> Response:
    """The item that this person decided on before the one that is shown."""
    before = request.query_params.get("item", "")

    def find(review: Review, name: str) -> FoundItem:
        earlier = review.before(name, before)
        if earlier is None:
            raise UsageError("There is no earlier item that you have decided on.")
        return review.show(earlier.item, name), f"{earlier.item}, which you decided on before."

    return _render_found(request, find)


def _check_texts(request: Request, values: Mapping[str, str]) -> Response:
    """What changed in the texts of an item, and what is wrong with them; nothing is stored."""
    name, item, texts = require_person(request), values.get("item", ""), _get_texts(values)

    def work(review: Review) -> dict[str, Any]:
        view = review.show(item, name)
        try:
            found, problem = review.check(name, item, texts), ""
        except UsageError as error:
            found, problem = [], str(error)
        changes = [
            (view.name_of(field), mark_changes(view.texts[field], text))
            for field, text in texts.items()
            if field in view.texts and text != view.texts[field]
        ]
        return {"found": found, "problem": problem, "changes": changes}

    given = {key.removeprefix("why:"): why for key, why in values.items() if key.startswith("why:")}
    return responses.render_fragment(
        request,
        "review_check.html.jinja",
        given=given,
        language=get_settings(request).language,
        **run_in_review(request, work),
    )


def _render_history(request: Request) -> Response:
    """What this person has decided, the last first."""
    name = require_person(request)
    decisions = run_in_review(request, lambda review: review.list_history(name, limit=200))
    return responses.render_page(
        request,
        "review_history.html.jinja",
        project=get_project_name(request),
        person=name,
        decisions=decisions,
        words=_WORDS,
    )


def _get_texts(values: Mapping[str, str]) -> dict[str, str]:
    return {key.removeprefix("text:"): text for key, text in values.items() if key.startswith("text:")}


@contextmanager
def _run_threads(studio: "Studio") -> Iterator[None]:
    try:
        yield
    finally:
        studio.projects.close()


STUDIO_PAGE = StudioPage(
    "Review",
    "/review",
    [
        Route("/review", _render_projects),
        Route("/review/state", _render_state),
        Route("/review/project", _render_project),
        build_form_route("/review/who", _choose_reviewer),
        Route("/review/item", _render_item),
        Route("/review/next", _render_next, methods=["POST"]),
        Route("/review/previous", _render_previous),
        build_form_route("/review/decide", _store_decision),
        build_form_route("/review/ask", _store_question),
        Route("/review/undo", _undo_decision, methods=["POST"]),
        build_form_route("/review/check", _check_texts),
        Route("/review/history", _render_history),
        *adjudication.ROUTES,
        *writing.ROUTES,
        *rating.ROUTES,
    ],
    shared=True,
    running=_run_threads,
    order=40,
)
