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
from tiltmeter.making.review.review import Review
from tiltmeter.making.review.review_marks import mark_changes
from tiltmeter.making.review.review_rule import ReviewVerdict
from tiltmeter.making.review.review_views import ReviewItem
from tiltmeter.making.settings import Settings, read_settings
from tiltmeter.reports.languages import language_name
from tiltmeter.studio import responses
from tiltmeter.studio.review_page import ReviewPage, review_page
from tiltmeter.studio.rooms import StudioPage, rating, settling, writing
from tiltmeter.studio.rooms.people import (
    VIA,
    at_work,
    form_route,
    may_settle,
    person,
    person_needed,
    project_folder,
    project_name,
    reviewing,
    settings_of,
)
from tiltmeter.studio.workbench import OpenWork

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


def _projects(request: Request) -> Response:
    workspace = responses.studio_of(request).workspace
    cards = []
    for folder in sorted(workspace.projects()):
        name = workspace.name_of(folder)
        try:
            settings = read_settings(folder)
        except TiltmeterError as error:
            cards.append(ProjectCard(name, problem=responses.shown_sentence(request, str(error))))
        else:
            is_written = settings.system == WRITTEN
            cards.append(ProjectCard(name, settings.title or name, language_name(settings.language), is_written))
    return responses.page(request, "review.html.jinja", cards=cards, person=person(request))


def _state(request: Request) -> Response:
    """How far a project is, and this person in it; nothing about what others decided."""
    name = person(request)

    def look(work: OpenWork) -> dict[str, Any]:
        counts = work.project.store.stage_counts()
        items, untranslated = sum(counts.values()), counts.get("source", 0)
        return {"items": items, "untranslated": untranslated, "progress": _progress(work, name)}

    return responses.fragment(request, "review_state.html.jinja", **at_work(request, look))


def _progress(work: OpenWork, name: str) -> tuple[int, int] | None:
    """How many items somebody has decided on and has left; None for who is no reviewer of the project."""
    known = next((one for one in work.project.store.reviewer_names() if one.casefold() == name.casefold()), "")
    return work.review.progress_of(known) if known else None


def _project(request: Request) -> Response:
    """A project: what this person can do in it."""
    name = person(request)
    settings = settings_of(request)

    def look(work: OpenWork) -> dict[str, Any]:
        return {
            "reviewers": work.project.store.reviewer_names(),
            "progress": _progress(work, name),
            "guidelines": work.review.guidelines(),
        }

    return responses.page(
        request,
        "review_project.html.jinja",
        project=project_name(request),
        settings=settings,
        person=name,
        language=language_name(settings.language),
        is_written=settings.system == WRITTEN,
        may_settle=may_settle(request),
        **at_work(request, look),
    )


def _who(request: Request, values: Mapping[str, str]) -> Response:
    """The owner says which reviewer they are, and becomes one if they were not."""
    session = responses.session_of(request)
    if session.role != "owner":
        raise UsageError("Your name is the one that you logged in with.")
    name = (values.get("new", "").strip() or values.get("name", "")).strip()
    if not name or len(name) > 100 or not name.isprintable():
        raise UsageError("Choose a name, or give a new one of at most 100 characters.")
    response = responses.go_to(request, _url("/review/project", request) if project_name(request) else "/review")
    # A new session: pages that still show another name cannot send anything under this one.
    return responses.set_session(request, response, responses.studio_of(request).sessions.new("owner", name))


def _url(path: str, request: Request) -> str:
    return f"{path}?project={quote(project_name(request))}"


# One item


Found = tuple[ReviewItem | None, str]


def _shown(
    request: Request, find: Callable[[Review, str], Found], template: str = "review_next.html.jinja"
) -> Response:
    """The page of the item that `find` leads to, with the sentence about what was done; one visit to the project."""
    name = person_needed(request)

    def look(work: OpenWork) -> tuple[ReviewPage | None, str, Settings]:
        view, said = find(work.review, name)
        return review_page(work.review, name, view) if view else None, said, work.project.settings

    page, said, settings = at_work(request, look)
    return responses.fragment(
        request,
        template,
        project=project_name(request),
        page=page,
        said=said,
        words=_WORDS,
        source_language=settings.source_language,
        language=settings.language,
        source_name=language_name(settings.source_language),
        language_name=language_name(settings.language),
    )


def _item(request: Request) -> Response:
    """The page for items, with the one that is named, or without one: it then asks for the next, which is held."""
    item = request.query_params.get("item", "")
    if item:
        return _shown(request, lambda review, name: (review.show(item, name), ""), "review_item.html.jinja")
    person_needed(request)
    project_folder(request)
    return responses.page(request, "review_item.html.jinja", project=project_name(request), page="next", said="")


def _next(request: Request) -> Response:
    """The next item, held for this person, who becomes a reviewer of the project."""

    def find(review: Review, name: str) -> Found:
        review.add_reviewer(name)
        return review.next_item(name), ""

    return _shown(request, find)


def _decide(request: Request, values: Mapping[str, str]) -> Response:
    """Store a decision and show the next item."""
    return _shown(request, lambda review, name: _decided(review, name, values))


def _decided(review: Review, name: str, values: Mapping[str, str]) -> Found:
    item, is_dropped = values.get("item", ""), values.get("verdict") == "drop"
    now = review.show(item, name).texts
    changed = {field: text for field, text in _texts(values).items() if now.get(field) != text and not is_dropped}
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
        known=responses.whole_number(values.get("known") or "0", "The number of decisions"),
        via=VIA,
    )
    # What was decided, not what comes of it with others' decisions, which this person may not know.
    return review.next_item(name), f"{item} is {_WORDS[verdict]}."


def _ask(request: Request, values: Mapping[str, str]) -> Response:
    def find(review: Review, name: str) -> Found:
        item = values.get("item", "")
        review.ask(name, item, values.get("question", ""))
        said = f"The question about {item} is stored; the item comes again when it is answered."
        return review.next_item(name), said

    return _shown(request, find)


def _undo(request: Request) -> Response:
    """Withdraw the last decision, and show its item again."""

    def find(review: Review, name: str) -> Found:
        undone = review.undo(name)
        said = f"The decision on {undone.item}, {_WORDS[undone.verdict]}, is withdrawn."
        return review.show(undone.item, name), said

    return _shown(request, find)


def _previous(request: Request) -> Response:
    """The item that this person decided on before the one that is shown."""
    before = request.query_params.get("item", "")

    def find(review: Review, name: str) -> Found:
        earlier = review.before(name, before)
        if earlier is None:
            raise UsageError("There is no earlier item that you have decided on.")
        return review.show(earlier.item, name), f"{earlier.item}, which you decided on before."

    return _shown(request, find)


def _check(request: Request, values: Mapping[str, str]) -> Response:
    """What changed in the texts of an item, and what is wrong with them; nothing is stored."""
    name, item, texts = person_needed(request), values.get("item", ""), _texts(values)

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
    return responses.fragment(
        request,
        "review_check.html.jinja",
        given=given,
        language=settings_of(request).language,
        **reviewing(request, work),
    )


def _history(request: Request) -> Response:
    """What this person has decided, the last first."""
    name = person_needed(request)
    decisions = reviewing(request, lambda review: review.history(name, limit=200))
    return responses.page(
        request,
        "review_history.html.jinja",
        project=project_name(request),
        person=name,
        decisions=decisions,
        words=_WORDS,
    )


def _texts(values: Mapping[str, str]) -> dict[str, str]:
    return {key.removeprefix("text:"): text for key, text in values.items() if key.startswith("text:")}


@contextmanager
def _running(studio: "Studio") -> Iterator[None]:
    try:
        yield
    finally:
        studio.workbench.close()


STUDIO_PAGE = StudioPage(
    "Review",
    "/review",
    [
        Route("/review", _projects),
        Route("/review/state", _state),
        Route("/review/project", _project),
        form_route("/review/who", _who),
        Route("/review/item", _item),
        Route("/review/next", _next, methods=["POST"]),
        Route("/review/previous", _previous),
        form_route("/review/decide", _decide),
        form_route("/review/ask", _ask),
        Route("/review/undo", _undo, methods=["POST"]),
        form_route("/review/check", _check),
        Route("/review/history", _history),
        *settling.ROUTES,
        *writing.ROUTES,
        *rating.ROUTES,
    ],
    shared=True,
    running=_running,
    order=40,
)
