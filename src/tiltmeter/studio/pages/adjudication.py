"""Pages for adjudicators: agreement, conflicts, questions, publication, and a download of the project."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, get_args
from urllib.parse import quote

from markupsafe import Markup
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from tiltmeter.errors import UsageError
from tiltmeter.files import create_temporary_folder
from tiltmeter.making.project import open_project
from tiltmeter.making.project_archive import archive_project
from tiltmeter.making.publication import OPEN_ITEMS, OpenItems, find_last_edition, publish_project
from tiltmeter.making.review.assignment import open_items, summarise_calibration
from tiltmeter.making.review.review import Review
from tiltmeter.making.review.review_marks import MarkedPiece, mark_changes, mark_texts
from tiltmeter.making.review.review_rule import ReviewDecision, ReviewVerdict
from tiltmeter.making.review.review_status import summarise_review
from tiltmeter.making.review.review_times import estimate_hours_left
from tiltmeter.making.review.review_views import ConflictChangedError, ReviewConflict, ReviewItem
from tiltmeter.studio import responses
from tiltmeter.studio.pages.permissions import (
    VIA,
    build_form_route,
    build_language_values,
    get_project_folder,
    get_project_name,
    get_settings,
    get_texts,
    get_user_name,
    quote_title,
    render_review,
    require_adjudicator,
    require_user_name,
    run_in_project,
    run_in_review,
    select_fields,
)
from tiltmeter.studio.project_threads import ProjectSession
from tiltmeter.studio.responses import parse_whole_number

# The name of the folder in a workspace to which test sets are published.
_PUBLISHED = "published"


@dataclass(frozen=True, slots=True)
class ConflictText:
    """One text of an item on which reviewers disagree.

    `source` is the source text, and `text` its translation. `by` maps the name of each reviewer to the changes that the
    reviewer made to the translation.
    """

    field: str
    name: str
    source: list[MarkedPiece]
    text: str
    by: dict[str, list[MarkedPiece]]


@dataclass(frozen=True, slots=True)
class ConflictPage:
    """The page of an item on which reviewers disagree; `all` is the number of all such items in the project.

    `seen` identifies the decisions that the page shows. `written` are the fields of the form that the adjudicator has
    already filled in.
    """

    item: str
    title: str
    subject: str
    seen: str
    decisions: tuple[ReviewDecision, ...]
    texts: list[ConflictText]
    all: int
    written: Mapping[str, str]

    @property
    def is_edited(self) -> bool:
        """Return whether the adjudicator has changed a text in the form."""
        return any(self.written.get(f"text:{text.field}", text.text) != text.text for text in self.texts)


def _render_agreement(request: Request) -> Response:
    require_adjudicator(request)
    progress = run_in_review(request, lambda review: review.count_states())
    # The summary takes seconds. It is computed in the thread of the request and not in the thread of the project, so
    # that requests of reviewers do not have to wait.
    with open_project(get_project_folder(request)) as project:
        summary, calibration = summarise_review(project, progress), summarise_calibration(project)
    hours = estimate_hours_left(summary.times, progress.missing) if summary else None
    return render_review(
        request, "review_agreement.html.jinja", summary=summary, hours_left=hours, calibration=calibration
    )


def _open_items(request: Request) -> Response:
    """Open the items that are closed during the calibration round."""
    require_adjudicator(request)
    run_in_project(request, lambda session: open_items(session.project))
    return responses.redirect(request, f"/review/agreement?project={quote(get_project_name(request))}")


# The following functions are for conflicts.


def build_conflict_page(conflict: ReviewConflict, count: int, written: Mapping[str, str]) -> ConflictPage:
    """Build the page of an item on which reviewers disagree; `count` is the number of such items."""
    view, sources = conflict.item, mark_texts(conflict.item.source)
    texts = [
        ConflictText(
            field,
            view.field_name(field),
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
    return ConflictPage(view.item, view.title, view.subject, conflict.digest, conflict.decisions, texts, count, written)


def _reveal_conflict(
    review: Review, name: str, item: str = "", written: Mapping[str, str] | None = None
) -> ConflictPage | None:
    """Build the conflict page of `item`, and record that the user `name` has seen all decisions on the item.

    If `item` is empty, use the first item on which reviewers disagree; return None if there is no such item.
    """
    items = review.list_conflict_items()
    chosen = item or next((one for one in items if review.may_settle_conflict(one, name)), "")
    if not chosen:
        return None
    review.record_reveal(chosen, name)
    return build_conflict_page(review.get_conflict(chosen), len(items), written or {})


def _render_conflicts(request: Request) -> Response:
    """Render the page "Conflicts" without an item.

    The page then requests the first item with POST, because the request changes the project: it is recorded that the
    user has seen the decisions on the item.
    """
    require_adjudicator(request)
    require_user_name(request)
    get_project_folder(request)
    return render_review(request, "review_conflicts.html.jinja")


def _render_first_conflict(request: Request) -> Response:
    require_adjudicator(request)
    name = require_user_name(request)

    def reveal_first(review: Review) -> ConflictPage | None:
        review.add_reviewer(name)
        return _reveal_conflict(review, name)

    return _render_conflict(request, run_in_review(request, reveal_first), Markup())


def _render_conflict(request: Request, page: ConflictPage | None, notice: Markup) -> Response:
    name, settings = require_user_name(request), get_settings(request)
    own = run_in_review(request, lambda review: len(review.list_conflict_items())) if page is None else 0
    return render_review(
        request,
        "review_conflict.html.jinja",
        own=own,
        page=page,
        notice=notice,
        person=name,
        **build_language_values(settings),
    )


def _store_adjudication(request: Request, values: Mapping[str, str]) -> Response:
    require_adjudicator(request)
    name, item = require_user_name(request), values.get("item", "")
    verdict = next((one for one in get_args(ReviewVerdict) if one == values.get("verdict")), None)
    texts, t = select_fields(values, "text:"), get_texts(request)
    accepted = {values["code"].strip(): values.get("why", "")} if values.get("code", "").strip() else {}

    def adjudicate(review: Review) -> tuple[ConflictPage | None, Markup]:
        review.add_reviewer(name)
        try:
            review.settle_conflict(
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
            return _reveal_conflict(review, name, item, values), t("conflicts.changed")
        notice = t("conflicts.settled", title=quote_title(review.get_view(item), t))
        return _reveal_conflict(review, name), notice

    page, notice = run_in_review(request, adjudicate)
    return _render_conflict(request, page, notice)


# The following functions are for questions of reviewers.


def _render_questions(request: Request) -> Response:
    require_adjudicator(request)
    return _render_question_list(request, Markup(), "review_questions.html.jinja")


def _render_question_list(
    request: Request, notice: Markup, template: str = "review_question_list.html.jinja"
) -> Response:
    def list_questions(review: Review) -> list[Any]:
        return [(question, review.get_view(question.item)) for question in review.list_unanswered_questions()]

    return render_review(
        request,
        template,
        questions=run_in_review(request, list_questions),
        notice=notice,
        language=get_settings(request).source_language,
        target_language=get_settings(request).language,
        person=get_user_name(request),
    )


def _answer_question(request: Request, values: Mapping[str, str]) -> Response:
    require_adjudicator(request)
    number = parse_whole_number(values.get("number", ""), "The number of a question")
    by = get_user_name(request) or "the owner"

    def store_answer(review: Review) -> ReviewItem:
        return review.get_view(review.answer_question(by, number, values.get("answer", "")).item)

    t, view = get_texts(request), run_in_review(request, store_answer)
    return _render_question_list(request, t("questions.stored", title=quote_title(view, t)))


# The following functions are for publication and download.


def _render_publish(request: Request) -> Response:
    require_adjudicator(request)

    def read_project(session: ProjectSession) -> Any:
        return find_last_edition(session.project), session.project.settings

    last, settings = run_in_project(request, read_project)
    return render_review(
        request,
        "review_publish.html.jinja",
        last=last,
        settings=settings,
        inherited=settings.facts.licence,
        folder=f"{_PUBLISHED}/{get_project_name(request)}",
    )


def _publish_edition(request: Request, values: Mapping[str, str]) -> Response:
    require_adjudicator(request)
    chosen: OpenItems | None = next((one for one in OPEN_ITEMS if one == values.get("open")), None)
    if chosen is None:
        raise UsageError(get_texts(request)("publish.choose_open"))
    workspace, name = responses.get_studio(request).workspace, get_project_name(request)
    workspace.get_project_folder(name)
    out = workspace.resolve_path(f"{_PUBLISHED}/{name}")
    licence = values.get("licence", "").strip()
    # Publishing takes seconds, so it runs in the thread of the request. Meanwhile, it holds the lock of the project.
    with open_project(get_project_folder(request)) as project:
        edition = publish_project(project, out, open_items=chosen, licence=licence)
    return render_review(
        request, "review_published.html.jinja", edition=edition, folder=workspace.get_relative_name(out)
    )


def _serve_copy(request: Request) -> Response:
    """Send the project as one ZIP file, and record that the user has access to all decisions.

    If the owner of the studio has not chosen a name, nothing is recorded: the owner can read the files anyway.
    """
    require_adjudicator(request)
    folder, name = get_project_folder(request), get_user_name(request)
    temporary = ExitStack()
    out = temporary.enter_context(create_temporary_folder()) / f"{folder.name}.zip"
    try:
        archive_project(folder, out)
        # This is recorded after the copy is made, so that the record covers all decisions in the copy.
        if name:
            run_in_review(request, lambda review: review.record_reveal_of_all(name))
    except BaseException:
        temporary.close()
        raise
    return FileResponse(
        out, filename=out.name, media_type="application/zip", background=BackgroundTask(temporary.close)
    )


ROUTES = [
    Route("/review/agreement", _render_agreement),
    Route("/review/open", _open_items, methods=["POST"]),
    Route("/review/conflicts", _render_conflicts),
    Route("/review/conflict", _render_first_conflict, methods=["POST"]),
    build_form_route("/review/adjudicate", _store_adjudication),
    Route("/review/questions", _render_questions),
    build_form_route("/review/answer", _answer_question),
    Route("/review/publish", _render_publish),
    build_form_route("/review/published", _publish_edition),
    Route("/review/copy", _serve_copy),
]
