"""Store the translations of items in a project, and restore blanks that were lost in translation."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tiltmeter.forms.blank import BLANK
from tiltmeter.making.blank_restoration import build_word_locator, restore_blank
from tiltmeter.making.draft import RepairFinding
from tiltmeter.making.item_makers import TextToTranslate
from tiltmeter.making.placeholders import USABLE, Placeholder, PlaceholderMatch
from tiltmeter.making.project import Project
from tiltmeter.making.project_store import ProjectItem, TextRole
from tiltmeter.making.quality.untranslated_items import UntranslatedCounts
from tiltmeter.translators.word_alignment import Eflomal

RESTORED, NOT_RESTORED, MISSING = "blank-restored", "blank-lost", "not-translated"


@dataclass(slots=True)
class TranslationSummary:
    """The result of the step `translate`: numbers of translated items and of items with missing translations.

    `blanks` counts the contexts for each outcome of their blank, such as "kept" or "lost". `failed` maps the items that
    a system for whole items could not translate to the reasons; they stay untranslated. `untranslated` counts the
    items of the project with untranslated text.
    """

    items: int = 0
    blanks: Counter[str] = field(default_factory=Counter)
    not_translated: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    untranslated: UntranslatedCounts = field(default_factory=lambda: UntranslatedCounts(0, ()))
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class BlankedContext:
    """A context with a blank, its best translation, the placeholder of the best translation, and all attempts.

    An attempt has the name of the placeholder, the translation, and the outcome.
    """

    text: str
    best: PlaceholderMatch | None = None
    placeholder: str = ""
    attempts: tuple[tuple[str, str, str], ...] = ()


def add_attempt(blanked: BlankedContext, placeholder: Placeholder, translation: str) -> BlankedContext:
    """Return the context with another attempt added, and with its best translation so far.

    If two translations are equally good, the earlier one is the best.
    """
    found = placeholder.find_in_translation(translation, blanked.text.count(BLANK))
    if found.outcome == "attached" and re.search(rf"\w{BLANK}|{BLANK}\w", blanked.text):
        # Letters are attached to the blank in the source text too, so this is not a fault of the translation.
        found = PlaceholderMatch(found.text, "kept")
    ranks: list[str] = [*USABLE, "doubled", "lost"]
    attempts = (*blanked.attempts, (placeholder.name, translation, found.outcome))
    if blanked.best is not None and ranks.index(found.outcome) >= ranks.index(blanked.best.outcome):
        return replace(blanked, attempts=attempts)
    return BlankedContext(blanked.text, found, placeholder.name, attempts)


def write_translations(
    project: Project,
    system: str,
    entry: ProjectItem,
    wanted: Sequence[TextToTranslate],
    translations: Mapping[str, str],
    blanked: Mapping[str, BlankedContext],
    summary: TranslationSummary,
) -> None:
    """Store the translations of one item, all attempts to translate its contexts, and findings about problems."""
    store = project.store
    texts: dict[TextRole, dict[str, str]] = {"text": {}, "alone": {}, "filled": {}}
    for text in wanted:
        if not text.has_blank and text.text in translations:
            texts[text.role][text.field] = translations[text.text]
    # The first text of a candidate word is its translation without a context; repair steps may replace this text.
    texts["text"] |= texts["alone"]
    findings: list[RepairFinding] = []
    reasons: dict[str, str] = {}
    store.clear_attempts(entry.id)
    for text in wanted:
        if text.has_blank:
            context = blanked[text.text]
            for attempt in context.attempts:
                is_used = attempt[0] == context.placeholder
                store.add_attempt(entry.id, text.field, system, *attempt, used=is_used)
            sources = {other.field: other.text for other in wanted if other.role == "filled"}
            words = {other.field: other.text for other in wanted if other.role == "alone"}
            restored = None
            if context.best is None or context.best.outcome not in USABLE:
                blanks = text.text.count(BLANK)
                restored = restore_blank(sources, words, texts["filled"], texts["alone"], blanks)
            result, reason, found = _settle_context(entry.id, text, context, restored, summary)
            if reason == RESTORED:
                store.add_attempt(entry.id, text.field, system, "filled", result, "restored", used=True)
            if result:
                texts["text"][text.field] = result
                reasons[text.field] = reason
            findings += found
    needed = {text.field for text in wanted if text.role != "filled"}
    missing = sorted(needed - set(texts["text"]))
    findings += [
        RepairFinding(entry.id, name, MISSING, "open", f"{system} did not translate this text.", "") for name in missing
    ]
    summary.not_translated += bool(missing)
    for role, by_field in texts.items():
        for name, translation in by_field.items():
            why = reasons.get(name, "") if role == "text" else ""
            store.set_text(entry.id, role, name, translation, step="translate", by=system, why=why)
    store.replace_findings(entry.id, "translate", findings)
    store.set_stage(entry.id, "translated")
    summary.items += 1


def _settle_context(
    item: str, text: TextToTranslate, context: BlankedContext, restored: str | None, summary: TranslationSummary
) -> tuple[str, str, list[RepairFinding]]:
    """Return the translated context, how its blank was kept, and a finding if the position of the blank is uncertain.

    How the blank was kept is a short text for the history of the item, such as "kept letters".
    """
    best = context.best
    if best is not None and best.outcome in USABLE:
        summary.blanks[best.outcome] += 1
        return best.text, f"{best.outcome} {context.placeholder}", []
    attempt = best.text if best is not None else ""
    if restored is not None:
        summary.blanks["restored"] += 1
        reason = (
            "BLANK was lost in translation. It was restored at the place where the translations of the sentence with "
            "different words filled in differ."
        )
        return restored, RESTORED, [RepairFinding(item, text.field, RESTORED, "proposed", reason, attempt, (restored,))]
    if best is None:
        summary.blanks["not translated"] += 1
        return "", "", []
    summary.blanks[best.outcome] += 1
    reason = f"BLANK was {best.outcome} in translation, and its position could not be found."
    return attempt, NOT_RESTORED, [RepairFinding(item, text.field, NOT_RESTORED, "open", reason, attempt)]


def restore_by_alignment(project: Project, aligner: Eflomal, summary: TranslationSummary) -> None:
    """Propose a place for lost blanks by the word alignment of the sentences with a word filled in."""
    store = project.store
    lost = [stored.finding for stored in store.list_findings(kinds=("open",)) if stored.finding.rule == NOT_RESTORED]
    if not lost:
        return
    drafts = {draft.item: draft for draft in project.build_drafts(project.store.list_items())}
    pairs = [(draft.fill_source(word), text) for draft in drafts.values() for word, text in draft.filled.items()]
    locate = build_word_locator(aligner.align_pairs(pairs), pairs)
    for finding in lost:
        draft = drafts[finding.item]
        sources = {word: draft.fill_source(word) for word in draft.filled}
        blanks = draft.source[finding.field].count(BLANK)
        restored = restore_blank(sources, draft.source, draft.filled, draft.alone, blanks, locate)
        if restored is None:
            continue
        reason = (
            "BLANK was lost in translation. It was restored by the word alignment of the sentence with a word filled "
            "in and its translation."
        )
        proposed = RepairFinding(draft.item, finding.field, RESTORED, "proposed", reason, finding.before, (restored,))
        with store.begin_transaction():
            store.set_text(draft.item, "text", finding.field, restored, step="translate", by=aligner.name, why=RESTORED)
            store.add_attempt(draft.item, finding.field, aligner.name, "alignment", restored, "restored", used=True)
            store.replace_findings(draft.item, "translate", [proposed])
        summary.blanks["lost"] -= 1
        summary.blanks["restored"] += 1
