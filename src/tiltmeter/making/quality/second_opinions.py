"""The step `second`: compare each item with the translation of a second system, or translate it back to its source.

A low similarity (chrF) is a reason for the review, and the text of the second system is a proposal.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.errors import UsageError
from tiltmeter.forms.blank import BLANK
from tiltmeter.making.draft import Draft, RepairFinding
from tiltmeter.making.placeholders import USABLE, Placeholder, select_placeholders
from tiltmeter.making.project import Project, reject_written_project
from tiltmeter.making.project_lock import lock_project
from tiltmeter.making.quality.quality_tables import SecondOpinion
from tiltmeter.making.quality.similarity import compute_chrf
from tiltmeter.making.quality.untranslated_text import UNTRANSLATED
from tiltmeter.making.step_completion import complete_step
from tiltmeter.progress.progress import ReportProgress, ignore_progress
from tiltmeter.translators import Translator
from tiltmeter.translators.batch_translation import list_untranslated_texts, translate_texts
from tiltmeter.translators.cost import require_consent
from tiltmeter.translators.translation_store import TranslationStore
from tiltmeter.translators.translator_protocol import with_source_language

Method = Literal["second", "back"]
SECOND_OPINION, BACK_TRANSLATION = "second-opinion", "back-translation"
# Items with a lower chrF are queued. Good translations of short sentences by two systems often have 0.4 to 0.6.
THRESHOLD = 0.4
_STEP: Final = "second"


@dataclass(slots=True)
class SecondSummary:
    """The result of the step `second`: numbers of compared items and of queued items, and the mean similarities.

    The keys of `similarity` are the methods: `second` and `back`.
    """

    items: int = 0
    queued: int = 0
    similarity: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0


def compare_translations(
    project: Project,
    *,
    second: Translator | None = None,
    back: Translator | None = None,
    threshold: float = THRESHOLD,
    yes: bool = False,
    report: ReportProgress = ignore_progress,
) -> SecondSummary:
    """Compare all translated items without a decision with second translations, and store similarities and proposals.

    `second` translates the source texts; `back` translates the texts of the project into the source language. An item
    is queued if its similarity, or that of one of its sentences, is below `threshold`. Texts are sent to a paid service
    only if `yes` is true.
    """
    reject_written_project(project)
    if second is None and back is None:
        raise UsageError("A second opinion needs --second SYSTEM, --back SYSTEM, or both.")
    if not 0 <= threshold <= 1:
        raise UsageError(f"The threshold is {threshold:g}; it must be from 0 to 1.")
    with lock_project(project.folder):
        return _run_step(project, {"second": second, "back": back}, threshold, yes, report)


def _run_step(
    project: Project,
    systems: Mapping[Method, Translator | None],
    threshold: float,
    yes: bool,
    report: ReportProgress,
) -> SecondSummary:
    began, summary, store = time.monotonic(), SecondSummary(), project.store
    decided = store.list_decided_items()
    entries = [entry for entry in store.list_items() if entry.stage in ("translated", "repaired")]
    drafts = project.build_drafts([entry for entry in entries if entry.id not in decided])
    versions = {entry.id: entry.version for entry in entries}
    if not entries and not decided:
        raise UsageError("There is no translated item; run `tiltmeter make translate` first.")
    opinions: list[SecondOpinion] = []
    for method, system in systems.items():
        if system is not None:
            found = list(_compare_by(method, project, system, drafts, yes, report))
            summary.similarity[method] = sum(one.similarity for one in found) / len(found) if found else 0.0
            opinions += found
    with store.begin_transaction():
        for opinion in opinions:
            store.set_second_opinion(opinion)
        for draft in drafts:
            if store.get_item(draft.item).version != versions[draft.item] or any(store.list_decisions(draft.item)):
                continue
            findings = _build_findings(project, draft, threshold)
            store.replace_findings(draft.item, _STEP, findings)
            summary.queued += bool(findings)
    summary.items, summary.seconds = len(drafts), time.monotonic() - began
    facts: dict[str, object] = {name: system.name for name, system in systems.items() if system is not None}
    numbers = {"items": summary.items, "queued": summary.queued, "similarity": summary.similarity}
    complete_step(project, _STEP, {**facts, **numbers, "threshold": threshold, "seconds": round(summary.seconds, 1)})
    return summary


def _compare_by(
    method: Method,
    project: Project,
    system: Translator,
    drafts: Sequence[Draft],
    yes: bool,
    report: ReportProgress,
) -> Iterator[SecondOpinion]:
    settings = project.settings
    own, language = settings.source_language, settings.language
    if method == "back":
        own, language = language, own
    translator = with_source_language(system, own)
    translator.check(language)
    placeholder = select_placeholders(system.name)[0]
    texts = {draft.item: draft.source if method == "second" else draft.texts for draft in drafts}
    sent = [placeholder.insert_into(text) for fields in texts.values() for text in fields.values()]
    with TranslationStore(get_cache_folder() / "translations.sqlite") as cache:
        pending = list_untranslated_texts(translator, sent, language, cache)
        require_consent(yes, translator, {language: pending})
        received = translate_texts(translator, sent, language, cache, report)
    for draft in drafts:
        fields = texts[draft.item]
        translated = {name: _restore(placeholder, text, received) for name, text in fields.items()}
        usable = {name: text for name, text in translated.items() if text}
        reference = draft.texts if method == "second" else draft.source
        pairs = [(text, reference[name]) for name, text in usable.items() if name in reference]
        if pairs:
            yield SecondOpinion(draft.item, method, system.name, round(compute_chrf(pairs), 4), usable)


def _restore(placeholder: Placeholder, text: str, received: Mapping[str, str]) -> str:
    """Return the translation of a text with BLANK, or an empty text if it is missing or BLANK was lost."""
    translation = received.get(placeholder.insert_into(text), "")
    if BLANK not in text or not translation:
        return translation
    found = placeholder.find_in_translation(translation, text.count(BLANK))
    return found.text if found.outcome in USABLE else ""


def _build_findings(project: Project, draft: Draft, threshold: float) -> list[RepairFinding]:
    """Return the findings about an item from all its second opinions, also from those of earlier steps.

    If a text is untranslated, the text of the second system is proposed even if the item is similar enough.
    """
    findings = []
    open_findings = [stored for stored in project.store.list_findings(draft.item, ("open",)) if not stored.closed_by]
    untranslated = {stored.finding.field for stored in open_findings if stored.finding.rule == UNTRANSLATED}
    for opinion in project.store.list_second_opinions(draft.item):
        reference = draft.texts if opinion.method == "second" else draft.source
        scores = {name: compute_chrf([(text, reference[name])]) for name, text in opinion.texts.items()}
        low = {name for name, score in scores.items() if score < threshold}
        if opinion.similarity >= threshold:
            # Two systems often choose different words for a single word, so words count only in the whole item.
            low &= {*draft.list_fields("sentence"), *draft.list_fields("context")}
        elif not low:
            low = {min(scores, key=lambda name: scores[name])}
        for name, text in opinion.texts.items():
            is_wanted = name in low or (opinion.method == "second" and name in untranslated)
            if is_wanted and text != reference[name]:
                findings.append(_build_finding(draft, opinion, name, scores[name]))
    return findings


def _build_finding(draft: Draft, opinion: SecondOpinion, name: str, score: float) -> RepairFinding:
    text, before = opinion.texts[name], draft.texts[name]
    likeness = f"(similarity {score:.2f}, of the whole item {opinion.similarity:.2f})"
    if opinion.method == "second":
        reason = f"{opinion.system} translates this text differently {likeness}."
        return RepairFinding(draft.item, name, SECOND_OPINION, "proposed", reason, before, (text,))
    reason = f"Translated back by {opinion.system}, this text is {text!r} {likeness}."
    return RepairFinding(draft.item, name, BACK_TRANSLATION, "open", reason, before)
