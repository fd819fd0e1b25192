"""Rating on declared scales: one unit at a time, blind tasks before those that show the label."""

from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tiltmeter.making.rating.rating import RatingQuestion, RatingSession
from tiltmeter.making.review.review_views import format_field
from tiltmeter.studio import responses
from tiltmeter.studio.pages.permissions import (
    get_project_name,
    get_settings,
    read_form_values,
    require_person,
    run_in_project,
)


@dataclass(frozen=True, slots=True)
class RatingPage:
    """What a rater is asked, and how many ratings they have made and can still make."""

    question: RatingQuestion
    texts: list[tuple[str, str, str]]
    done: int
    left: int


def build_rating_page(rating: RatingSession, rater: str) -> RatingPage | None:
    """What a rater is asked next; None if nothing is left for them."""
    question = rating.take_question(rater)
    if question is None:
        return None
    texts = [(field, format_field(field), text) for field, text in question.texts.items()]
    done = sum(given.rater.casefold() == rater.casefold() for given in rating.store.list_ratings())
    return RatingPage(question, texts, done, len(rating.questions(rater)))


def _render_rating(request: Request) -> Response:
    return _render_unit(request, "", "review_rate.html.jinja")


def _render_unit(request: Request, said: str, template: str = "review_rating.html.jinja") -> Response:
    name = require_person(request)
    shown = run_in_project(request, lambda work: work.rate(lambda rating: build_rating_page(rating, name)))
    return responses.render_fragment(
        request,
        template,
        project=get_project_name(request),
        person=name,
        page=shown,
        said=said,
        language=get_settings(request).source_language,
    )


async def _store_rating(request: Request) -> Response:
    values = await read_form_values(request)

    def store() -> Response:
        name, unit, task, step = (
            require_person(request),
            values.get("unit", ""),
            values.get("task", ""),
            values.get("step", ""),
        )
        number = responses.parse_whole_number(step, "The step of a scale", 999)
        proposed = {
            key.removeprefix("text:"): text for key, text in values.items() if key.startswith("text:") and text.strip()
        }
        run_in_project(
            request,
            lambda work: work.rate(
                lambda rating: rating.rate(
                    name, unit, task, number, values.get("comment", ""), proposed=proposed, replaces=True
                )
            ),
        )
        return _render_unit(request, f"{unit} is rated {step} in {task}.")

    return await run_in_threadpool(store)


def _undo_rating(request: Request) -> Response:
    name = require_person(request)
    undone = run_in_project(request, lambda work: work.rate(lambda rating: rating.undo(name)))
    return _render_unit(request, f"The rating of {undone.unit} in {undone.task} is withdrawn.")


ROUTES = [
    Route("/review/rate", _render_rating),
    Route("/review/rated", _store_rating, methods=["POST"]),
    Route("/review/rate/undo", _undo_rating, methods=["POST"]),
]
