"""The step `translate`: translate all texts of the source items with one system, and keep their blanks.

Each translation is cached as soon as it arrives. So after an interruption, at most one request is paid for twice. Items
are written to the project in batches. Each batch is one transaction.
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.errors import UsageError
from tiltmeter.forms import get_form
from tiltmeter.forms.blank import BLANK
from tiltmeter.making.item_makers import TextToTranslate
from tiltmeter.making.item_translation import list_item_texts, list_new_texts, translate_items
from tiltmeter.making.placeholders import SURE, Placeholder, select_placeholders
from tiltmeter.making.project import Project, reject_written_project
from tiltmeter.making.project_lock import lock_project
from tiltmeter.making.project_store import ProjectItem
from tiltmeter.making.quality.untranslated_items import store_untranslated_findings
from tiltmeter.making.step_completion import complete_step
from tiltmeter.making.translation_results import (
    BlankedContext,
    TranslationSummary,
    add_attempt,
    restore_by_alignment,
    write_translations,
)
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
        restore_by_alignment(project, aligner, summary)
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
                write_translations(
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
) -> dict[str, BlankedContext]:
    """Translate contexts with a blank, and return the results by context.

    For each context, try the placeholders in order until a translation keeps the placeholder.
    """
    language = project.settings.language
    state = {context: BlankedContext(context) for context in contexts}
    for placeholder in _list_placeholders(project):
        open_contexts = [
            context for context, blanked in state.items() if blanked.best is None or blanked.best.outcome not in SURE
        ]
        sent = {context: placeholder.insert_into(context) for context in open_contexts}
        protecting = _protect_placeholder(translator, placeholder, language)
        received = translate_texts(protecting, _select_stored_translations(translator, sent.values()), language, cache)
        for context in open_contexts:
            if sent[context] in received:
                state[context] = add_attempt(state[context], placeholder, received[sent[context]])
    return state
