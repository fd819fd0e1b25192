"""Writing items against quotas: what is left to write about each subject, and a form with checks at once."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tiltmeter.errors import UsageError
from tiltmeter.forms import form_named
from tiltmeter.making.item_makers import TRANSLATION
from tiltmeter.making.review.review_views import plain_field
from tiltmeter.making.settings import Settings
from tiltmeter.making.writing.writing import add_written, plan_of, written_by
from tiltmeter.making.writing.writing_checks import check_written, unchecked
from tiltmeter.making.writing.writing_plan import WritingSubject
from tiltmeter.reports.languages import language_name
from tiltmeter.studio import responses
from tiltmeter.studio.rooms.people import at_work, form_route, person_needed, project_name, settings_of
from tiltmeter.studio.workbench import OpenWork

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


def writing_fields(settings: Settings) -> list[WritingField]:
    """The texts of an item that people write; empty for forms whose items are written as JSON."""
    form = form_named(settings.form)
    if form.name in _NESTED:
        return []
    names = [name for name in form.keys if name not in _GIVEN and name != form.subject]
    fields = [WritingField(name, plain_field(name), settings.source_language) for name in names]
    if form.name == "gest":
        label = f"translation into {language_name(settings.language)}, which shows a gender"
        fields.append(WritingField(TRANSLATION, label, settings.language))
    return fields


def _write(request: Request) -> Response:
    return _answer(request, request.query_params.get("about", ""), "", "review_write.html.jinja")


def _answer(request: Request, about: str, said: str, template: str = "review_writing.html.jinja") -> Response:
    name, settings = person_needed(request), settings_of(request)

    def look(work: OpenWork) -> tuple[list[SubjectLine], bool]:
        plan, counts = plan_of(work.project), written_by(work.project)
        known = next((one for one in plan.writers if one.casefold() == name.casefold()), "")
        return [SubjectLine(subject, counts[known, subject.key]) for subject in plan.subjects], bool(known)

    lines, is_writer = at_work(request, look)
    chosen = next((line for line in lines if line.subject.key == about), None)
    if chosen is None and is_writer:
        chosen = next((line for line in lines if line.left), lines[0])
    return responses.fragment(
        request,
        template,
        project=project_name(request),
        person=name,
        lines=lines,
        chosen=chosen,
        is_writer=is_writer,
        fields=writing_fields(settings),
        unchecked=unchecked(settings),
        language=settings.language,
        said=said,
    )


def _values(values: Mapping[str, str], settings: Settings) -> dict[str, object]:
    """What was written, by field."""
    if not writing_fields(settings):
        try:
            found = json.loads(values.get("json", ""))
        except ValueError as error:
            raise UsageError(f"This is not a JSON object: {error}.") from error
        if not isinstance(found, dict):
            raise UsageError("This is not a JSON object with the fields of an item.")
        return found
    texts: dict[str, object] = {
        field.name: values.get(f"text:{field.name}", "").strip() for field in writing_fields(settings)
    }
    if sub := values.get("sub", "").strip():
        texts["sub_stereotype"] = sub
    return {name: text for name, text in texts.items() if text}


def _store(request: Request, values: Mapping[str, str]) -> Response:
    name, about = person_needed(request), values.get("about", "")
    written = at_work(
        request, lambda work: add_written(work.project, name, about, _values(values, work.project.settings))
    )
    found = " ".join(finding.reason for finding in written.findings)
    said = f"{written.item} is stored. {found}" if written.is_new else f"{written.item} was there already."
    return _answer(request, about, said.strip())


def _check(request: Request, values: Mapping[str, str]) -> Response:
    """What the checks find in what is being written; nothing is stored."""
    person_needed(request)

    def work(opened: OpenWork) -> list[str]:
        settings = opened.project.settings
        if not writing_fields(settings):
            return []
        texts = {name: str(text) for name, text in _values(values, settings).items()}
        found = check_written(opened.project, "", form_named(settings.form).name, texts)
        return [finding.reason for finding in found]

    return responses.fragment(request, "review_write_check.html.jinja", found=at_work(request, work))


ROUTES = [
    Route("/review/write", _write),
    form_route("/review/written", _store),
    form_route("/review/write/check", _check),
]
