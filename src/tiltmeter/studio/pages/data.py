"""The page "Data": the catalogue of data sets, the user's data files, and the projects."""

from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tiltmeter.datasets.dataset_loader import DATASETS, get_dataset
from tiltmeter.errors import TiltmeterError, UsageError
from tiltmeter.forms import Item, get_item_form
from tiltmeter.making.project import open_project
from tiltmeter.making.project_status import compute_status
from tiltmeter.reports.language_names import get_language_name
from tiltmeter.studio import responses
from tiltmeter.studio.checked_files import check_content, check_file
from tiltmeter.studio.item_counts import count_local_items, is_data_local
from tiltmeter.studio.pages import StudioPage

# Maximum size of an uploaded file, in bytes.
LARGEST_FILE = 20_000_000
# Number of example items that are shown for each part of a data set.
_EXAMPLES = 2


@dataclass(frozen=True, slots=True)
class ProjectLine:
    """A project in the list on the page "Data".

    `system` is the translation system, or "written" if people write the items. `open_items` is the number of items with
    open problems. `problem` is the reason why the project cannot be opened, or empty.
    """

    name: str
    language: str = ""
    form: str = ""
    system: str = ""
    items: int = 0
    open_items: int = 0
    problem: str = ""


def _render_catalogue(request: Request) -> Response:
    workspace = responses.get_studio(request).workspace
    files = sorted(map(workspace.get_relative_name, workspace.list_data_files()))
    sets = list(DATASETS.values())
    return responses.render_page(request, "data.html.jinja", sets=sets, files=files, is_here=is_data_local)


def _render_projects(request: Request) -> Response:
    workspace = responses.get_studio(request).workspace
    lines = []
    for folder in sorted(workspace.list_projects()):
        name = workspace.get_relative_name(folder)
        try:
            with open_project(folder) as project:
                status, settings = compute_status(project), project.settings
                lines.append(
                    ProjectLine(
                        name,
                        get_language_name(settings.language),
                        settings.makes,
                        settings.system,
                        sum(status.items.values()),
                        status.open_items,
                    )
                )
        except TiltmeterError as error:
            lines.append(ProjectLine(name, problem=str(error)))
    return responses.render_fragment(request, "data_projects.html.jinja", projects=lines)


def _render_dataset(request: Request) -> Response:
    data = get_dataset(request.path_params["name"])
    return responses.render_page(request, "data_set.html.jinja", data=data, language_name=get_language_name)


def _render_count(request: Request) -> Response:
    """Render the number of items in the downloaded files of a data set; nothing is downloaded now."""
    data = get_dataset(request.path_params["name"])
    items, files = count_local_items(data)
    return responses.render_fragment(request, "data_count.html.jinja", items=items, files=files, all=len(data.sources))


def _render_examples(request: Request) -> Response:
    data = get_dataset(request.path_params["name"])
    language = request.query_params.get("language", data.languages[0])
    sources = [source for source in data.select(None, [language]) if source.is_local()]
    if not sources:
        raise UsageError(
            f"The files of {data.name} in {get_language_name(language)} are not downloaded; download them with "
            f"`tiltmeter data get {data.name}:{language}`, or start a run on them."
        )
    by_part: dict[str | None, list[Item]] = {}
    for source in sources:
        for item in source.validate().items:
            by_part.setdefault(get_item_form(item).part_of(item), []).append(item)
    items = [(item, get_item_form(item)) for part in by_part.values() for item in part[:_EXAMPLES]]
    return responses.render_fragment(request, "data_examples.html.jinja", items=items, language=language, data=data)


def _render_file(request: Request) -> Response:
    name = request.query_params.get("file", "")
    checked = check_file(responses.get_studio(request).workspace.find_data_file(name), name)
    return responses.render_page(request, "data_file.html.jinja", checked=checked, is_alone=True)


async def _check_upload(request: Request) -> Response:
    async with request.form(max_files=1, max_fields=4, max_part_size=LARGEST_FILE) as form:
        given = form.get("file")
        if not isinstance(given, UploadFile) or not given.filename:
            raise UsageError("Choose a file first.")
        content, name = await given.read(), given.filename
    checked = await run_in_threadpool(check_content, content, name)
    return responses.render_fragment(request, "data_checked.html.jinja", checked=checked, is_alone=False)


STUDIO_PAGE = StudioPage(
    "Data",
    "/data",
    [
        Route("/data", _render_catalogue),
        Route("/data/projects", _render_projects),
        Route("/data/sets/{name}", _render_dataset),
        Route("/data/sets/{name}/count", _render_count),
        Route("/data/sets/{name}/examples", _render_examples),
        Route("/data/file", _render_file),
        Route("/data/check", _check_upload, methods=["POST"], max_body_size=LARGEST_FILE),
    ],
    order=30,
)
