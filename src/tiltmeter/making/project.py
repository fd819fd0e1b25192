"""A project: a folder with a readable `project.toml` and one SQLite file."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Self

import tiltmeter
from tiltmeter.datasets.dataset_loader import get_dataset, load_spec, reject_export
from tiltmeter.datasets.dataset_spec import Spec, parse_spec
from tiltmeter.datasets.file_hashes import get_sha256
from tiltmeter.datasets.findings import Finding
from tiltmeter.datasets.raw_records import BrokenFileError, build_item
from tiltmeter.datasets.readers.decoded_text import read_text
from tiltmeter.datasets.readers.jsonl import format_line
from tiltmeter.errors import DataError, UsageError
from tiltmeter.files import create_folder, write_text
from tiltmeter.forms import Item, detect_form, get_form, get_item_form
from tiltmeter.forms.fields import is_language_code
from tiltmeter.making.draft import Draft
from tiltmeter.making.item_makers import (
    GENDERED_PAIRS,
    PROMPTS,
    WRITTEN,
    GenderedPairMaker,
    ItemMaker,
    TranslatedItemMaker,
    WrittenItemMaker,
)
from tiltmeter.making.project_lock import lock_project
from tiltmeter.making.project_settings import (
    SETTINGS,
    ProjectSettings,
    SourceFacts,
    read_settings,
    reject_changed_settings,
    write_settings,
)
from tiltmeter.making.project_store import ProjectItem, ProjectStore, get_timestamp
from tiltmeter.translators import validate_system_name
from tiltmeter.translators.http import LOGIN, has_password
from tiltmeter.translators.translator_protocol import SOURCE

DATABASE = "project.sqlite"
# Source items that an open project remembers.
_REMEMBERED = 1000


class Project:
    """An open project."""

    def __init__(self, folder: Path, settings: ProjectSettings, store: ProjectStore) -> None:
        self.folder = folder
        self.settings = settings
        self.store = store
        self._sources: dict[str, Item] = {}
        self.examined: dict[object, list[Finding]] = {}

    @cached_property
    def maker(self) -> ItemMaker:
        """What is sent to the translator, and how items are made of the translations."""
        if self.settings.system == WRITTEN:
            return WrittenItemMaker(get_form(self.settings.form))
        if self.settings.makes == GENDERED_PAIRS:
            return GenderedPairMaker(self.settings.prompts, self.settings.system)
        return TranslatedItemMaker(get_form(self.settings.form), self.settings.filled)

    def get_source_item(self, entry: ProjectItem) -> Item:
        """The source of an item; of those asked for last, it is remembered."""
        if (known := self._sources.get(entry.source)) is not None:
            return known
        if len(self._sources) >= _REMEMBERED:
            self._sources.clear()
        made = self._sources[entry.source] = parse_item(entry.source)
        return made

    def drafts(self, items: Sequence[ProjectItem]) -> list[Draft]:
        """Items as the repair steps take them."""
        one = items[0].id if len(items) == 1 else None
        texts, filled, alone = (self.store.texts(role, one) for role in ("text", "filled", "alone"))
        form = get_form(self.settings.form)
        return [
            Draft(
                item=entry.id,
                form=form.name,
                source_language=self.settings.source_language,
                language=self.settings.language,
                source=form.translatable(self.get_source_item(entry)),
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


def create_project(
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
    validate_new_folder(folder)
    if not is_language_code(language):
        raise UsageError(f"{language!r} is not a language code such as de or pt-BR.")
    validate_system_name(system)
    if has_password(system.partition(":")[2]):
        raise UsageError(
            "A password does not go into the settings of a project, which others get to see: leave it out of the "
            f"address, and set {LOGIN} to NAME:PASSWORD when you translate."
        )
    spec = parse_spec(source)
    reject_export(spec.name)
    items = [item for item in load_spec(spec) if item.language == SOURCE][:limit]
    if not items:
        raise UsageError(f"{source} has no English items; translations are made from English.")
    if language == SOURCE:
        raise UsageError(f"{source} is in English already; name another language to translate into.")
    form = get_item_form(items[0])
    if pairs and form.name != "gest":
        raise UsageError(f"Gendered pairs are made of GEST sentences; {source} has items of the form {form.name}.")
    if not pairs and not form.translatable(items[0]):
        raise UsageError(f"The items of {source} have no English texts to translate.")
    settings = ProjectSettings(
        source=source,
        source_language=SOURCE,
        language=language,
        form=form.name,
        makes=GENDERED_PAIRS if pairs else form.name,
        system=system,
        created=get_timestamp(),
        tiltmeter=tiltmeter.__version__,
        facts=_collect_facts(spec),
        prompts=dict(prompts or PROMPTS) if pairs else {},
    )
    return write_project(folder, settings, map(_build_entry, items))


def validate_new_folder(folder: Path) -> None:
    """A UsageError unless a project can be started in a folder."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; choose another folder.")
    if (folder / SETTINGS).exists():
        raise UsageError(f"{folder} is a project already; choose another folder, or go on with it.")


def write_project(
    folder: Path, settings: ProjectSettings, items: Iterable[ProjectItem], files: Mapping[str, str] | None = None
) -> Project:
    """Write the files of a new project, the settings last; `files` are others with their content."""
    create_folder(folder)
    with lock_project(folder):
        validate_new_folder(folder)
        for leftover in folder.glob(f"{DATABASE}*"):  # of a start that was interrupted
            leftover.unlink()
        store = ProjectStore(folder / DATABASE)
        with store.begin_transaction():
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
    reject_changed_settings(folder / SETTINGS, settings, store.get_remembered())
    return Project(folder, settings, store)


def reject_written_project(project: Project) -> None:
    """A UsageError if the items of a project are written by people, so that there is nothing to translate or repair."""
    if project.settings.system == WRITTEN:
        raise UsageError(
            f"The items of {project.folder} are written by people, not translated: `tiltmeter make write` adds and "
            "checks them, `tiltmeter make rate` and `tiltmeter make review` are next."
        )


def parse_item(line: str) -> Item:
    """The item in a line of JSONL that the project wrote."""
    values = json.loads(line)
    form = detect_form(values)
    read = form.from_json(values).values if form else None
    item, problems = build_item(read or values)
    if item is None:
        raise DataError(f"The source item {values.get('id')!r} is not valid: {problems[0].message}.")
    return item


def _build_entry(item: Item) -> ProjectItem:
    form = get_item_form(item)
    subject = str(form.attributes(item).get(form.subject, ""))
    line = format_line(item)
    return ProjectItem(item.id, form.part_of(item) or "", subject, line, line)


def _collect_facts(spec: Spec) -> SourceFacts:
    if spec.path is not None:
        return SourceFacts(files={spec.path.name: get_sha256(spec.path)})
    data = get_dataset(spec.name)
    files = {
        file.name: get_sha256(path)
        for source in data.select(spec.part, [SOURCE])
        for file, path in zip(source.files, source.paths(), strict=True)
    }
    return SourceFacts(data.licence, data.citation, data.warning, files)
