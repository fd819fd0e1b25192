"""`project.toml`: what a project is made of and how; people may edit it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from tiltmeter.errors import DataError, UsageError
from tiltmeter.files import write_text
from tiltmeter.forms import get_form
from tiltmeter.making.item_makers import GENDERED_PAIRS, PROMPTS
from tiltmeter.making.toml_values import read_toml

SETTINGS = "project.toml"
# Which items people review.
REVIEWS = ("open", "all")
# What cannot be changed after the start, since the stored items depend on it.
FIXED = ("source", "source_language", "language", "form", "makes")


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """Where the source items come from: licence, citation, content warning, and the files with their SHA-256."""

    licence: str = ""
    citation: str = ""
    warning: str = ""
    files: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """The contents of `project.toml`.

    `form` is that of the source items, `makes` that of the items made; `filled` says whether the contexts with a word
    filled in are translated too, `names` whether only listed names may occur; `placeholders` overrides the order of the
    translation system; `prompts` are the English prompts of gendered pairs.
    """

    source: str
    source_language: str
    language: str
    form: str
    makes: str
    system: str
    created: str
    tiltmeter: str
    facts: SourceFacts = field(default_factory=SourceFacts)
    filled: bool = True
    names: bool = False
    placeholders: tuple[str, ...] = ()
    prompts: dict[str, str] = field(default_factory=lambda: dict(PROMPTS))
    title: str = ""
    licence: str = ""
    guidelines: str = ""
    review: str = "open"
    reviewers_per_item: int = 1
    agreeing: int = 1

    @property
    def fixed(self) -> dict[str, str]:
        """What cannot be changed after the start."""
        return {name: str(getattr(self, name)) for name in FIXED}


_COMMENTS = {
    "source": "What the project is about; another language or source needs another project.",
    "system": "The translation system, as `tiltmeter make translate` opens it.",
    "filled": "Whether contexts with a word filled in are translated too: better words, about twice the characters.",
    "names": "Whether only names of the lists may occur in translations; `tiltmeter make source --names` sets it.",
    "placeholders": "What to send in place of BLANK, in this order; empty: the order for the system.",
    "title": "For the data card: a title, a licence where the source has none, and the reviewers' guidelines (a file).",
    "review": "Which items people review: those with something `open`, or `all`; how many people decide on each, and "
    "how many of these have to agree.",
}


def write_settings(folder: Path, settings: ProjectSettings) -> None:
    """Write `project.toml`."""
    values = asdict(settings)
    facts, prompts = values.pop("facts"), values.pop("prompts")
    files = facts.pop("files")
    lines = ["# A Tiltmeter project: a test set on its way into another language."]
    for key, value in values.items():
        if key in _COMMENTS:
            lines += ["", f"# {_COMMENTS[key]}"]
        lines.append(f"{key} = {_format_toml(value)}")
    lines += ["", "[facts]", *(f"{key} = {_format_toml(value)}" for key, value in facts.items())]
    lines += ["", "[facts.files]", *(f"{_format_toml(key)} = {_format_toml(value)}" for key, value in files.items())]
    if prompts:
        lines += ["", "[prompts]", *(f"{key} = {_format_toml(value)}" for key, value in prompts.items())]
    write_text(folder / SETTINGS, "\n".join(lines) + "\n")


def read_settings(folder: Path) -> ProjectSettings:
    """The settings of the project in a folder; a DataError names the key that is wrong."""
    table = read_toml(folder / SETTINGS)
    table.reject_unknown_keys(entry.name for entry in fields(ProjectSettings))
    facts = table.table("facts")
    facts.reject_unknown_keys(entry.name for entry in fields(SourceFacts))
    settings = ProjectSettings(
        **{name: table.text(name) for name in (*FIXED, "system", "created", "tiltmeter")},
        facts=SourceFacts(
            facts.text("licence", ""),
            facts.text("citation", ""),
            facts.text("warning", ""),
            facts.texts_by_name("files"),
        ),
        filled=table.flag("filled", default=True),
        names=table.flag("names", default=False),
        placeholders=table.texts("placeholders"),
        prompts=table.texts_by_name("prompts"),
        title=table.text("title", ""),
        licence=table.text("licence", ""),
        guidelines=table.text("guidelines", ""),
        review=table.text("review", "open"),
        reviewers_per_item=table.integer("reviewers_per_item", 1, least=1),
        agreeing=table.integer("agreeing", 1, least=1),
    )
    if settings.review not in REVIEWS:
        raise table.error("review", " or ".join(f'"{name}"' for name in REVIEWS))
    if settings.agreeing > settings.reviewers_per_item:
        raise table.error("agreeing", f"at most `reviewers_per_item`, which is {settings.reviewers_per_item}")
    for name in ("form", "makes"):
        get_form(table.text(name))
    if settings.makes == GENDERED_PAIRS and settings.form == "gest" and settings.prompts.keys() != PROMPTS.keys():
        raise DataError(f"{table.path}: [prompts] should have {' and '.join(PROMPTS)}.")
    return settings


def reject_changed_settings(path: Path, settings: ProjectSettings, started: Mapping[str, str]) -> None:
    """Refuse settings that were changed after the start though the stored items depend on them."""
    for name, value in settings.fixed.items():
        if (before := started.get(name, value)) != value:
            raise UsageError(
                f"{path}: `{name}` is {value!r}, and the project was started with {before!r}; set it back, or start "
                "another project with `tiltmeter make new`."
            )


def _format_toml(value: object) -> str:
    """A value as TOML, whose strings, lists and booleans are written as in JSON.

    >>> _format_toml(("plain", 'a "quoted" word'))
    '["plain", "a \\\\"quoted\\\\" word"]'
    """
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
