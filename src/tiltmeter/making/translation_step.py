"""The step `translate`: translate all texts of the source items with one system, and keep their blanks.

Each translation is cached as soon as it arrives. So after an interruption, at most one request is paid for twice. Items
are written to the project in batches. Each batch is one transaction.
"""

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.errors import UsageError
from tiltmeter.forms import get_form
from tiltmeter.forms.blank import BLANK
from tiltmeter.making.blank_restoration import build_word_locator, restore_blank
from tiltmeter.making.draft import RepairFinding
from tiltmeter.making.item_makers import TextToTranslate
from tiltmeter.making.item_translation import list_item_texts, list_new_texts, translate_items
from tiltmeter.making.placeholders import SURE, USABLE, Placeholder, PlaceholderMatch, select_placeholders
from tiltmeter.making.project import Project, reject_written_project
from tiltmeter.making.project_lock import lock_project
from tiltmeter.making.project_store import ProjectItem, TextRole
from tiltmeter.making.quality.untranslated_items import UntranslatedCounts, store_untranslated_findings
from tiltmeter.making.step_completion import complete_step
from tiltmeter.making.unrecorded_work import UnrecordedWork
from tiltmeter.progress.progress import Progress, ReportProgress, ignore_progress
from tiltmeter.translators import (
    ItemTranslator,
    MarkingTranslator,
    PartialTranslator,
    ProtectingTranslator,
    Translator,
)
from tiltmeter.translators.batch_translation import list_untranslated_texts, translate_texts
from tiltmeter.translators.cost import require_consent
from tiltmeter.translators.translation_store import TranslationStore
from tiltmeter.translators.word_alignment import Eflomal

# Number of items that are stored in one transaction.
_BATCH = 100

# Systems that translate whole items get BLANK itself.
_KEPT_BLANK = Placeholder("plain", BLANK)

RESTORED, NOT_RESTORED, MISSING = "blank-restored", "blank-lost", "not-translated"
_STEP: Final = "translate"


@dataclass(frozen=True, slots=True)
class TranslationVolume:
    """The number of texts and characters to translate for each type of text.

    `new_texts` and `new_characters` count only texts whose translation is not cached.
    """

    texts: Counter[str]
    characters: Counter[str]
    new_texts: int
    new_characters: int


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
class _BlankedContext:
    """A context with a blank, its best translation, the placeholder of the best translation, and all attempts.

    An attempt has the name of the placeholder, the translation, and the outcome.
    """

    text: str
    best: PlaceholderMatch | None = None
    placeholder: str = ""
    attempts: tuple[tuple[str, str, str], ...] = ()


def estimate_volume(
    project: Project, translator: Translator, entries: Sequence[ProjectItem] | None = None
) -> TranslationVolume:
    """Return the number of texts and characters to translate, for all untranslated items or for `entries`.

    A context with a blank counts once, although it may be sent several times, with different placeholders.
    """
    entries = project.store.list_items("source") if entries is None else entries
    form = get_form(project.settings.form)
    texts: dict[str, set[str]] = {}
    for wanted in _list_texts(project, translator, entries):
        kind = "filled context" if wanted.role == "filled" else str(form.text_kind(wanted.field))
        texts.setdefault(kind, set()).add(wanted.text)
    with TranslationStore(get_cache_folder() / "translations.sqlite") as cache:
        new = _list_pending_texts(project, translator, entries, cache)
    return TranslationVolume(
        texts=Counter({kind: len(entries) for kind, entries in texts.items()}),
        characters=Counter({kind: sum(map(len, entries)) for kind, entries in texts.items()}),
        new_texts=len(new),
        new_characters=sum(map(len, new)),
    )


def select_untranslated(project: Project, *, part: str | None = None, limit: int | None = None) -> list[ProjectItem]:
    """Return the untranslated items of one part (None: of all parts); `limit` is the maximum number of items."""
    entries = project.store.list_items("source")
    if part is not None and part not in (parts := {entry.part for entry in project.store.list_items(dropped=None)}):
        raise UsageError(f"The project has no part {part!r}; it has {', '.join(sorted(parts))}.")
    return [entry for entry in entries if part in (None, entry.part)][:limit]


def translate_project(
    project: Project,
    translator: Translator,
    *,
    part: str | None = None,
    limit: int | None = None,
    yes: bool = False,
    aligner: Eflomal | None = None,
    report: ReportProgress = ignore_progress,
) -> TranslationSummary:
    """Translate the untranslated items. Texts are sent to a paid service only if `yes` is true.

    If a blank is lost with every placeholder, it is restored from the translations of the filled contexts (the context
    with each candidate word filled in): at the place where these translations differ or, if this fails and there is an
    aligner, by word alignment.
    """
    reject_written_project(project)
    with lock_project(project.folder):
        return _translate_items(project, translator, part, limit, yes, aligner, report)


def _translate_items(
    project: Project,
    translator: Translator,
    part: str | None,
    limit: int | None,
    yes: bool,
    aligner: Eflomal | None,
    report: ReportProgress,
) -> TranslationSummary:
    began = time.monotonic()
    language = project.settings.language
    translator.check(language)
    entries = select_untranslated(project, part=part, limit=limit)
    summary = TranslationSummary()
    with TranslationStore(get_cache_folder() / "translations.sqlite") as cache:
        new = _list_pending_texts(project, translator, entries, cache)
        require_consent(yes, translator, {language: new})
        work = _WorkCount(project, translator, new, summary, began)
        report(Progress(0, len(entries)))
        for start in range(0, len(entries), _BATCH):
            batch = entries[start : start + _BATCH]
            if isinstance(translator, ItemTranslator):
                _translate_whole_items(project, translator, batch, cache, work)
            else:
                _translate_batch(project, translator, batch, cache, work)
            report(Progress(start + len(batch), len(entries)))
    if aligner is not None:
        _restore_by_alignment(project, aligner, summary)
    summary.untranslated = store_untranslated_findings(project)
    summary.seconds = time.monotonic() - began
    # Record the step also if no item was left to translate: an earlier run may have been interrupted before recording.
    if entries or work.earlier.items or not any(record.step == _STEP for record in project.store.list_steps()):
        complete_step(project, _STEP, work.sum_unrecorded_work().build_step_facts())
    return summary


class _WorkCount:
    """Counts the translation work of this run of the step `translate`, and of earlier runs that were interrupted."""

    def __init__(
        self, project: Project, translator: Translator, new: Iterable[str], summary: TranslationSummary, began: float
    ) -> None:
        system = translator.name
        self.project, self.system, self.summary, self.began = project, system, summary, began
        self.earlier = UnrecordedWork.load(project.store)
        if self.earlier.items and self.earlier.system != system:
            complete_step(project, _STEP, self.earlier.build_step_facts())
            self.earlier = UnrecordedWork()
        done = [entry for entry in project.store.list_items(dropped=None) if entry.stage != "source"]
        earlier_texts = _list_texts(project, translator, done) if self.earlier.items else ()
        self._counted = {wanted.text for wanted in earlier_texts}
        self._new = set(new)
        is_for_items = isinstance(translator, ItemTranslator)
        self._first = _KEPT_BLANK if is_for_items else _list_placeholders(project)[0]
        self.characters = self.sent = 0

    def add_texts(self, wanted: Iterable[TextToTranslate]) -> None:
        """Add the texts of a batch to the count; a text that occurs several times counts once."""
        for one in wanted:
            sent = self._first.insert_into(one.text) if one.has_blank else one.text
            if sent in self._new:
                self._new.remove(sent)
                self.sent += len(sent)
            if one.text not in self._counted:
                self._counted.add(one.text)
                self.characters += len(one.text)

    def sum_unrecorded_work(self) -> UnrecordedWork:
        """Return the work of this run and of interrupted runs, which is not recorded in a completed step yet."""
        earlier, summary = self.earlier, self.summary
        return UnrecordedWork(
            system=self.system,
            items=earlier.items + summary.items,
            characters=earlier.characters + self.characters,
            sent=earlier.sent + self.sent,
            blanks={key: earlier.blanks.get(key, 0) + summary.blanks[key] for key in earlier.blanks | summary.blanks},
            seconds=earlier.seconds + time.monotonic() - self.began,
        )


def _list_placeholders(project: Project) -> list[Placeholder]:
    return select_placeholders(project.settings.system, project.settings.placeholders)


def _list_texts(project: Project, translator: Translator, entries: Iterable[ProjectItem]) -> Iterator[TextToTranslate]:
    for entry in entries:
        if isinstance(translator, ItemTranslator):
            yield from list_item_texts(project, entry)
        else:
            yield from project.maker.list_texts_to_translate(project.get_source_item(entry))


def _list_pending_texts(
    project: Project, translator: Translator, entries: Sequence[ProjectItem], cache: TranslationStore
) -> list[str]:
    """Return the texts to send, whose translation is not cached; BLANK is replaced by the first placeholder."""
    if isinstance(translator, ItemTranslator):
        return list(dict.fromkeys(list_new_texts(project, translator, entries)))
    first = _list_placeholders(project)[0]
    wanted = list(_list_texts(project, translator, entries))
    plain = [entry.text for entry in wanted if not entry.has_blank]
    blanked = [first.insert_into(entry.text) for entry in wanted if entry.has_blank]
    language = project.settings.language
    return [
        *_select_stored_translations(translator, list_untranslated_texts(translator, plain, language, cache)),
        *_select_stored_translations(
            translator,
            list_untranslated_texts(_protect_placeholder(translator, first, language), blanked, language, cache),
        ),
    ]


def _select_stored_translations(translator: Translator, texts: Iterable[str]) -> list[str]:
    texts = list(texts)
    unknown = set(translator.list_untranslatable(texts)) if isinstance(translator, PartialTranslator) else set()
    return [text for text in texts if text not in unknown]


def _protect_placeholder(translator: Translator, placeholder: Placeholder, language: str) -> Translator:
    """Return a translator that keeps the placeholder unchanged, if the system supports this.

    Return `translator` itself if the system does not support this, or if the placeholder is not a word.
    """
    if isinstance(translator, ProtectingTranslator) and placeholder.token.isalnum():
        return translator.with_protected_word(placeholder.token, language)
    return translator


def _translate_batch(
    project: Project,
    translator: Translator,
    batch: Sequence[ProjectItem],
    cache: TranslationStore,
    work: _WorkCount,
) -> None:
    language = project.settings.language
    wanted = {entry.id: project.maker.list_texts_to_translate(project.get_source_item(entry)) for entry in batch}
    plain = _select_stored_translations(
        translator, (text.text for texts in wanted.values() for text in texts if not text.has_blank)
    )
    translations = translate_texts(translator, plain, language, cache)
    contexts = dict.fromkeys(text.text for texts in wanted.values() for text in texts if text.has_blank)
    blanked = _translate_contexts(project, translator, list(contexts), cache)
    unknown = _list_unknown_words(translator, wanted)
    with project.store.begin_transaction():
        for entry in batch:
            # Items that were corrected or dropped since the step began are skipped.
            if project.store.get_item(entry.id).version == entry.version:
                if entry.id in unknown:
                    project.store.set_unknown_words(entry.id, unknown[entry.id])
                _write_translations(
                    project, translator.name, entry, wanted[entry.id], translations, blanked, work.summary
                )
        work.add_texts(text for texts in wanted.values() for text in texts)
        work.sum_unrecorded_work().save(project.store)


def _translate_whole_items(
    project: Project,
    translator: ItemTranslator,
    batch: Sequence[ProjectItem],
    cache: TranslationStore,
    work: _WorkCount,
) -> None:
    """Translate the items of a batch, and store those that were translated; the others stay untranslated."""
    # The system stores each translation when it arrives. The lock prevents another project from paying for it too.
    with cache.lock(translator.key, project.settings.language):
        received = list(translate_items(project, translator, batch))
    store, summary = project.store, work.summary
    with store.begin_transaction():
        for translated in received:
            item = translated.entry.id
            if translated.failure:
                summary.failed[item] = translated.failure
            # Items that were corrected or dropped since the step began are skipped.
            if translated.failure or store.get_item(item).version != translated.entry.version:
                continue
            wanted = list_item_texts(project, translated.entry)
            store.clear_attempts(item)
            for text in wanted:
                why, translation = "", translated.texts[text.field]
                if text.has_blank:
                    why = f"kept {_KEPT_BLANK.name}"
                    summary.blanks["kept"] += 1
                    store.add_attempt(
                        item, text.field, translator.name, _KEPT_BLANK.name, translation, "kept", used=True
                    )
                store.set_text(item, "text", text.field, translation, step=_STEP, by=translator.name, why=why)
            store.replace_findings(item, _STEP, translated.findings)
            store.set_stage(item, "translated")
            summary.items += 1
            work.add_texts(wanted)
        work.sum_unrecorded_work().save(store)


def _list_unknown_words(
    translator: Translator, wanted: Mapping[str, Sequence[TextToTranslate]]
) -> dict[str, list[str]]:
    """Return the words of each item that the system does not know; empty if the system marks no words."""
    if not isinstance(translator, MarkingTranslator):
        return {}
    texts = [(item, text.text) for item, own in wanted.items() for text in own if text.role != "filled"]
    found: dict[str, list[str]] = {item: [] for item in wanted}
    for (item, _), words in zip(texts, translator.list_unknown_words([text for _, text in texts]), strict=True):
        found[item] += words
    return found


def _translate_contexts(
    project: Project, translator: Translator, contexts: Sequence[str], cache: TranslationStore
) -> dict[str, _BlankedContext]:
    """Translate contexts with a blank, and return the results by context.

    For each context, try the placeholders in order until a translation keeps the placeholder.
    """
    language = project.settings.language
    state = {context: _BlankedContext(context) for context in contexts}
    for placeholder in _list_placeholders(project):
        open_contexts = [
            context for context, blanked in state.items() if blanked.best is None or blanked.best.outcome not in SURE
        ]
        sent = {context: placeholder.insert_into(context) for context in open_contexts}
        protecting = _protect_placeholder(translator, placeholder, language)
        received = translate_texts(protecting, _select_stored_translations(translator, sent.values()), language, cache)
        for context in open_contexts:
            if sent[context] in received:
                state[context] = _add_attempt(state[context], placeholder, received[sent[context]])
    return state


def _add_attempt(blanked: _BlankedContext, placeholder: Placeholder, translation: str) -> _BlankedContext:
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
    return _BlankedContext(blanked.text, found, placeholder.name, attempts)


def _write_translations(
    project: Project,
    system: str,
    entry: ProjectItem,
    wanted: Sequence[TextToTranslate],
    translations: Mapping[str, str],
    blanked: Mapping[str, _BlankedContext],
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
    item: str, text: TextToTranslate, context: _BlankedContext, restored: str | None, summary: TranslationSummary
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


def _restore_by_alignment(project: Project, aligner: Eflomal, summary: TranslationSummary) -> None:
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
