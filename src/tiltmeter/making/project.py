"""A project makes one test set. It is a folder with the settings (`project.toml`) and an SQLite file with the items."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Self

import tiltmeter
from tiltmeter.datasets.dataset_loader import get_dataset, load_spec, reject_text_export
from tiltmeter.datasets.dataset_spec import Spec, parse_spec
from tiltmeter.datasets.file_hashes import get_sha256
from tiltmeter.datasets.raw_records import BrokenFileError, build_item
from tiltmeter.datasets.readers.decoded_text import read_text
from tiltmeter.datasets.readers.jsonl import format_line
from tiltmeter.datasets.validation_findings import Finding
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
from tiltmeter.making.project_store import ProjectItem, ProjectStore
from tiltmeter.making.timestamp import get_timestamp
from tiltmeter.translators import validate_system_name
from tiltmeter.translators.server_login import LOGIN, has_password
from tiltmeter.translators.translator_protocol import SOURCE

DATABASE = "project.sqlite"


class Project:
    """An open project, which makes a test set: its folder, its settings and its database."""

    def __init__(self, folder: Path, settings: ProjectSettings, store: ProjectStore) -> None:
        self.folder = folder
        self.settings = settings
        self.store = store
        # A cache of validation findings, which `open_problems.examine_texts` fills.
        self.examined: dict[object, list[Finding]] = {}

    @cached_property
    def maker(self) -> ItemMaker:
        """The object that lists the texts to translate and builds the new items from the translations."""
        if self.settings.system == WRITTEN:
            return WrittenItemMaker(get_form(self.settings.form))
        if self.settings.makes == GENDERED_PAIRS:
            return GenderedPairMaker(self.settings.prompts, self.settings.system)
        return TranslatedItemMaker(get_form(self.settings.form), self.settings.filled)

    def get_source_item(self, entry: ProjectItem) -> Item:
        """Return the source item (after corrections) from which a stored item is made."""
        return parse_item(entry.source)

    def build_drafts(self, items: Sequence[ProjectItem]) -> list[Draft]:
        """Return the drafts of items (their source texts and translations) for the repair steps."""
        one = items[0].id if len(items) == 1 else None
        texts, filled, alone = (self.store.list_texts(role, one) for role in ("text", "filled", "alone"))
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

    def read_guidelines(self) -> str:
        """Return the text of the guidelines for reviewers; an empty text if the project has no guidelines."""
        name = self.settings.guidelines
        if not name:
            return ""
        path = self.folder / name
        if not path.resolve().is_relative_to(self.folder.resolve()):
            raise UsageError(
                f"The setting `guidelines` in {SETTINGS} names the file {name}, which is outside the project's folder; "
                "move the file into the folder."
            )
        if not path.is_file():
            raise UsageError(
                f"The file {path} does not exist; create it, or change the setting `guidelines` in {SETTINGS}."
            )
        try:
            return read_text(path).strip()
        except BrokenFileError as error:
            raise DataError(f"{path} {error}.") from error

    def has_read_notice(self, name: str) -> bool:
        """Return whether a person has read the guidelines and the notice about contents."""
        return self.store.has_read_notice(name.strip())

    def record_notice(self, name: str) -> None:
        """Record that a person has read the guidelines and the notice about contents."""
        with self.store.begin_transaction():
            self.store.record_notice(name.strip())

    def close(self) -> None:
        """Close the database of the project."""
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
    """Create and return a project that translates the English items of the data set `source`.

    `language` is the target language, `system` the translation system. With `pairs`, the project makes gendered pairs
    from GEST sentences. `limit` is the maximum number of items; each part gives the same share of its items. `prompts`
    maps each gender to an English prompt that makes the system choose this gender; only projects with `pairs` use the
    prompts.
    """
    folder = Path(folder)
    validate_new_folder(folder)
    if not is_language_code(language):
        raise UsageError(f"{language!r} is not a language code; use a code such as de or pt-BR.")
    validate_system_name(system)
    if has_password(system.partition(":")[2]):
        raise UsageError(
            "The address of the translation server contains a password, which others could read in project.toml; "
            "remove it from the address, "
            f"and set {LOGIN} to NAME:PASSWORD when you translate."
        )
    spec = parse_spec(source)
    reject_text_export(spec.name)
    items = select_share([item for item in load_spec(spec) if item.language == SOURCE], limit)
    if not items:
        raise UsageError(f"{source} has no English items; only English items can be translated.")
    if language == SOURCE:
        raise UsageError(f"{source} is already in English; choose another target language.")
    form = get_item_form(items[0])
    if pairs and form.name != "gest":
        raise UsageError(f"Gendered pairs need GEST sentences, but {source} has items of the form {form.name}.")
    if not pairs and not form.translatable(items[0]):
        raise UsageError(f"The items of {source} have no texts to translate.")
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


def select_share(items: Sequence[Item], limit: int | None) -> list[Item]:
    """Return at most `limit` items in their order: the first items of each part, and the same share of each part."""
    if limit is None or limit >= len(items):
        return list(items)
    parts = [get_item_form(item).part_of(item) or "" for item in items]
    exact = {part: limit * count / len(items) for part, count in Counter(parts).items()}
    wanted = Counter({part: int(share) for part, share in exact.items()})
    # The items that are missing because of rounding come from the parts with the largest remainders.
    for part in sorted(exact, key=lambda part: int(exact[part]) - exact[part])[: limit - wanted.total()]:
        wanted[part] += 1
    chosen: list[Item] = []
    for item, part in zip(items, parts, strict=True):
        if wanted[part] > 0:
            wanted[part] -= 1
            chosen.append(item)
    return chosen


def validate_new_folder(folder: Path) -> None:
    """Raise a UsageError if the path is a file, or if the folder already has a project."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; choose another folder.")
    if (folder / SETTINGS).exists():
        raise UsageError(f"{folder} is already a project; choose another folder, or continue with this project.")


def write_project(
    folder: Path, settings: ProjectSettings, items: Iterable[ProjectItem], files: Mapping[str, str] | None = None
) -> Project:
    """Write a new project to a folder, and return it; `files` maps the names of additional files to their contents.

    `project.toml` is written last, so every folder with this file is a complete project.
    """
    create_folder(folder)
    with lock_project(folder):
        validate_new_folder(folder)
        # Delete the files that an interrupted `write_project` has left.
        for leftover in folder.glob(f"{DATABASE}*"):
            leftover.unlink()
        store = ProjectStore(folder / DATABASE)
        with store.begin_transaction():
            store.add_items(items)
            store.store_values(settings.fixed_settings)
        for name, content in (files or {}).items():
            write_text(folder / name, content)
        write_settings(folder, settings)
    return Project(folder, settings, store)


def open_project(folder: Path | str) -> Project:
    """Open and return the project in a folder; raise a UsageError if the folder has no project."""
    folder = Path(folder)
    if not (folder / SETTINGS).is_file():
        raise UsageError(f"{folder} is not a project: it has no {SETTINGS}; start one with `tiltmeter make new`.")
    settings = read_settings(folder)
    if not (folder / DATABASE).is_file():
        raise UsageError(f"{folder} has no {DATABASE} with the items and decisions; restore it from a backup.")
    store = ProjectStore(folder / DATABASE)
    if store.is_blank:
        store.close()
        raise UsageError(f"{folder / DATABASE} is empty; restore it from a backup.")
    reject_changed_settings(folder / SETTINGS, settings, store.get_stored_values())
    return Project(folder, settings, store)


def reject_written_project(project: Project) -> None:
    """Raise a UsageError if people wrote the items of a project; written items cannot be translated or repaired."""
    if project.settings.system == WRITTEN:
        raise UsageError(
            f"The items of {project.folder} are written by people, not translated; use `tiltmeter make write`, "
            "`tiltmeter make rate` and `tiltmeter make review`."
        )


@lru_cache(maxsize=1000)
def parse_item(line: str) -> Item:
    """Return the item that a line of JSONL describes; raise a DataError if the item is invalid."""
    values = json.loads(line)
    form = detect_form(values)
    read = form.from_json(values).values if form else None
    item, problems = build_item(read or values)
    if item is None:
        raise DataError(f"The source item {values.get('id')!r} is invalid: {problems[0].message}.")
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
        for file, path in zip(source.files, source.fetch_files(), strict=True)
    }
    return SourceFacts(data.licence, data.citation, data.warning, files)
