"""A page of the studio: the sentences of the data set."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tiltmeter.datasets.dataset_loader import load
from tiltmeter.studio import responses
from tiltmeter.studio.pages import StudioPage


def render(request: Request) -> Response:
    """Return the page with the list of sentences."""
    return responses.render_page(request, "occupations.html.jinja", 200, __package__, items=load("occupations"))


STUDIO_PAGE = StudioPage("Occupations", "/occupations", [Route("/occupations", render)])
