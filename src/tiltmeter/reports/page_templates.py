"""The Jinja environment of all HTML pages."""

from functools import cache
from importlib.resources import files

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, Template

_PACKAGE = "tiltmeter.reports"


@cache
def load_template(name: str, *packages: str) -> Template:
    """Return a template from the folder `templates` of the first of these packages that has it, or of the reports.

    It can extend `shell.html.jinja`, the frame of every page. Text from data is escaped.
    """
    loaders = [PackageLoader(package, "templates") for package in dict.fromkeys((*packages, _PACKAGE))]
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
    """Return the text of a style sheet or script from the folder of the templates."""
    return (files(_PACKAGE) / "templates" / name).read_text(encoding="utf-8")
