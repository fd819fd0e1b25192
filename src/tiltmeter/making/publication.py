"""The step `publish`: the items as JSONL, a data card, and a changelog against the last edition.

Editions are kept in the project, each in a folder that appears at once by renaming; the last one is then copied out.
"""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tiltmeter.datasets.dataset_spec import PUBLISHED_ITEMS
from tiltmeter.datasets.readers.jsonl import format_line, parse
from tiltmeter.datasets.validation import validate_records
from tiltmeter.errors import DataError, UsageError
from tiltmeter.files import write_atomically, write_text
from tiltmeter.forms import Item
from tiltmeter.making.data_card import CARD, CHANGELOG, make_card, make_changelog
from tiltmeter.making.exchange.csv_table import write_table
from tiltmeter.making.item_makers import TRANSLATION, WRITTEN
from tiltmeter.making.licences import find_publishing_licence
from tiltmeter.making.open_problems import AssembledItems, assemble_items
from tiltmeter.making.project import Project
from tiltmeter.making.project_lock import lock_project
from tiltmeter.making.project_store import get_timestamp
from tiltmeter.making.review.review_outcomes import apply_changed_rule
from tiltmeter.text_files import read_bytes, read_json

EDITION = "edition.json"
TRANSLATIONS = "translations.csv"
_EDITIONS = "editions"
# What is read of the description of an edition.
_FACTS: dict[str, type] = {
    "edition": int,
    "published": str,
    "licence": str,
    "items": int,
    "sha256": str,
    "changes": dict,
}

# What to do with items about which something is open: refuse to publish, publish them too, or leave them out.
OpenItems = Literal["refuse", "keep", "leave-out"]
OPEN_ITEMS: tuple[OpenItems, ...] = ("refuse", "keep", "leave-out")


class OpenItemsError(UsageError):
    """Items are open, and were to be settled before anything is published."""

    on_page = "Items have open problems or are not translated. Settle them, publish them too, or leave them out."


@dataclass(frozen=True, slots=True)
class Edition:
    """A published edition: its number, and what `edition.json` says."""

    number: int
    folder: Path
    facts: dict[str, Any]
    is_new: bool


def publish_project(
    project: Project, out: Path | str, *, open_items: OpenItems = "refuse", licence: str = ""
) -> Edition:
    """Make a new edition, unless nothing has changed since the last one, and copy it to the folder `out`."""
    settings = project.settings
    is_written = settings.system == WRITTEN
    allowed = find_publishing_licence(settings.facts.licence, licence or settings.licence, is_written=is_written)
    with lock_project(project.folder):
        apply_changed_rule(project)
        assembled = assemble_items(project)
        items, left_out = _select_items(project, assembled, open_items)
        last = find_last_edition(project)
        lines = "".join(format_line(item) + "\n" for item in items)
        if last is not None and last.is_same(lines, allowed):
            edition = _refresh_edition(project, assembled, items, lines, left_out, last, open_items)
        else:
            edition = _create_edition(project, assembled, items, lines, left_out, allowed, last, open_items)
        _copy_edition(edition.folder, Path(out))
    is_new = last is None or edition.number != last.number
    return Edition(edition.number, Path(out), edition.facts, is_new=is_new)


@dataclass(frozen=True, slots=True)
class _LastEdition:
    number: int
    folder: Path
    facts: dict[str, Any]

    def is_same(self, lines: str, licence: str) -> bool:
        return bool(self.facts["sha256"] == _compute_sha256(lines) and self.facts["licence"] == licence)


def find_last_edition(project: Project) -> _LastEdition | None:
    """The last edition of a project, if there is one."""
    folders = _list_edition_folders(project.folder / _EDITIONS)
    if not folders:
        return None
    return _LastEdition(int(folders[-1].name), folders[-1], _read_facts(folders[-1]))


def _list_edition_folders(editions: Path) -> list[Path]:
    """The folders of all editions, in order."""
    found = [path for path in editions.glob("[0-9]*") if path.is_dir() and path.name.isascii() and path.name.isdigit()]
    return sorted(found, key=lambda path: int(path.name))


def _read_facts(folder: Path) -> dict[str, Any]:
    """What is said of an edition; a DataError if its file is damaged."""
    facts = read_json(folder / EDITION)
    if not isinstance(facts, dict) or not all(isinstance(facts.get(name), kind) for name, kind in _FACTS.items()):
        raise DataError(f"{folder / EDITION} is not as it was written; restore it from the edition that was published.")
    return facts


def _select_items(
    project: Project, assembled: AssembledItems, open_items: OpenItems
) -> tuple[list[Item], dict[str, str]]:
    """The items to publish, and those left out with the reason."""
    waiting = [entry.id for entry in project.store.items("source")]
    errors = {problem.item: problem.message for problem in assembled.problems if problem.kind == "error"}
    unsettled = {problem.item: problem.message for problem in reversed(assembled.problems)}
    if open_items == "refuse" and (unsettled or waiting):
        raise OpenItemsError(
            f"{len(unsettled):,} items have open problems and {len(waiting):,} are not translated; `tiltmeter make "
            "status` lists them. Settle them, or publish with --open keep (they are named in the data card) or --open "
            "leave-out."
        )
    left_out = dict.fromkeys(waiting, "it is not translated")
    left_out |= {item: f"it cannot be made, because {reason}" for item, reason in assembled.rejected.items()}
    left_out |= {item: f"it is not valid: {message}" for item, message in errors.items()}
    if open_items == "leave-out":
        left_out |= {item: f"it is open: {message}" for item, message in unsettled.items() if item not in left_out}
    items = [item for item in assembled.items if item.id not in left_out]
    if not items:
        raise UsageError("There is no item to publish; `tiltmeter make status` says what is open.")
    return items, left_out


def _create_edition(
    project: Project,
    assembled: AssembledItems,
    items: Sequence[Item],
    lines: str,
    left_out: Mapping[str, str],
    licence: str,
    last: _LastEdition | None,
    open_items: OpenItems,
) -> _LastEdition:
    editions = project.folder / _EDITIONS
    editions.mkdir(exist_ok=True)
    for leftover in editions.glob(".part-*"):  # of a publication that was interrupted
        shutil.rmtree(leftover, ignore_errors=True)
    part = Path(tempfile.mkdtemp(prefix=".part-", dir=editions))
    try:
        return _write_edition(project, assembled, items, lines, left_out, licence, last, open_items, part)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _write_edition(
    project: Project,
    assembled: AssembledItems,
    items: Sequence[Item],
    lines: str,
    left_out: Mapping[str, str],
    licence: str,
    last: _LastEdition | None,
    open_items: OpenItems,
    part: Path,
) -> _LastEdition:
    """Write the files of an edition to a folder of its own, which then appears at once."""
    editions = part.parent
    number = last.number + 1 if last else 1
    write_text(part / PUBLISHED_ITEMS, lines)
    found = validate_records(PUBLISHED_ITEMS, parse(part / PUBLISHED_ITEMS))
    if found.errors:
        raise DataError(f"The items are not valid, so nothing is published: {found.errors[0]}.")
    facts = {
        "edition": number,
        "published": get_timestamp(),
        "language": items[0].language,
        "form": project.settings.makes,
        "source": project.settings.source,
        "system": project.settings.system,
        "licence": licence,
        "items": len(items),
        "sha256": _compute_sha256(lines),
        "open_items": open_items,
        "left_out": dict(left_out),
        "changes": _find_changes(last, lines, _collect_reasons(project, left_out)),
    }
    write_text(part / EDITION, _format_edition(facts))
    write_text(part / CARD, make_card(project, assembled, items, facts))
    if translations := _list_translations(project, items):
        write_table(part / TRANSLATIONS, ("from", "to"), translations)
    earlier = [_read_facts(path) for path in _list_edition_folders(editions)]
    write_text(part / CHANGELOG, make_changelog([*earlier, facts]))
    part.chmod(0o755)
    folder = editions / str(number)
    part.rename(folder)
    return _LastEdition(number, folder, facts)


def _refresh_edition(
    project: Project,
    assembled: AssembledItems,
    items: Sequence[Item],
    lines: str,
    left_out: Mapping[str, str],
    last: _LastEdition,
    open_items: OpenItems,
) -> _LastEdition:
    """The last edition, whose items are the same, with a card that says what was decided and left out since.

    Files of it that were damaged meanwhile are written again, for they are copied out.
    """
    facts = {**last.facts, "open_items": open_items, "left_out": dict(left_out)}
    earlier = [_read_facts(path) for path in _list_edition_folders(last.folder.parent)[:-1]]
    contents = {
        PUBLISHED_ITEMS: lines,
        CARD: make_card(project, assembled, items, facts),
        CHANGELOG: make_changelog([*earlier, facts]),
        EDITION: _format_edition(facts),
    }
    for name, text in contents.items():
        path = last.folder / name
        if not path.is_file() or path.read_bytes() != text.encode():
            write_text(path, text)
    if translations := _list_translations(project, items):
        write_table(last.folder / TRANSLATIONS, ("from", "to"), translations)
    return _LastEdition(last.number, last.folder, facts)


def _format_edition(facts: Mapping[str, Any]) -> str:
    return json.dumps(facts, ensure_ascii=False, indent=1) + "\n"


def _list_translations(project: Project, items: Sequence[Item]) -> list[dict[str, str]]:
    """The translations that were written beside GEST sentences, as a file of translations has them."""
    if project.settings.system != WRITTEN or project.settings.form != "gest":
        return []
    texts = project.store.texts("text")
    pairs = [(texts[item.id]["sentence"], texts[item.id].get(TRANSLATION, "")) for item in items]
    return [{"from": sentence, "to": translation} for sentence, translation in pairs if translation]


def _collect_reasons(project: Project, left_out: Mapping[str, str]) -> dict[str, str]:
    dropped = {entry.id: entry.dropped for entry in project.store.items(dropped=True) if entry.dropped is not None}
    return {**left_out, **dropped}


def _find_changes(last: _LastEdition | None, lines: str, reasons: Mapping[str, str]) -> dict[str, Any]:
    """What changed since the last edition: items added, removed (with reasons) and changed (with their fields)."""
    if last is None:
        return {}
    published = read_bytes(last.folder / PUBLISHED_ITEMS)
    if hashlib.sha256(published).hexdigest() != last.facts["sha256"]:
        raise DataError(
            f"{last.folder / PUBLISHED_ITEMS} is not as it was published; restore it from where you published it to."
        )
    before = _index_by_id(published.decode())
    after = _index_by_id(lines)
    changed = {
        item: sorted(key for key in before[item].keys() | values.keys() if before[item].get(key) != values.get(key))
        for item, values in after.items()
        if item in before and before[item] != values
    }
    return {
        "added": [item for item in after if item not in before],
        "removed": {item: reasons.get(item, "") for item in before if item not in after},
        "changed": changed,
    }


def _index_by_id(lines: str) -> dict[str, dict[str, Any]]:
    values = [json.loads(line) for line in lines.split("\n") if line]
    return {entry["id"]: entry for entry in values}


def _copy_edition(source: Path, out: Path) -> None:
    """Copy an edition to a folder, each file at once, the description of the edition last."""
    for name in (PUBLISHED_ITEMS, TRANSLATIONS, CARD, CHANGELOG, EDITION):
        if (source / name).exists():
            with write_atomically(out / name) as part:
                shutil.copyfile(source / name, part)


def _compute_sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
