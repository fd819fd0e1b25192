"""Rating on declared scales: one unit at a time, blind tasks before those that show the label."""

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tiltmeter.making.rating.rating import Rating, RatingQuestion
from tiltmeter.making.review.review_views import plain_field
from tiltmeter.studio import responses
from tiltmeter.studio.rooms.people import at_work, form_route, person_needed, project_name, settings_of


@dataclass(frozen=True, slots=True)
class RatingPage:
    """What a rater is asked, and how many ratings they have made and can still make."""

    question: RatingQuestion
    texts: list[tuple[str, str, str]]
    done: int
    left: int


def rating_page(rating: Rating, rater: str) -> RatingPage | None:
    """What a rater is asked next; None if nothing is left for them."""
    question = rating.next_question(rater)
    if question is None:
        return None
    texts = [(field, plain_field(field), text) for field, text in question.texts.items()]
    done = sum(given.rater.casefold() == rater.casefold() for given in rating.store.ratings())
    return RatingPage(question, texts, done, len(rating.questions(rater)))


def _rate(request: Request) -> Response:
    return _answer(request, "", "review_rate.html.jinja")


def _answer(request: Request, said: str, template: str = "review_rating.html.jinja") -> Response:
    name = person_needed(request)
    shown = at_work(request, lambda work: work.rate(lambda rating: rating_page(rating, name)))
    return responses.fragment(
        request,
        template,
        project=project_name(request),
        person=name,
        page=shown,
        said=said,
        language=settings_of(request).source_language,
    )


def _store(request: Request, values: Mapping[str, str]) -> Response:
    name, unit, task, step = (
        person_needed(request),
        values.get("unit", ""),
        values.get("task", ""),
        values.get("step", ""),
    )
    number = responses.whole_number(step, "The step of a scale", 999)
    proposed = {
        key.removeprefix("text:"): text for key, text in values.items() if key.startswith("text:") and text.strip()
    }
    at_work(
        request,
        lambda work: work.rate(
            lambda rating: rating.rate(
                name, unit, task, number, values.get("comment", ""), proposed=proposed, replaces=True
            )
        ),
    )
    return _answer(request, f"{unit} is rated {step} in {task}.")


def _undo(request: Request) -> Response:
    name = person_needed(request)
    undone = at_work(request, lambda work: work.rate(lambda rating: rating.undo(name)))
    return _answer(request, f"The rating of {undone.unit} in {undone.task} is withdrawn.")


ROUTES = [
    Route("/review/rate", _rate),
    form_route("/review/rated", _store),
    Route("/review/rate/undo", _undo, methods=["POST"]),
]
