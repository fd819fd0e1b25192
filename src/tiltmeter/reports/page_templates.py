"""Loading of the Jinja templates, style sheets and scripts of HTML pages."""

from functools import cache
from importlib.resources import files

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, Template

_PACKAGE = "tiltmeter.reports"


@cache
def load_template(name: str, *packages: str) -> Template:
    """Return the Jinja template with the file name `name`.

    The folder `templates` of each package in `packages` is searched first, then the folder of `tiltmeter.reports`. A
    template can extend `shell.html.jinja`, which has the elements of every page. Jinja escapes all text from data.
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
    """Return the text of a style sheet or script in the folder `templates` of `tiltmeter.reports`."""
    return (files(_PACKAGE) / "templates" / name).read_text(encoding="utf-8")
