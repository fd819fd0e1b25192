"""Untranslated text in the items of a project, and in a set of items in comparison with its source."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tiltmeter.datasets.validation_findings import Finding
from tiltmeter.errors import UsageError
from tiltmeter.forms import Item, get_form, get_item_form
from tiltmeter.language_codes import is_same_language
from tiltmeter.making.draft import RepairFinding
from tiltmeter.making.item_makers import WRITTEN
from tiltmeter.making.project import Project
from tiltmeter.making.project_store import ProjectItem
from tiltmeter.making.quality.untranslated_text import (
    UNTRANSLATED,
    UntranslatedCheck,
    UntranslatedText,
    create_untranslated_check,
)


@dataclass(frozen=True, slots=True)
class UntranslatedCounts:
    """The number of checked items, of items with untranslated text, and of those that reviewers accepted.

    `limits` says what was missing for a complete check, such as a dictionary; empty if nothing was missing.
    """

    items: int
    untranslated: tuple[str, ...]
    accepted: tuple[str, ...] = ()
    dictionary: str = ""
    limits: str = ""

    @property
    def share(self) -> float:
        """The share of items with untranslated text that no reviewer has accepted."""
        return len(self.untranslated) / self.items if self.items else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the counts as JSON values."""
        return {
            "items": self.items,
            "untranslated": len(self.untranslated),
            "accepted_by_reviewers": len(self.accepted),
            "share": round(self.share, 4),
            "dictionary": self.dictionary,
            "limits": self.limits,
        }


def store_untranslated_findings(project: Project) -> UntranslatedCounts:
    """Check all translated items without a decision, and store a finding for each untranslated text."""
    store = project.store
    decided = store.list_decided_items()
    entries = [entry for entry in store.list_items() if entry.stage in ("translated", "repaired")]
    entries = [entry for entry in entries if entry.id not in decided]
    found = _check_entries(project, entries)
    with store.begin_transaction():
        for entry, texts in found.items():
            if any(store.list_decisions(entry)):
                continue
            current = store.list_texts("text", entry).get(entry, {})
            findings = [
                RepairFinding(entry, text.field, UNTRANSLATED, "open", text.message, current.get(text.field, ""))
                for text in texts
            ]
            store.replace_findings(entry, "check", findings)
    return _count(project, found)


def count_untranslated(project: Project, ids: Iterable[str]) -> UntranslatedCounts | None:
    """Return the counts for these items with their current texts; None if people wrote the items of the project."""
    if project.settings.system == WRITTEN:
        return None
    wanted = set(ids)
    entries = [entry for entry in project.store.list_items() if entry.id in wanted]
    return _count(project, _check_entries(project, entries), {e.id for e in entries if e.stage == "reviewed"})


def _count(
    project: Project, found: dict[str, list[UntranslatedText]], reviewed: Iterable[str] = ()
) -> UntranslatedCounts:
    check = _create_check(project, ())
    named = [item for item, texts in found.items() if texts]
    settled = set(reviewed)
    return UntranslatedCounts(
        len(found),
        tuple(item for item in named if item not in settled),
        tuple(item for item in named if item in settled),
        check.dictionary.name if check.dictionary else "",
        check.limits,
    )


def _check_entries(project: Project, entries: Sequence[ProjectItem]) -> dict[str, list[UntranslatedText]]:
    if not entries:
        return {}
    drafts = project.build_drafts(entries)
    marked = project.store.list_unknown_words()
    check = _create_check(project, _list_source_texts(project))
    return {draft.item: check.find_untranslated(draft.source, draft.texts, marked.get(draft.item)) for draft in drafts}


def _list_source_texts(project: Project) -> Iterator[str]:
    form = get_form(project.settings.form)
    for entry in project.store.list_items(dropped=None):
        yield from form.translatable(project.get_source_item(entry)).values()


def _create_check(project: Project, texts: Iterable[str]) -> UntranslatedCheck:
    return create_untranslated_check(project.settings.source_language, project.settings.language, texts)


def compare_with_source(items: Sequence[Item], source: Sequence[Item], file: str) -> list[Finding]:
    """Return a warning for each untranslated text of the items; items are matched with their sources by id."""
    sources = {item.id: item for item in source}
    pairs = [(item, sources[item.id]) for item in items if item.id in sources]
    if not pairs:
        raise UsageError(
            f"{file} has no item with the id of an item in the source; choose the source from which it was translated."
        )
    findings = []
    for language in dict.fromkeys(item.language for item, _ in pairs):
        own = [(item, original) for item, original in pairs if item.language == language]
        original_language = own[0][1].language
        if is_same_language(language, original_language):
            raise UsageError(f"{file} and its source are both in {language!r}; choose a source in another language.")
        texts = [(item, _list_texts(original), _list_texts(item)) for item, original in own]
        check = create_untranslated_check(
            original_language, language, (text for _, original, _ in texts for text in original.values())
        )
        for item, original, translated in texts:
            for text in check.find_untranslated(original, translated):
                findings.append(
                    Finding("warning", UNTRANSLATED, file, f"item {item.id}", text.field, item.id, text.message)
                )
    return findings


def _list_texts(item: Item) -> dict[str, str]:
    form = get_item_form(item)
    return form.translatable(item) or dict(form.texts(item))
