"""The step `publish`: write the items as JSONL with a data card, a changelog and a Croissant description.

An edition is one published version of the test set. The project keeps all editions. A new edition is written to a
temporary folder, which is renamed when the edition is complete. Then the edition is copied to the output folder.
"""

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tiltmeter.datasets.dataset_spec import PUBLISHED_ITEMS
from tiltmeter.datasets.readers.jsonl import format_line, parse
from tiltmeter.datasets.validation import validate_records
from tiltmeter.errors import DataError, UsageError
from tiltmeter.files import create_temporary_folder, write_atomically, write_text
from tiltmeter.forms import Item
from tiltmeter.making.croissant_file import CROISSANT, make_croissant
from tiltmeter.making.data_card import CARD, CHANGELOG, make_card, make_changelog, make_title
from tiltmeter.making.exchange.csv_table import write_table
from tiltmeter.making.item_makers import TRANSLATION, WRITTEN
from tiltmeter.making.licences import find_publishing_licence
from tiltmeter.making.open_problems import AssembledItems, assemble_items
from tiltmeter.making.project import Project
from tiltmeter.making.project_lock import lock_project
from tiltmeter.making.quality.untranslated_items import UntranslatedCounts, count_untranslated
from tiltmeter.making.quality.untranslated_text import UNTRANSLATED
from tiltmeter.making.review.review_outcomes import apply_changed_rule, list_drop_reasons
from tiltmeter.making.timestamp import get_timestamp
from tiltmeter.text_files import read_bytes, read_json

EDITION = "edition.json"
TRANSLATIONS = "translations.csv"
_EDITIONS = "editions"
# The keys that `edition.json` must have when it is read, with the types of their values.
_FACTS: dict[str, type] = {
    "edition": int,
    "published": str,
    "licence": str,
    "items": int,
    "sha256": str,
    "changes": dict,
}

# The treatment of items with open problems. refuse: stop with an error. keep: publish them too. leave-out: omit them.
OpenItems = Literal["refuse", "keep", "leave-out"]
OPEN_ITEMS: tuple[OpenItems, ...] = ("refuse", "keep", "leave-out")


# What `publish_project` accepts with a reason.
ACCEPTABLE = (UNTRANSLATED,)


class OpenItemsError(UsageError):
    """Some items have open problems, which should be settled before the publication."""

    on_page = (
        "Some items have open problems or are not translated. "
        "Settle the problems, publish these items too, or leave these items out."
    )


class UntranslatedError(UsageError):
    """Too many items have untranslated text, which should be settled or accepted before the publication."""

    on_page = (
        "Too many items have untranslated text. Settle them in the review, leave out items with open problems, or "
        "raise `untranslated_share` in project.toml."
    )


@dataclass(frozen=True, slots=True)
class Edition:
    """A published version of the test set: its number, its folder, and the content of `edition.json` (`facts`).

    `is_new` is false if the publication only updated the files of an earlier edition.
    """

    number: int
    folder: Path
    facts: dict[str, Any]
    is_new: bool = False


def publish_project(
    project: Project,
    out: Path | str,
    *,
    open_items: OpenItems = "refuse",
    licence: str = "",
    accepted: Mapping[str, str] | None = None,
) -> Edition:
    """Publish the items of a project as a new edition, copy the edition to the folder `out`, and return it.

    `accepted` maps what would stop the publication, `untranslated`, to the reason for accepting it; the reason is in
    the data card.

    If the items and the licence have not changed since the last edition, the last edition is updated and copied.
    """
    settings = project.settings
    is_written = settings.system == WRITTEN
    allowed = find_publishing_licence(settings.facts.licence, licence or settings.licence, is_written=is_written)
    with lock_project(project.folder):
        apply_changed_rule(project)
        assembled = assemble_items(project)
        items, left_out = _select_items(project, assembled, open_items)
        checked = _check_untranslated(project, items, accepted or {})
        last = find_last_edition(project)
        lines = "".join(format_line(item) + "\n" for item in items)
        is_new = last is None or last.facts["sha256"] != _compute_sha256(lines) or last.facts["licence"] != allowed
        if last is not None and not is_new:
            # The items have not changed, but the data card must include the decisions since the last edition. Damaged
            # files are replaced.
            folder, facts = last.folder, {**last.facts, "open_items": open_items, "left_out": left_out, **checked}
            _write_files(project, assembled, items, lines, facts, folder)
        else:
            facts = _build_facts(project, items, lines, left_out, allowed, last, open_items) | checked
            with create_temporary_folder(project.folder / _EDITIONS) as part:
                _write_files(project, assembled, items, lines, facts, part)
                found = validate_records(PUBLISHED_ITEMS, parse(part / PUBLISHED_ITEMS))
                if found.errors:
                    raise DataError(f"The items are invalid, so nothing is published: {found.errors[0]}.")
                part.chmod(0o755)
                folder = part.rename(part.parent / str(facts["edition"]))
        _copy_edition(folder, Path(out))
    return Edition(facts["edition"], Path(out), facts, is_new)


def find_last_edition(project: Project) -> Edition | None:
    """Return the last edition of a project, or None if there is no edition."""
    folders = _list_edition_folders(project)
    if not folders:
        return None
    return Edition(int(folders[-1].name), folders[-1], _read_facts(folders[-1]))


def _list_edition_folders(project: Project) -> list[Path]:
    paths = (project.folder / _EDITIONS).glob("[0-9]*")
    folders = [path for path in paths if path.is_dir() and path.name.isascii() and path.name.isdigit()]
    return sorted(folders, key=lambda path: int(path.name))


def _read_facts(folder: Path) -> dict[str, Any]:
    """Return the content of `edition.json` in the folder of an edition; raise a DataError if the file is damaged."""
    facts = read_json(folder / EDITION)
    if not isinstance(facts, dict) or not all(isinstance(facts.get(name), kind) for name, kind in _FACTS.items()):
        raise DataError(f"{folder / EDITION} is damaged; restore it from a copy of this edition.")
    return facts


def _select_items(
    project: Project, assembled: AssembledItems, open_items: OpenItems
) -> tuple[list[Item], dict[str, str]]:
    """Return the items to publish, and a dictionary from the id of each item that is left out to the reason."""
    waiting = [entry.id for entry in project.store.list_items("source")]
    errors = {problem.item: problem.message for problem in assembled.problems if problem.kind == "error"}
    unsettled = {problem.item: problem.message for problem in reversed(assembled.problems)}
    if open_items == "refuse" and (unsettled or waiting):
        raise OpenItemsError(
            f"{len(unsettled):,} items have open problems and {len(waiting):,} are not translated; `tiltmeter make "
            "status` lists the problems. Settle the problems, publish these items with --open keep (the data card "
            "lists the problems), or omit these items with --open leave-out."
        )
    left_out = dict.fromkeys(waiting, "not translated")
    left_out |= {item: f"cannot be built: {reason}" for item, reason in assembled.rejected.items()}
    left_out |= {item: f"invalid: {message}" for item, message in errors.items()}
    if open_items == "leave-out":
        left_out |= {item: f"open problem: {message}" for item, message in unsettled.items() if item not in left_out}
    items = [item for item in assembled.items if item.id not in left_out]
    if not items:
        raise UsageError("There is no item to publish; `tiltmeter make status` lists the open problems.")
    return items, left_out


def _check_untranslated(project: Project, items: Sequence[Item], accepted: Mapping[str, str]) -> dict[str, Any]:
    """Return facts about untranslated text; raise an UntranslatedError if its share is too high and not accepted."""
    if unknown := [name for name in accepted if name not in ACCEPTABLE]:
        raise UsageError(f"{unknown[0]!r} cannot be accepted; choose from {', '.join(ACCEPTABLE)}.")
    counts = count_untranslated(project, [item.id for item in items])
    if counts is None:
        return {}
    limit, reason = project.settings.untranslated_share, accepted.get(UNTRANSLATED, "").strip()
    if UNTRANSLATED in accepted and not reason:
        raise UsageError("The reason for accepting untranslated text is empty; write --accept untranslated=REASON.")
    if counts.share > limit and not reason:
        raise UntranslatedError(_explain_untranslated(counts, limit))
    facts = {**counts.to_json(), "allowed_share": limit, "accepted_because": reason if counts.share > limit else ""}
    return {UNTRANSLATED: facts}


def _explain_untranslated(counts: UntranslatedCounts, limit: float) -> str:
    limits = f" Loan words are counted too, because {counts.limits}." if counts.limits else ""
    return (
        f"{len(counts.untranslated):,} of {counts.items:,} items ({counts.share:.1%}) have untranslated text, for "
        f"example {', '.join(counts.untranslated[:3])}; the setting `untranslated_share` allows {limit:.1%}.{limits} "
        "Settle them in the review, omit items with open problems with --open leave-out, or publish with "
        "--accept untranslated=REASON."
    )


def _build_facts(
    project: Project,
    items: Sequence[Item],
    lines: str,
    left_out: Mapping[str, str],
    licence: str,
    last: Edition | None,
    open_items: OpenItems,
) -> dict[str, Any]:
    """Return the content of `edition.json` for a new edition."""
    return {
        "edition": last.number + 1 if last else 1,
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
        "changes": _find_changes(last, lines, {**left_out, **list_drop_reasons(project)}),
    }


def _write_files(
    project: Project,
    assembled: AssembledItems,
    items: Sequence[Item],
    lines: str,
    facts: Mapping[str, Any],
    folder: Path,
) -> None:
    """Write the files of an edition to its folder; files that already have the right content are not written."""
    earlier = [_read_facts(path) for path in _list_edition_folders(project) if int(path.name) < facts["edition"]]
    contents = {
        PUBLISHED_ITEMS: lines,
        CARD: make_card(project, assembled, items, facts),
        CHANGELOG: make_changelog([*earlier, facts]),
        CROISSANT: make_croissant(project, make_title(project, facts["language"]), items, facts),
        EDITION: json.dumps(facts, ensure_ascii=False, indent=1) + "\n",
    }
    for name, text in contents.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != text.encode():
            write_text(path, text)
    if translations := _list_translations(project, items):
        write_table(folder / TRANSLATIONS, ("from", "to"), translations)


def _list_translations(project: Project, items: Sequence[Item]) -> list[dict[str, str]]:
    """Return the translations that people wrote for GEST sentences; each row has the columns `from` and `to`."""
    if project.settings.system != WRITTEN or project.settings.form != "gest":
        return []
    texts = project.store.list_texts("text")
    pairs = [(texts[item.id]["sentence"], texts[item.id].get(TRANSLATION, "")) for item in items]
    return [{"from": sentence, "to": translation} for sentence, translation in pairs if translation]


def _find_changes(last: Edition | None, lines: str, reasons: Mapping[str, str]) -> dict[str, Any]:
    """Return the changes since the last edition; an empty dictionary if there is no earlier edition.

    The keys are `added` (a list of ids), `removed` (ids with reasons) and `changed` (ids with the changed fields).
    """
    if last is None:
        return {}
    published = read_bytes(last.folder / PUBLISHED_ITEMS)
    if hashlib.sha256(published).hexdigest() != last.facts["sha256"]:
        raise DataError(
            f"{last.folder / PUBLISHED_ITEMS} was changed after its publication; restore the file from a copy of this "
            "edition."
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
    for name in (PUBLISHED_ITEMS, TRANSLATIONS, CARD, CHANGELOG, CROISSANT, EDITION):
        if (source / name).exists():
            with write_atomically(out / name) as part:
                shutil.copyfile(source / name, part)


def _compute_sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
