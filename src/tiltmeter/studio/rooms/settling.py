"""Pages for who settles what reviewers leave: agreement, conflicts, questions, publication, a copy of the project."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from tiltmeter.errors import UsageError
from tiltmeter.making.copy_away import copy_away
from tiltmeter.making.publish import OPEN_ITEMS, OpenItems, last_edition, publish_project
from tiltmeter.making.review.review import Review
from tiltmeter.making.review.review_marks import MarkedPiece, mark_changes, mark_texts
from tiltmeter.making.review.review_rule import ReviewDecision, ReviewVerdict
from tiltmeter.making.review.review_status import summarise
from tiltmeter.making.review.review_views import ReviewConflict
from tiltmeter.reports.languages import language_name
from tiltmeter.studio import responses
from tiltmeter.studio.rooms.people import (
    VIA,
    at_work,
    form_values,
    person,
    person_needed,
    project_folder,
    project_name,
    reviewing,
    settings_of,
    settler,
)
from tiltmeter.studio.workbench import OpenWork

# The folder of a workspace to which editions are copied.
_PUBLISHED = "published"


@dataclass(frozen=True, slots=True)
class ConflictText:
    """A text of an item in conflict: source and translation, and how each reviewer changed it."""

    field: str
    name: str
    source: list[MarkedPiece]
    text: str
    by: dict[str, list[MarkedPiece]]


@dataclass(frozen=True, slots=True)
class ConflictPage:
    """An item on which reviewers do not agree, and how many such items there are."""

    item: str
    subject: str
    decisions: tuple[ReviewDecision, ...]
    texts: list[ConflictText]
    all: int


def _agreement(request: Request) -> Response:
    settler(request)
    summary = at_work(request, lambda work: summarise(work.project, work.review))
    return responses.page(request, "review_agreement.html.jinja", project=project_name(request), summary=summary)


# Conflicts


def conflict_page(conflict: ReviewConflict, of: int) -> ConflictPage:
    """An item in conflict as an adjudicator is shown it."""
    view, sources = conflict.item, mark_texts(conflict.item.source)
    texts = [
        ConflictText(
            field,
            view.name_of(field),
            sources[field],
            view.texts[field],
            {
                decision.reviewer: mark_changes(view.texts[field], decision.texts[field])
                for decision in conflict.decisions
                if field in decision.texts
            },
        )
        for field in view.source
    ]
    return ConflictPage(view.item, view.subject, conflict.decisions, texts, of)


def _next_conflict(review: Review, name: str) -> ConflictPage | None:
    conflicts = review.conflicts()
    if not conflicts:
        return None
    review.reveal(conflicts[0].item.item, name)
    return conflict_page(conflicts[0], len(conflicts))


def _conflicts(request: Request) -> Response:
    settler(request)
    return _conflict_answer(request, "", "review_conflicts.html.jinja")


def _conflict_answer(request: Request, said: str, template: str = "review_conflict.html.jinja") -> Response:
    name, settings = person_needed(request), settings_of(request)

    def look(review: Review) -> ConflictPage | None:
        review.add_reviewer(name)
        return _next_conflict(review, name)

    return responses.fragment(
        request,
        template,
        project=project_name(request),
        page=reviewing(request, look),
        said=said,
        person=name,
        source_language=settings.source_language,
        language=settings.language,
        source_name=language_name(settings.source_language),
        language_name=language_name(settings.language),
    )


async def _adjudicate(request: Request) -> Response:
    values = await form_values(request)
    return await run_in_threadpool(_adjudicated, request, values)


def _adjudicated(request: Request, values: Mapping[str, str]) -> Response:
    settler(request)
    name, item = person_needed(request), values.get("item", "")
    verdict = next((one for one in get_args(ReviewVerdict) if one == values.get("verdict")), None)
    texts = {key.removeprefix("text:"): text for key, text in values.items() if key.startswith("text:")}
    accepted = {values["code"].strip(): values.get("why", "")} if values.get("code", "").strip() else {}
    reviewing(
        request,
        lambda review: review.adjudicate(
            name,
            item,
            verdict,
            take=values.get("take") or None,
            texts=texts if verdict == "edit" else None,
            accepted=accepted,
            comment=values.get("comment", ""),
            via=VIA,
        ),
    )
    return _conflict_answer(request, f"{item} is settled.")


# Questions


def _questions(request: Request) -> Response:
    settler(request)
    return _questions_answer(request, "", "review_questions.html.jinja")


def _questions_answer(request: Request, said: str, template: str = "review_question_list.html.jinja") -> Response:
    name = person(request)

    def look(review: Review) -> list[Any]:
        return [(asked, review.view_of(asked.item)) for asked in review.questions()]

    asked = reviewing(request, look)
    language = settings_of(request).source_language
    return responses.fragment(
        request, template, project=project_name(request), asked=asked, said=said, language=language, person=name
    )


async def _answer_question(request: Request) -> Response:
    values = await form_values(request)

    def answer() -> Response:
        settler(request)
        number = values.get("number", "")
        if not number.isdecimal():
            raise UsageError("There is no question with this number.")
        by = person(request) or "the owner"
        asked = reviewing(request, lambda review: review.answer(by, int(number), values.get("answer", "")))
        return _questions_answer(request, f"The answer about {asked.item} is stored.")

    return await run_in_threadpool(answer)


# Publication and a copy


def _publish(request: Request) -> Response:
    settler(request)

    def look(work: OpenWork) -> Any:
        return last_edition(work.project), work.project.settings

    last, settings = at_work(request, look)
    return responses.page(
        request,
        "review_publish.html.jinja",
        project=project_name(request),
        last=last,
        settings=settings,
        inherited=settings.facts.licence,
        folder=f"{_PUBLISHED}/{project_name(request)}",
    )


async def _published(request: Request) -> Response:
    values = await form_values(request)

    def publish() -> Response:
        settler(request)
        chosen: OpenItems | None = next((one for one in OPEN_ITEMS if one == values.get("open")), None)
        if chosen is None:
            raise UsageError("Say what to do with items that are open.")
        workspace, name = responses.studio_of(request).workspace, project_name(request)
        workspace.project(name)
        out = workspace.path(f"{_PUBLISHED}/{name}")
        licence = values.get("licence", "").strip()
        edition = at_work(request, lambda work: publish_project(work.project, out, open_items=chosen, licence=licence))
        return responses.fragment(
            request, "review_published.html.jinja", edition=edition, folder=workspace.name_of(out)
        )

    return await run_in_threadpool(publish)


def _copy(request: Request) -> Response:
    settler(request)
    folder = project_folder(request)
    temporary = tempfile.TemporaryDirectory()
    out = Path(temporary.name) / f"{folder.name}.zip"
    try:
        copy_away(folder, out)
    except BaseException:
        temporary.cleanup()
        raise
    return FileResponse(
        out, filename=out.name, media_type="application/zip", background=BackgroundTask(temporary.cleanup)
    )


ROUTES = [
    Route("/review/agreement", _agreement),
    Route("/review/conflicts", _conflicts),
    Route("/review/adjudicate", _adjudicate, methods=["POST"]),
    Route("/review/questions", _questions),
    Route("/review/answer", _answer_question, methods=["POST"]),
    Route("/review/publish", _publish),
    Route("/review/published", _published, methods=["POST"]),
    Route("/review/copy", _copy),
]
