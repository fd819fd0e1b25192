"""A project: a folder with a readable `project.toml` and one SQLite file."""

import json
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import tiltmeter
from tiltmeter.datasets.by_name import dataset, load_spec
from tiltmeter.datasets.hashing import sha256_of
from tiltmeter.datasets.raw_records import build
from tiltmeter.datasets.readers.jsonl import to_line
from tiltmeter.datasets.spec import Spec, parse_spec
from tiltmeter.errors import DataError, UsageError
from tiltmeter.files import write_text
from tiltmeter.forms import Item, form_by_keys, form_named, form_of
from tiltmeter.forms.fields import is_language
from tiltmeter.making.draft import Draft
from tiltmeter.making.item_makers import GENDERED_PAIRS, PROMPTS, ItemMaker, PairMaker, TranslatingMaker
from tiltmeter.making.store import ProjectItem, ProjectStore, now
from tiltmeter.translators.base import SOURCE

SETTINGS = "project.toml"
DATABASE = "project.sqlite"


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """Where the source items come from: licence, citation, content warning, and the files with their SHA-256."""

    licence: str = ""
    citation: str = ""
    warning: str = ""
    files: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Settings:
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


class Project:
    """An open project."""

    def __init__(self, folder: Path, settings: Settings, store: ProjectStore) -> None:
        self.folder = folder
        self.settings = settings
        self.store = store

    @cached_property
    def maker(self) -> ItemMaker:
        """What is sent to the translator, and how items are made of the translations."""
        if self.settings.makes == GENDERED_PAIRS:
            return PairMaker(self.settings.prompts, self.settings.system)
        return TranslatingMaker(form_named(self.settings.form), self.settings.filled)

    def source_item(self, entry: ProjectItem) -> Item:
        """The source of an item."""
        return read_line(entry.source)

    def drafts(self, items: Sequence[ProjectItem]) -> list[Draft]:
        """Items as the repair steps take them."""
        one = items[0].id if len(items) == 1 else None
        texts, filled, alone = (self.store.texts(role, one) for role in ("text", "filled", "alone"))
        form = form_named(self.settings.form)
        return [
            Draft(
                item=entry.id,
                form=form.name,
                source_language=self.settings.source_language,
                language=self.settings.language,
                source=form.translatable(self.source_item(entry)),
                texts=texts.get(entry.id, {}),
                filled=filled.get(entry.id, {}),
                alone=alone.get(entry.id, {}),
            )
            for entry in items
        ]

    def close(self) -> None:
        """Close the database."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def new_project(
    folder: Path | str,
    source: str,
    *,
    language: str,
    system: str,
    pairs: bool = False,
    limit: int | None = None,
    prompts: dict[str, str] | None = None,
) -> Project:
    """Start a project: read and store the source items. `pairs` makes gendered pairs of GEST sentences.

    The settings are written last: a folder with `project.toml` is a complete project.
    """
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; choose another folder.")
    if (folder / SETTINGS).exists():
        raise UsageError(f"{folder} is a project already; choose another folder, or go on with it.")
    if not is_language(language):
        raise UsageError(f"{language!r} is not a language code such as de or pt-BR.")
    spec = parse_spec(source)
    items = [item for item in load_spec(spec) if item.language == SOURCE][:limit]
    if not items:
        raise UsageError(f"{source} has no English items; translations are made from English.")
    if language == SOURCE:
        raise UsageError(f"{source} is in English already; name another language to translate into.")
    form = form_of(items[0])
    if pairs and form.name != "gest":
        raise UsageError(f"Gendered pairs are made of GEST sentences; {source} has items of the form {form.name}.")
    if not pairs and not form.translatable(items[0]):
        raise UsageError(f"The items of {source} have no English texts to translate.")
    settings = Settings(
        source=source,
        source_language=SOURCE,
        language=language,
        form=form.name,
        makes=GENDERED_PAIRS if pairs else form.name,
        system=system,
        created=now(),
        tiltmeter=tiltmeter.__version__,
        facts=_facts(spec),
        prompts=dict(prompts or PROMPTS) if pairs else {},
    )
    folder.mkdir(parents=True, exist_ok=True)
    for leftover in folder.glob(f"{DATABASE}*"):  # of a start that was interrupted
        leftover.unlink()
    store = ProjectStore(folder / DATABASE)
    with store.transaction():
        store.add_items(_entry(item) for item in items)
    write_settings(folder, settings)
    return Project(folder, settings, store)


def open_project(folder: Path | str) -> Project:
    """Open the project in a folder."""
    folder = Path(folder)
    path = folder / SETTINGS
    if not path.is_file():
        raise UsageError(f"{folder} is not a project: it has no {SETTINGS}. `tiltmeter make new` starts one.")
    return Project(folder, _read_settings(path), ProjectStore(folder / DATABASE))


def read_line(line: str) -> Item:
    """The item in a line of JSONL that the project wrote."""
    values = json.loads(line)
    form = form_by_keys(values)
    read = form.from_json(values).values if form else None
    item, problems = build(read or values)
    if item is None:
        raise DataError(f"The source item {values.get('id')!r} is not valid: {problems[0].message}.")
    return item


def _entry(item: Item) -> ProjectItem:
    form = form_of(item)
    subject = str(form.attributes(item).get(form.subject, ""))
    line = to_line(item)
    return ProjectItem(item.id, form.part_of(item) or "", subject, line, line)


def _facts(spec: Spec) -> SourceFacts:
    if spec.path is not None:
        return SourceFacts(files={spec.path.name: sha256_of(spec.path)})
    data = dataset(spec.name)
    files = {
        file.name: sha256_of(path)
        for source in data.select(spec.part, [SOURCE])
        for file, path in zip(source.files, source.paths(), strict=True)
    }
    return SourceFacts(data.licence, data.citation, data.warning, files)


# project.toml

_COMMENTS = {
    "system": "The translation system, as `tiltmeter make translate` opens it.",
    "filled": "Whether contexts with a word filled in are translated too: better words, about twice the characters.",
    "names": "Whether only names of the lists may occur in translations; `tiltmeter make source --names` sets it.",
    "placeholders": "What to send in place of BLANK, in this order; empty: the order for the system.",
    "title": "For the data card: a title, a licence where the source has none, and the reviewers' guidelines (a file).",
    "review": "Which items people review: those with something `open`, or `all`; how many people decide on each, and "
    "how many of these have to agree.",
}


def write_settings(folder: Path, settings: Settings) -> None:
    """Write `project.toml`."""
    values = asdict(settings)
    facts, prompts = values.pop("facts"), values.pop("prompts")
    files = facts.pop("files")
    lines = ["# A Tiltmeter project: a test set on its way into another language.", ""]
    for key, value in values.items():
        if key in _COMMENTS:
            lines += ["", f"# {_COMMENTS[key]}"]
        lines.append(f"{key} = {_toml(value)}")
    lines += ["", "[facts]", *(f"{key} = {_toml(value)}" for key, value in facts.items())]
    lines += ["", "[facts.files]", *(f"{_toml(key)} = {_toml(value)}" for key, value in files.items())]
    if prompts:
        lines += ["", "[prompts]", *(f"{key} = {_toml(value)}" for key, value in prompts.items())]
    write_text(folder / SETTINGS, "\n".join(lines) + "\n")


def _read_settings(path: Path) -> Settings:
    try:
        values: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        known = {entry.name for entry in fields(Settings)}
        if unknown := [key for key in values if key not in known]:
            raise DataError(f"{path}: {unknown[0]!r} has no meaning here.")
        values["facts"] = SourceFacts(**values.get("facts", {}))
        values["placeholders"] = tuple(values.get("placeholders", ()))
        values.setdefault("prompts", {})
        return Settings(**values)
    except (tomllib.TOMLDecodeError, TypeError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}.") from error


def _toml(value: object) -> str:
    """A value as TOML, whose strings, lists and booleans are written as in JSON.

    >>> _toml(("plain", 'a "quoted" word'))
    '["plain", "a \\\\"quoted\\\\" word"]'
    """
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
