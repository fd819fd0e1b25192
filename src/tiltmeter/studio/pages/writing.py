"""The page for writing items.

The page shows how many items the user still has to write about each subject, and a form that checks texts at once.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup
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
from tiltmeter.making.writing.written_items import WrittenItem, add_written_item, count_written_items, load_writing_plan
from tiltmeter.reports.language_names import get_language_name
from tiltmeter.studio.interface_texts import InterfaceTexts
from tiltmeter.studio.pages.permissions import (
    build_form_route,
    get_settings,
    get_texts,
    render_review,
    require_user_name,
    run_in_project,
)
from tiltmeter.studio.pages.unread_notice import build_start_route, build_unread_notice
from tiltmeter.studio.project_threads import ProjectSession

# Fields of an item that the writer does not fill in; their values come from the project or the subject.
_GIVEN = {"id", "language", "stereotype", "side", "stereotype_name", "sub_stereotype", "translator", "original"}
# Item forms whose items are nested, so that the writer enters them as JSON.
_NESTED = ("association",)


@dataclass(frozen=True, slots=True)
class SubjectLine:
    """A subject, and the number of items that this writer has written about the subject."""

    subject: WritingSubject
    written: int

    @property
    def remaining_count(self) -> int:
        """Return the number of items that this writer still has to write about the subject."""
        return max(0, self.subject.quota - self.written)


@dataclass(frozen=True, slots=True)
class WritingField:
    """A text field of the form for an item; `language` is the language of the text."""

    name: str
    label: str
    language: str
    is_translation: bool = False


def list_writing_fields(settings: ProjectSettings) -> list[WritingField]:
    """Return the text fields of the form for an item; empty if the writer enters the item as JSON."""
    form = get_form(settings.form)
    if form.name in _NESTED:
        return []
    names = [name for name in form.keys if name not in _GIVEN and name != form.subject]
    fields = [WritingField(name, format_field(name), settings.source_language) for name in names]
    if form.name == "gest":
        fields.append(WritingField(TRANSLATION, TRANSLATION, settings.language, is_translation=True))
    return fields


def _render_writing(request: Request) -> Response:
    """Render the page; before the first item, it shows the guidelines and a notice about contents."""
    if notice := build_unread_notice(request, "/review/write/start"):
        return render_review(request, "review_write.html.jinja", **notice)
    return _render_subjects(request, request.query_params.get("about", ""), Markup(), "review_write.html.jinja")


def _render_subjects(
    request: Request, about: str, notice: Markup, template: str = "review_writing.html.jinja"
) -> Response:
    name, settings = require_user_name(request), get_settings(request)

    def count_items(session: ProjectSession) -> tuple[list[SubjectLine], bool]:
        plan, counts = load_writing_plan(session.project), count_written_items(session.project)
        writer = next((one for one in plan.writers if one.casefold() == name.casefold()), "")
        return [SubjectLine(subject, counts[writer, subject.key]) for subject in plan.subjects], bool(writer)

    lines, is_writer = run_in_project(request, count_items)
    chosen = next((line for line in lines if line.subject.key == about), None)
    if chosen is None and is_writer:
        chosen = next((line for line in lines if line.remaining_count), lines[0])
    return render_review(
        request,
        template,
        person=name,
        lines=lines,
        chosen=chosen,
        is_writer=is_writer,
        fields=list_writing_fields(settings),
        unchecked=list_missing_checks(settings),
        language=settings.language,
        language_name=get_language_name(settings.language),
        notice=notice,
    )


def _get_values(values: Mapping[str, str], settings: ProjectSettings, t: InterfaceTexts) -> dict[str, object]:
    """Return a dictionary from the fields of an item to the values that the writer entered."""
    if not list_writing_fields(settings):
        try:
            item = json.loads(values.get("json", ""))
        except ValueError as error:
            raise UsageError(t("write.no_json", error=str(error))) from error
        if not isinstance(item, dict):
            raise UsageError(t("write.no_object"))
        return item
    texts: dict[str, object] = {
        field.name: values.get(f"text:{field.name}", "").strip() for field in list_writing_fields(settings)
    }
    if sub := values.get("sub", "").strip():
        texts["sub_stereotype"] = sub
    return {name: text for name, text in texts.items() if text}


def _store_item(request: Request, values: Mapping[str, str]) -> Response:
    name, about, t = require_user_name(request), values.get("about", ""), get_texts(request)

    def store_item(session: ProjectSession) -> WrittenItem:
        return add_written_item(session.project, name, about, _get_values(values, session.project.settings, t))

    written = run_in_project(request, store_item)
    findings = " ".join(finding.reason for finding in written.findings) if written.is_new else ""
    notice = t("write.stored" if written.is_new else "write.known", item=written.item)
    return _render_subjects(request, about, Markup("{} {}").format(notice, findings).strip())


def _check_item(request: Request, values: Mapping[str, str]) -> Response:
    """Render the problems that are found in the texts of the form; nothing is stored."""
    require_user_name(request)

    def check_new_item(session: ProjectSession) -> list[str]:
        settings = session.project.settings
        if not list_writing_fields(settings):
            return []
        texts = {name: str(text) for name, text in _get_values(values, settings, get_texts(request)).items()}
        findings = check_written_item(session.project, "", get_form(settings.form).name, texts)
        return [finding.reason for finding in findings]

    return render_review(request, "review_write_check.html.jinja", findings=run_in_project(request, check_new_item))


ROUTES = [
    Route("/review/write", _render_writing),
    build_start_route("/review/write/start", lambda request: _render_subjects(request, "", Markup())),
    build_form_route("/review/written", _store_item),
    build_form_route("/review/write/check", _check_item),
]
