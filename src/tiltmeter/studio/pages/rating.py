"""The page on which people rate units, such as items, on scales.

The page shows one unit at a time. A unit has a label: the subject that it was written about. The rating tasks that hide
the label come first.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tiltmeter.making.rating.rating import RatingQuestion, RatingSession
from tiltmeter.making.review.review_views import format_field
from tiltmeter.studio import responses
from tiltmeter.studio.pages.permissions import (
    build_form_route,
    get_settings,
    get_texts,
    render_review,
    require_user_name,
    run_in_project,
    select_fields,
)
from tiltmeter.studio.pages.unread_notice import build_start_route, build_unread_notice


@dataclass(frozen=True, slots=True)
class RatingPage:
    """The page with the next question to a rater.

    Each entry of `texts` is (field, display name of the field, text). `done` is the number of ratings that the rater
    has given, and `left` the number of questions that remain.
    """

    question: RatingQuestion
    texts: list[tuple[str, str, str]]
    done: int
    left: int


def build_rating_page(rating: RatingSession, rater: str) -> RatingPage | None:
    """Build the page of the next question to a rater; return None if no question remains."""
    question = rating.take_question(rater)
    if question is None:
        return None
    texts = [(field, format_field(field), text) for field, text in question.texts.items()]
    done = sum(one.rater.casefold() == rater.casefold() for one in rating.store.list_ratings())
    return RatingPage(question, texts, done, len(rating.list_all_questions(rater)))


def _render_rating(request: Request) -> Response:
    """Render the page; before the first question, it shows the guidelines and a notice about contents."""
    if notice := build_unread_notice(request, "/review/rate/start"):
        return render_review(request, "review_rate.html.jinja", **notice)
    return _render_next_question(request, Markup(), "review_rate.html.jinja")


def _render_next_question(request: Request, notice: Markup, template: str = "review_rating.html.jinja") -> Response:
    name = require_user_name(request)
    page = run_in_project(
        request, lambda session: session.run_with_rating_session(lambda rating: build_rating_page(rating, name))
    )
    return render_review(
        request,
        template,
        person=name,
        page=page,
        notice=notice,
        language=get_settings(request).source_language,
    )


def _store_rating(request: Request, values: Mapping[str, str]) -> Response:
    name = require_user_name(request)
    unit, task, step = (values.get(field, "") for field in ("unit", "task", "step"))
    number = responses.parse_whole_number(step, "The step of the scale", 999)
    proposed = {field: text for field, text in select_fields(values, "text:").items() if text.strip()}
    run_in_project(
        request,
        lambda session: session.run_with_rating_session(
            lambda rating: rating.rate_unit(
                name, unit, task, number, values.get("comment", ""), proposed=proposed, replaces=True
            )
        ),
    )
    notice = get_texts(request)("rate.stored", unit=unit, step=step, task=task)
    return _render_next_question(request, notice)


def _undo_rating(request: Request) -> Response:
    name = require_user_name(request)
    undone = run_in_project(
        request, lambda session: session.run_with_rating_session(lambda rating: rating.undo_last_rating(name))
    )
    notice = get_texts(request)("rate.withdrawn", unit=undone.unit, task=undone.task)
    return _render_next_question(request, notice)


ROUTES = [
    Route("/review/rate", _render_rating),
    build_start_route("/review/rate/start", lambda request: _render_next_question(request, Markup())),
    build_form_route("/review/rated", _store_rating),
    Route("/review/rate/undo", _undo_rating, methods=["POST"]),
]
