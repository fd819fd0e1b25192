"""Writing items against quotas: what is left to write about each subject, and a form with checks at once."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tiltmeter.errors import UsageError
from tiltmeter.forms import get_form
from tiltmeter.making.item_makers import TRANSLATION
from tiltmeter.making.project_settings import ProjectSettings
from tiltmeter.making.review.review_views import format_field
from tiltmeter.making.writing.writing_checks import check_written_item, list_missing_checks
from tiltmeter.making.writing.writing_plan import WritingSubject
from tiltmeter.making.writing.written_items import add_written_item, count_written, load_writing_plan
from tiltmeter.reports.language_names import get_language_name
from tiltmeter.studio import responses
from tiltmeter.studio.pages.permissions import (
    get_project_name,
    get_settings,
    read_form_values,
    require_person,
    run_in_project,
)
from tiltmeter.studio.project_threads import ProjectSession

# Of an item's fields, those that the project or the subject gives.
_GIVEN = {"id", "language", "stereotype", "side", "stereotype_name", "sub_stereotype", "translator", "original"}
# Forms whose items have more than texts; they are written as JSON.
_NESTED = ("association",)


@dataclass(frozen=True, slots=True)
class SubjectLine:
    """A subject, and how many items about it this writer has written."""

    subject: WritingSubject
    written: int

    @property
    def left(self) -> int:
        """The items that are still to be written."""
        return max(0, self.subject.quota - self.written)


@dataclass(frozen=True, slots=True)
class WritingField:
    """A text to be written, with its language."""

    name: str
    label: str
    language: str


def list_writing_fields(settings: ProjectSettings) -> list[WritingField]:
    """The texts of an item that people write; empty for forms whose items are written as JSON."""
    form = get_form(settings.form)
    if form.name in _NESTED:
        return []
    names = [name for name in form.keys if name not in _GIVEN and name != form.subject]
    fields = [WritingField(name, format_field(name), settings.source_language) for name in names]
    if form.name == "gest":
        label = f"translation into {get_language_name(settings.language)}, which shows a gender"
        fields.append(WritingField(TRANSLATION, label, settings.language))
    return fields


def _render_writing(request: Request) -> Response:
    return _render_subjects(request, request.query_params.get("about", ""), "", "review_write.html.jinja")


def _render_subjects(request: Request, about: str, said: str, template: str = "review_writing.html.jinja") -> Response:
    name, settings = require_person(request), get_settings(request)

    def look(work: ProjectSession) -> tuple[list[SubjectLine], bool]:
        plan, counts = load_writing_plan(work.project), count_written(work.project)
        known = next((one for one in plan.writers if one.casefold() == name.casefold()), "")
        return [SubjectLine(subject, counts[known, subject.key]) for subject in plan.subjects], bool(known)

    lines, is_writer = run_in_project(request, look)
    chosen = next((line for line in lines if line.subject.key == about), None)
    if chosen is None and is_writer:
        chosen = next((line for line in lines if line.left), lines[0])
    return responses.render_fragment(
        request,
        template,
        project=get_project_name(request),
        person=name,
        lines=lines,
        chosen=chosen,
        is_writer=is_writer,
        fields=list_writing_fields(settings),
        unchecked=list_missing_checks(settings),
        language=settings.language,
        said=said,
    )


def _get_values(values: Mapping[str, str], settings: ProjectSettings) -> dict[str, object]:
    """What was written, by field."""
    if not list_writing_fields(settings):
        try:
            found = json.loads(values.get("json", ""))
        except ValueError as error:
            raise UsageError(f"This is not a JSON object: {error}.") from error
        if not isinstance(found, dict):
            raise UsageError("This is not a JSON object with the fields of an item.")
        return found
    texts: dict[str, object] = {
        field.name: values.get(f"text:{field.name}", "").strip() for field in list_writing_fields(settings)
    }
    if sub := values.get("sub", "").strip():
        texts["sub_stereotype"] = sub
    return {name: text for name, text in texts.items() if text}


async def _store_item(request: Request) -> Response:
    values = await read_form_values(request)

    def store() -> Response:
        name, about = require_person(request), values.get("about", "")
        written = run_in_project(
            request,
            lambda work: add_written_item(work.project, name, about, _get_values(values, work.project.settings)),
        )
        found = " ".join(finding.reason for finding in written.findings)
        said = f"{written.item} is stored. {found}" if written.is_new else f"{written.item} was there already."
        return _render_subjects(request, about, said.strip())

    return await run_in_threadpool(store)


async def _check_item(request: Request) -> Response:
    """What the checks find in what is being written; nothing is stored."""
    values = await read_form_values(request)

    def check() -> Response:
        require_person(request)

        def work(opened: ProjectSession) -> list[str]:
            settings = opened.project.settings
            if not list_writing_fields(settings):
                return []
            texts = {name: str(text) for name, text in _get_values(values, settings).items()}
            found = check_written_item(opened.project, "", get_form(settings.form).name, texts)
            return [finding.reason for finding in found]

        return responses.render_fragment(request, "review_write_check.html.jinja", found=run_in_project(request, work))

    return await run_in_threadpool(check)


ROUTES = [
    Route("/review/write", _render_writing),
    Route("/review/written", _store_item, methods=["POST"]),
    Route("/review/write/check", _check_item, methods=["POST"]),
]
