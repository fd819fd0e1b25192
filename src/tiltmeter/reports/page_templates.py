"""The Jinja environment of all HTML pages."""

from functools import cache
from importlib.resources import files

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, Template

_ROOM = "tiltmeter.reports"


@cache
def load_template(name: str, package: str = _ROOM) -> Template:
    """A template from `templates/` of a package; it can extend `shell.html.jinja`, the frame of every page.

    Autoescaping is on: text from data is never markup.
    """
    loaders = [PackageLoader(room, "templates") for room in dict.fromkeys((package, _ROOM))]
    environment = Environment(
        loader=ChoiceLoader(loaders),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


@cache
def read_template_file(name: str) -> str:
    """The text of a style sheet or script beside the templates."""
    return (files(_ROOM) / "templates" / name).read_text(encoding="utf-8")
