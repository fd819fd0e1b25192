"""The page "Review": the list of projects, and the review of one item at a time."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tiltmeter.errors import TiltmeterError, UsageError
from tiltmeter.making.item_makers import WRITTEN
from tiltmeter.making.project_settings import ProjectSettings, read_settings
from tiltmeter.making.review.review import Review
from tiltmeter.making.review.review_marks import mark_changes
from tiltmeter.making.review.review_rule import ReviewDecision, ReviewVerdict
from tiltmeter.making.review.review_views import ReviewItem
from tiltmeter.reports.language_names import get_language_name
from tiltmeter.studio import responses
from tiltmeter.studio.interface_texts import InterfaceTexts
from tiltmeter.studio.pages import StudioPage, adjudication, rating, review_items, writing
from tiltmeter.studio.pages.permissions import (
    VIA,
    build_form_route,
    build_language_values,
    can_adjudicate,
    get_project_folder,
    get_project_name,
    get_settings,
    get_texts,
    get_user_name,
    parse_seconds,
    quote_title,
    render_review,
    require_user_name,
    run_in_project,
    run_in_review,
    select_fields,
)
from tiltmeter.studio.pages.unread_notice import build_start_route, build_unread_notice
from tiltmeter.studio.project_threads import ProjectSession
from tiltmeter.studio.review_page import build_review_page, list_filled_sentences

if TYPE_CHECKING:
    from tiltmeter.studio.app import Studio


@dataclass(frozen=True, slots=True)
class ProjectCard:
    """A project in the list on the page "Review".

    `is_written` is true if people write the items, and false if the items are translated. `problem` is the reason why
    the project cannot be opened, or empty.
    """

    name: str
    title: str = ""
    language: str = ""
    is_written: bool = False
    problem: str = ""


def _render_projects(request: Request) -> Response:
    workspace = responses.get_studio(request).workspace
    cards = []
    for folder in sorted(workspace.list_projects()):
        name = workspace.get_relative_name(folder)
        try:
            settings = read_settings(folder)
        except TiltmeterError as error:
            cards.append(ProjectCard(name, problem=responses.hide_paths(request, str(error))))
        else:
            is_written = settings.system == WRITTEN
            cards.append(ProjectCard(name, settings.title or name, get_language_name(settings.language), is_written))
    return render_review(request, "review.html.jinja", cards=cards, person=get_user_name(request))


def _render_review_state(request: Request) -> Response:
    """Render the number of items in a project and the progress of the user; decisions of other people are not shown."""
    name = get_user_name(request)

    def count_items(session: ProjectSession) -> dict[str, Any]:
        counts = session.project.store.count_stages()
        items, untranslated = sum(counts.values()), counts.get("source", 0)
        return {"items": items, "untranslated": untranslated, "progress": _count_progress(session, name)}

    return render_review(request, "review_state.html.jinja", **run_in_project(request, count_items))


def _count_progress(session: ProjectSession, name: str) -> tuple[int, int] | None:
    """Return the number of items that a reviewer has decided on, and the number of items that remain.

    Return None if `name` is not the name of a reviewer of the project.
    """
    names = session.project.store.list_reviewer_names()
    reviewer = next((one for one in names if one.casefold() == name.casefold()), "")
    return session.review.count_progress(reviewer) if reviewer else None


def _render_project(request: Request) -> Response:
    """Render the page of a project, with the tasks of the user."""
    name = get_user_name(request)
    settings = get_settings(request)

    def read_project(session: ProjectSession) -> dict[str, Any]:
        return {
            "reviewers": session.project.store.list_reviewer_names(),
            "progress": _count_progress(session, name),
            "guidelines": session.review.read_guidelines(),
        }

    return render_review(
        request,
        "review_project.html.jinja",
        settings=settings,
        person=name,
        language=get_language_name(settings.language),
        is_written=settings.system == WRITTEN,
        may_settle=can_adjudicate(request),
        **run_in_project(request, read_project),
    )


def _choose_reviewer(request: Request, values: Mapping[str, str]) -> Response:
    """Set the name under which the owner of the studio reviews."""
    session = responses.get_session(request)
    if session.role != "owner":
        raise UsageError(get_texts(request)("project.login_name"))
    name = (values.get("new", "").strip() or values.get("name", "")).strip()
    if not name or len(name) > 100 or not name.isprintable():
        raise UsageError(get_texts(request)("project.choose_name"))
    project = get_project_name(request)
    response = responses.redirect(request, f"/review/project?project={quote(project)}" if project else "/review")
    # The owner gets a new session, so that pages that were opened with another name can no longer send forms.
    return responses.set_session(
        request, response, responses.get_studio(request).sessions.create_session("owner", name)
    )


# The following functions are for the review of one item.

# The item that is shown next (None if no item remains), and a notice for the user.
NextItem = tuple[ReviewItem | None, Markup]


def _render_after_action(
    request: Request, act: Callable[[Review, str], NextItem], template: str = "review_next.html.jinja"
) -> Response:
    """Call `act` with the review of the project and the name of the user; render the item and the notice it returns."""
    name = require_user_name(request)

    def build_page(session: ProjectSession) -> tuple[dict[str, Any], ProjectSettings]:
        view, notice = act(session.review, name)
        page = build_review_page(session.review, name, view) if view else None
        values = {"page": page, "notice": notice, "is_calibrating": session.review.is_calibrating()}
        return values, session.project.settings

    values, settings = run_in_project(request, build_page)
    return render_review(
        request,
        template,
        **values,
        **build_language_values(settings),
    )


def _render_item(request: Request) -> Response:
    """Render the review page with the item in the query of the request.

    If the query contains no item, render the page without an item. The page then requests the next item, which is
    reserved for the user.
    """
    item = request.query_params.get("item", "")
    if item:
        return _render_after_action(
            request, lambda review, name: (review.show_item(item, name), Markup()), "review_item.html.jinja"
        )
    require_user_name(request)
    get_project_folder(request)
    return render_review(request, "review_item.html.jinja", page="next", notice="")


def _render_next_item(request: Request) -> Response:
    """Reserve the next item for the user and render the item; the user becomes a reviewer of the project.

    Before the first item, render the guidelines and a notice about contents.
    """
    if notice := build_unread_notice(request, "/review/start"):
        return render_review(request, "review_notice.html.jinja", **notice)
    return _take_next_item(request)


def _take_next_item(request: Request) -> Response:
    def take_next(review: Review, name: str) -> NextItem:
        review.add_reviewer(name)
        return review.take_next_item(name), Markup()

    return _render_after_action(request, take_next)


def _store_decision(request: Request, values: Mapping[str, str]) -> Response:
    """Store the decision that the user sent with the form, and render the next item."""
    return _render_after_action(request, lambda review, name: _decide_item(review, name, values, get_texts(request)))


def _decide_item(review: Review, name: str, values: Mapping[str, str], t: InterfaceTexts) -> NextItem:
    item, is_dropped = values.get("item", ""), values.get("verdict") == "drop"
    view = review.show_item(item, name)
    now = view.texts
    texts = {} if is_dropped else select_fields(values, "text:")
    changed = {field: text for field, text in texts.items() if now.get(field) != text}
    accepted = {code: why for code, why in select_fields(values, "why:").items() if why.strip()}
    verdict: ReviewVerdict = "drop" if is_dropped else "edit" if changed else "accept"
    review.decide_on_item(
        name,
        item,
        verdict,
        texts=changed,
        accepted={} if is_dropped else accepted,
        comment=values.get("comment", ""),
        shown=values.get("shown", ""),
        known=responses.parse_whole_number(values.get("known") or "0", "The number of decisions"),
        seconds=parse_seconds(values),
        via=VIA,
    )
    # The notice does not contain the final state of the item, which would reveal the decisions of other reviewers.
    notice = t("item.stored", verdict=t(f"verdicts.{verdict}"), title=quote_title(view, t))
    return review.take_next_item(name), notice


def _store_question(request: Request, values: Mapping[str, str]) -> Response:
    def store_question(review: Review, name: str) -> NextItem:
        item, t = values.get("item", ""), get_texts(request)
        review.ask_question(name, item, values.get("question", ""))
        notice = t("item.asked", title=quote_title(review.get_view(item), t))
        return review.take_next_item(name), notice

    return _render_after_action(request, store_question)


def _undo_decision(request: Request) -> Response:
    """Withdraw the last decision of the user, and render the item of that decision."""

    def undo_last_decision(review: Review, name: str) -> NextItem:
        undone = review.undo_decision(name)
        view, t = review.show_item(undone.item, name), get_texts(request)
        verdict = t(f"verdicts.{undone.verdict}")
        return view, t("item.withdrawn", verdict=verdict, title=quote_title(view, t))

    return _render_after_action(request, undo_last_decision)


def _render_previous_item(request: Request) -> Response:
    """Render the item that the user decided on before the current item."""
    current = request.query_params.get("item", "")

    def show_previous_item(review: Review, name: str) -> NextItem:
        earlier = review.find_previous_decision(name, current)
        if earlier is None:
            raise UsageError(get_texts(request)("item.no_earlier"))
        return review.show_item(earlier.item, name), get_texts(request)("item.already")

    return _render_after_action(request, show_previous_item)


def _check_texts(request: Request, values: Mapping[str, str]) -> Response:
    """Render the changes that the user has made to the texts of an item in the form, and the problems of the new texts.

    Nothing is stored.
    """
    name, item, texts = require_user_name(request), values.get("item", ""), select_fields(values, "text:")

    def check_new_texts(review: Review) -> dict[str, Any]:
        view = review.show_item(item, name)
        try:
            findings, problem = review.check_texts(name, item, texts), ""
        except UsageError as error:
            findings, problem = [], str(error)
        changes = [
            (view.field_name(field), mark_changes(view.texts[field], text))
            for field, text in texts.items()
            if field in view.texts and text != view.texts[field]
        ]
        filled = list_filled_sentences(view, {**view.texts, **texts})
        return {"findings": findings, "problem": problem, "changes": changes, "filled": filled}

    return render_review(
        request,
        "review_check.html.jinja",
        given=select_fields(values, "why:"),
        language=get_settings(request).language,
        **run_in_review(request, check_new_texts),
    )


def _render_history(request: Request) -> Response:
    """Render the last 200 decisions of the user; the newest decision comes first."""
    name = require_user_name(request)

    def list_decisions(review: Review) -> list[tuple[ReviewDecision, str]]:
        return [(made, review.get_title(made.item)) for made in review.list_history(name, limit=200)]

    return render_review(
        request,
        "review_history.html.jinja",
        person=name,
        decisions=run_in_review(request, list_decisions),
        language=get_settings(request).language,
    )


@contextmanager
def _close_projects_at_end(studio: "Studio") -> Iterator[None]:
    try:
        yield
    finally:
        studio.projects.close()


STUDIO_PAGE = StudioPage(
    "Review",
    "/review",
    [
        Route("/review", _render_projects),
        Route("/review/state", _render_review_state),
        Route("/review/project", _render_project),
        build_form_route("/review/who", _choose_reviewer),
        Route("/review/item", _render_item),
        Route("/review/next", _render_next_item, methods=["POST"]),
        build_start_route("/review/start", _take_next_item),
        Route("/review/previous", _render_previous_item),
        build_form_route("/review/decide", _store_decision),
        build_form_route("/review/ask", _store_question),
        Route("/review/undo", _undo_decision, methods=["POST"]),
        build_form_route("/review/check", _check_texts),
        Route("/review/history", _render_history),
        *adjudication.ROUTES,
        *review_items.ROUTES,
        *writing.ROUTES,
        *rating.ROUTES,
    ],
    shared=True,
    running=_close_projects_at_end,
    order=40,
)
