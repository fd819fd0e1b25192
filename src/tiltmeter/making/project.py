"""A project: a folder with a readable `project.toml` and one SQLite file."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Self

import tiltmeter
from tiltmeter.datasets.by_name import dataset, load_spec, refuse_export
from tiltmeter.datasets.findings import Finding
from tiltmeter.datasets.hashing import sha256_of
from tiltmeter.datasets.raw_records import BrokenFileError, build
from tiltmeter.datasets.readers.file_text import read_text
from tiltmeter.datasets.readers.jsonl import to_line
from tiltmeter.datasets.spec import Spec, parse_spec
from tiltmeter.errors import DataError, UsageError
from tiltmeter.files import make_folder, write_text
from tiltmeter.forms import Item, form_by_keys, form_named, form_of
from tiltmeter.forms.fields import is_language
from tiltmeter.making.draft import Draft
from tiltmeter.making.item_makers import (
    GENDERED_PAIRS,
    PROMPTS,
    WRITTEN,
    ItemMaker,
    PairMaker,
    TranslatingMaker,
    WrittenMaker,
)
from tiltmeter.making.lock import step_lock
from tiltmeter.making.settings import SETTINGS, Settings, SourceFacts, check_unchanged, read_settings, write_settings
from tiltmeter.making.store import ProjectItem, ProjectStore, now
from tiltmeter.translators import check_system
from tiltmeter.translators.base import SOURCE
from tiltmeter.translators.server_login import LOGIN, has_password

DATABASE = "project.sqlite"
# Source items that an open project remembers.
_REMEMBERED = 1000


class Project:
    """An open project."""

    def __init__(self, folder: Path, settings: Settings, store: ProjectStore) -> None:
        self.folder = folder
        self.settings = settings
        self.store = store
        self._sources: dict[str, Item] = {}
        self.examined: dict[object, list[Finding]] = {}

    @cached_property
    def maker(self) -> ItemMaker:
        """What is sent to the translator, and how items are made of the translations."""
        if self.settings.system == WRITTEN:
            return WrittenMaker(form_named(self.settings.form))
        if self.settings.makes == GENDERED_PAIRS:
            return PairMaker(self.settings.prompts, self.settings.system)
        return TranslatingMaker(form_named(self.settings.form), self.settings.filled)

    def source_item(self, entry: ProjectItem) -> Item:
        """The source of an item; of those asked for last, it is remembered."""
        if (known := self._sources.get(entry.source)) is not None:
            return known
        if len(self._sources) >= _REMEMBERED:
            self._sources.clear()
        made = self._sources[entry.source] = read_line(entry.source)
        return made

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

    def guidelines(self) -> str:
        """The text of the guidelines for reviewers; empty if there are none."""
        name = self.settings.guidelines
        if not name:
            return ""
        path = self.folder / name
        if not path.resolve().is_relative_to(self.folder.resolve()):
            raise UsageError(f"{SETTINGS} names {name} as the guidelines, which is not in the project's folder.")
        if not path.is_file():
            raise UsageError(f"There is no file {path}, which {SETTINGS} names as the guidelines.")
        try:
            return read_text(path).strip()
        except BrokenFileError as error:
            raise DataError(f"{path} {error}.") from error

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
    check_new(folder)
    if not is_language(language):
        raise UsageError(f"{language!r} is not a language code such as de or pt-BR.")
    check_system(system)
    if has_password(system.partition(":")[2]):
        raise UsageError(
            "A password does not go into the settings of a project, which others get to see: leave it out of the "
            f"address, and set {LOGIN} to NAME:PASSWORD when you translate."
        )
    spec = parse_spec(source)
    refuse_export(spec.name)
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
    return start_project(folder, settings, map(_entry, items))


def check_new(folder: Path) -> None:
    """A UsageError unless a project can be started in a folder."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; choose another folder.")
    if (folder / SETTINGS).exists():
        raise UsageError(f"{folder} is a project already; choose another folder, or go on with it.")


def start_project(
    folder: Path, settings: Settings, items: Iterable[ProjectItem], files: Mapping[str, str] | None = None
) -> Project:
    """Write the files of a new project, the settings last; `files` are others with their content."""
    make_folder(folder)
    with step_lock(folder):
        check_new(folder)
        for leftover in folder.glob(f"{DATABASE}*"):  # of a start that was interrupted
            leftover.unlink()
        store = ProjectStore(folder / DATABASE)
        with store.transaction():
            store.add_items(items)
            store.remember(settings.fixed)
        for name, content in (files or {}).items():
            write_text(folder / name, content)
        write_settings(folder, settings)
    return Project(folder, settings, store)


def open_project(folder: Path | str) -> Project:
    """Open the project in a folder."""
    folder = Path(folder)
    if not (folder / SETTINGS).is_file():
        raise UsageError(f"{folder} is not a project: it has no {SETTINGS}. `tiltmeter make new` starts one.")
    settings = read_settings(folder)
    if not (folder / DATABASE).is_file():
        raise UsageError(f"{folder} has no {DATABASE}, which holds the items and decisions; restore it from a backup.")
    store = ProjectStore(folder / DATABASE)
    if store.is_blank:
        store.close()
        raise UsageError(f"{folder / DATABASE} is empty: it has no items and no settings; restore it from a backup.")
    check_unchanged(folder / SETTINGS, settings, store.remembered())
    return Project(folder, settings, store)


def check_translated(project: Project) -> None:
    """A UsageError if the items of a project are written by people, so that there is nothing to translate or repair."""
    if project.settings.system == WRITTEN:
        raise UsageError(
            f"The items of {project.folder} are written by people, not translated: `tiltmeter make write` adds and "
            "checks them, `tiltmeter make rate` and `tiltmeter make review` are next."
        )


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
