"""Pages for who settles what reviewers leave: agreement, conflicts, questions, publication, a copy of the project."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, get_args

from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from tiltmeter.errors import UsageError
from tiltmeter.files import create_temporary_folder
from tiltmeter.making.project import open_project
from tiltmeter.making.project_archive import archive_project
from tiltmeter.making.publication import OPEN_ITEMS, OpenItems, find_last_edition, publish_project
from tiltmeter.making.review.review import Review
from tiltmeter.making.review.review_marks import MarkedPiece, mark_changes, mark_texts
from tiltmeter.making.review.review_rule import ReviewDecision, ReviewVerdict
from tiltmeter.making.review.review_status import summarise_review
from tiltmeter.making.review.review_views import ConflictChangedError, ReviewConflict
from tiltmeter.reports.language_names import get_language_name
from tiltmeter.studio import responses
from tiltmeter.studio.pages.permissions import (
    VIA,
    get_person,
    get_project_folder,
    get_project_name,
    get_settings,
    read_form_values,
    require_adjudicator,
    require_person,
    run_in_project,
    run_in_review,
)
from tiltmeter.studio.project_threads import ProjectSession
from tiltmeter.studio.responses import parse_whole_number

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
    """An item on which reviewers do not agree, and how many such items there are.

    `seen` identifies the decisions; `written` are fields of the form that the adjudicator has filled in before.
    """

    item: str
    subject: str
    seen: str
    decisions: tuple[ReviewDecision, ...]
    texts: list[ConflictText]
    all: int
    written: Mapping[str, str]

    @property
    def is_edited(self) -> bool:
        """Whether the adjudicator has written another text."""
        return any(self.written.get(f"text:{text.field}", text.text) != text.text for text in self.texts)


def _render_agreement(request: Request) -> Response:
    require_adjudicator(request)
    progress = run_in_review(request, lambda review: review.progress())
    # In this thread, since it takes seconds: reviewers do not wait for it.
    with open_project(get_project_folder(request)) as project:
        summary = summarise_review(project, progress)
    return responses.render_page(
        request, "review_agreement.html.jinja", project=get_project_name(request), summary=summary
    )


# Conflicts


def build_conflict_page(conflict: ReviewConflict, of: int, written: Mapping[str, str]) -> ConflictPage:
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
    return ConflictPage(view.item, view.subject, conflict.seen, conflict.decisions, texts, of, written)


def _reveal_conflict(
    review: Review, name: str, item: str = "", written: Mapping[str, str] | None = None
) -> ConflictPage | None:
    """The page of an item, or of the first in conflict, if there is any; that its decisions are shown is recorded."""
    items = review.list_conflict_items()
    chosen = item or next(iter(items), "")
    if not chosen:
        return None
    review.reveal(chosen, name)
    return build_conflict_page(review.get_conflict(chosen), len(items), written or {})


def _render_conflicts(request: Request) -> Response:
    """The page for conflicts, without one; it then asks for the first, which is recorded."""
    require_adjudicator(request)
    require_person(request)
    get_project_folder(request)
    return responses.render_page(request, "review_conflicts.html.jinja", project=get_project_name(request))


def _render_first_conflict(request: Request) -> Response:
    require_adjudicator(request)
    name = require_person(request)

    def look(review: Review) -> ConflictPage | None:
        review.add_reviewer(name)
        return _reveal_conflict(review, name)

    return _render_conflict(request, run_in_review(request, look), "")


def _render_conflict(request: Request, page: ConflictPage | None, said: str) -> Response:
    name, settings = require_person(request), get_settings(request)
    return responses.render_fragment(
        request,
        "review_conflict.html.jinja",
        project=get_project_name(request),
        page=page,
        said=said,
        person=name,
        source_language=settings.source_language,
        language=settings.language,
        source_name=get_language_name(settings.source_language),
        language_name=get_language_name(settings.language),
    )


async def _adjudicate(request: Request) -> Response:
    values = await read_form_values(request)
    return await run_in_threadpool(_store_adjudication, request, values)


def _store_adjudication(request: Request, values: Mapping[str, str]) -> Response:
    require_adjudicator(request)
    name, item = require_person(request), values.get("item", "")
    verdict = next((one for one in get_args(ReviewVerdict) if one == values.get("verdict")), None)
    texts = {key.removeprefix("text:"): text for key, text in values.items() if key.startswith("text:")}
    accepted = {values["code"].strip(): values.get("why", "")} if values.get("code", "").strip() else {}

    def work(review: Review) -> tuple[ConflictPage | None, str]:
        review.add_reviewer(name)
        try:
            review.adjudicate(
                name,
                item,
                verdict,
                take=values.get("take") or None,
                texts=texts if verdict == "edit" else None,
                accepted=accepted,
                comment=values.get("comment", ""),
                seen=values.get("seen", ""),
                via=VIA,
            )
        except ConflictChangedError:
            said = (
                f"Nothing is stored: the decisions on {item} changed while you looked at them. This is how they are "
                "now; what you wrote is kept."
            )
            return _reveal_conflict(review, name, item, values), said
        return _reveal_conflict(review, name), f"{item} is settled."

    page, said = run_in_review(request, work)
    return _render_conflict(request, page, said)


# Questions


def _render_questions(request: Request) -> Response:
    require_adjudicator(request)
    return _render_question_list(request, "", "review_questions.html.jinja")


def _render_question_list(request: Request, said: str, template: str = "review_question_list.html.jinja") -> Response:
    name = get_person(request)

    def look(review: Review) -> list[Any]:
        return [(asked, review.get_view(asked.item)) for asked in review.questions()]

    asked = run_in_review(request, look)
    language = get_settings(request).source_language
    return responses.render_fragment(
        request, template, project=get_project_name(request), asked=asked, said=said, language=language, person=name
    )


async def _answer_question(request: Request) -> Response:
    values = await read_form_values(request)

    def answer() -> Response:
        require_adjudicator(request)
        number = parse_whole_number(values.get("number", ""), "The number of a question")
        by = get_person(request) or "the owner"
        asked = run_in_review(request, lambda review: review.answer(by, number, values.get("answer", "")))
        return _render_question_list(request, f"The answer about {asked.item} is stored.")

    return await run_in_threadpool(answer)


# Publication and a copy


def _render_publish(request: Request) -> Response:
    require_adjudicator(request)

    def look(work: ProjectSession) -> Any:
        return find_last_edition(work.project), work.project.settings

    last, settings = run_in_project(request, look)
    return responses.render_page(
        request,
        "review_publish.html.jinja",
        project=get_project_name(request),
        last=last,
        settings=settings,
        inherited=settings.facts.licence,
        folder=f"{_PUBLISHED}/{get_project_name(request)}",
    )


async def _publish_edition(request: Request) -> Response:
    values = await read_form_values(request)

    def publish() -> Response:
        require_adjudicator(request)
        chosen: OpenItems | None = next((one for one in OPEN_ITEMS if one == values.get("open")), None)
        if chosen is None:
            raise UsageError("Say what to do with items that are open.")
        workspace, name = responses.get_studio(request).workspace, get_project_name(request)
        workspace.project(name)
        out = workspace.path(f"{_PUBLISHED}/{name}")
        licence = values.get("licence", "").strip()
        # In this thread, since it takes seconds; it holds the project's lock, as the command does.
        with open_project(get_project_folder(request)) as project:
            edition = publish_project(project, out, open_items=chosen, licence=licence)
        return responses.render_fragment(
            request, "review_published.html.jinja", edition=edition, folder=workspace.name_of(out)
        )

    return await run_in_threadpool(publish)


def _serve_copy(request: Request) -> Response:
    """The project as one file. It has all decisions, so who gets it is recorded, as on the page for conflicts.

    The owner, who can open the files, need not say who they are.
    """
    require_adjudicator(request)
    folder, name = get_project_folder(request), get_person(request)
    temporary = ExitStack()
    out = temporary.enter_context(create_temporary_folder()) / f"{folder.name}.zip"
    try:
        archive_project(folder, out)
        if name:  # after the copy: it has no decision that is not recorded
            run_in_review(request, lambda review: review.reveal_all(name))
    except BaseException:
        temporary.close()
        raise
    return FileResponse(
        out, filename=out.name, media_type="application/zip", background=BackgroundTask(temporary.close)
    )


ROUTES = [
    Route("/review/agreement", _render_agreement),
    Route("/review/conflicts", _render_conflicts),
    Route("/review/conflict", _render_first_conflict, methods=["POST"]),
    Route("/review/adjudicate", _adjudicate, methods=["POST"]),
    Route("/review/questions", _render_questions),
    Route("/review/answer", _answer_question, methods=["POST"]),
    Route("/review/publish", _render_publish),
    Route("/review/published", _publish_edition, methods=["POST"]),
    Route("/review/copy", _serve_copy),
]
