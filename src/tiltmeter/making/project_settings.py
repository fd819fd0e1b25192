"""`project.toml`: the settings of a project, which users may edit."""

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
# The allowed values of the setting `review`.
REVIEWS = ("open", "all")
# Settings that must not change after the start of a project, because the stored items depend on them.
FIXED = ("source", "source_language", "language", "form", "makes")


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """The licence, citation and content warning of the source data; `files` maps source files to SHA-256 digests."""

    licence: str = ""
    citation: str = ""
    warning: str = ""
    files: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """The contents of `project.toml`.

    `form` is the form (type) of the source items, for example `association`, and `makes` is the form of the new items.
    The comments in the file explain the other settings (see `_COMMENTS`).
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
    settle_own_conflicts: bool = False
    interface: str = "en"
    untranslated_share: float = 0.02

    @property
    def fixed_settings(self) -> dict[str, str]:
        """The values of the settings that must not change after the start of a project."""
        return {name: str(getattr(self, name)) for name in FIXED}


_COMMENTS = {
    "source": "These five settings cannot change; start another project for another source or language.",
    "system": "The translation system that `tiltmeter make translate` uses.",
    "filled": (
        "Also translate each context with each candidate word filled in? This improves the words, but translates about "
        "twice as many characters."
    ),
    "names": (
        "Allow only names from Tiltmeter's name lists in translations? `tiltmeter make source --names` sets this to "
        "true."
    ),
    "placeholders": (
        'Placeholders that replace BLANK, in the order in which they are tried, such as ["letters"]; '
        "if empty, Tiltmeter chooses them for the translation system."
    ),
    "title": "For the data card: a title, a licence if the source has none, and a file with the reviewers' guidelines.",
    "review": (
        "Items to review: `open` (items with open problems) or `all`; the number of reviewers for each item; and how "
        "many of them must agree."
    ),
    "untranslated_share": (
        "The largest share of items with untranslated text that `tiltmeter make publish` allows without --accept."
    ),
    "settle_own_conflicts": (
        "May a reviewer settle a conflict about an item on which the same person has decided? If true, the data card "
        "lists how often this happened."
    ),
    "interface": "The language of the studio's pages for reviewers; texts that are missing in it are shown in English.",
}


def write_settings(folder: Path, settings: ProjectSettings) -> None:
    """Write the settings to `project.toml` in the folder."""
    values = asdict(settings)
    facts, prompts = values.pop("facts"), values.pop("prompts")
    files = facts.pop("files")
    lines = ["# The settings of a Tiltmeter project."]
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
    """Read the settings from `project.toml`; if a value is invalid, raise a DataError that names the key."""
    table = read_toml(folder / SETTINGS)
    table.reject_unknown_keys(entry.name for entry in fields(ProjectSettings))
    facts = table.read_table("facts")
    facts.reject_unknown_keys(entry.name for entry in fields(SourceFacts))
    settings = ProjectSettings(
        **{name: table.read_text(name) for name in (*FIXED, "system", "created", "tiltmeter")},
        facts=SourceFacts(
            facts.read_text("licence", ""),
            facts.read_text("citation", ""),
            facts.read_text("warning", ""),
            facts.read_texts_by_name("files"),
        ),
        filled=table.read_bool("filled", default=True),
        names=table.read_bool("names", default=False),
        placeholders=table.read_texts("placeholders"),
        prompts=table.read_texts_by_name("prompts"),
        title=table.read_text("title", ""),
        licence=table.read_text("licence", ""),
        guidelines=table.read_text("guidelines", ""),
        review=table.read_text("review", "open"),
        reviewers_per_item=table.read_integer("reviewers_per_item", 1, least=1),
        agreeing=table.read_integer("agreeing", 1, least=1),
        settle_own_conflicts=table.read_bool("settle_own_conflicts", default=False),
        interface=table.read_text("interface", "en"),
        untranslated_share=table.read_share("untranslated_share", 0.02),
    )
    if settings.review not in REVIEWS:
        raise table.build_error("review", " or ".join(f'"{name}"' for name in REVIEWS))
    if settings.agreeing > settings.reviewers_per_item:
        raise table.build_error("agreeing", f"at most `reviewers_per_item` ({settings.reviewers_per_item})")
    for name in ("form", "makes"):
        get_form(table.read_text(name))
    if settings.makes == GENDERED_PAIRS and settings.form == "gest" and settings.prompts.keys() != PROMPTS.keys():
        raise DataError(f"{table.path}: [prompts] should have the keys {' and '.join(PROMPTS)}.")
    return settings


def reject_changed_settings(path: Path, settings: ProjectSettings, started: Mapping[str, str]) -> None:
    """Raise a UsageError if one of the settings in FIXED has changed.

    `started` has the values of these settings at the start of the project.
    """
    for name, value in settings.fixed_settings.items():
        if (before := started.get(name, value)) != value:
            raise UsageError(
                f"{path}: `{name}` is {value!r}, but the project was started with {before!r}; change it back, or start "
                "another project with `tiltmeter make new`."
            )


def _format_toml(value: object) -> str:
    """Format a value as TOML. Strings, lists and booleans are written in the same way in TOML and JSON.

    >>> _format_toml(("plain", 'a "quoted" word'))
    '["plain", "a \\\\"quoted\\\\" word"]'
    """
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
