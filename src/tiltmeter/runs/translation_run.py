"""Runs of translation systems: texts are translated, and the gender in the translations is scored."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.datasets.file_hashes import cache_hashes, get_sha256
from tiltmeter.errors import DataError, UsageError
from tiltmeter.forms import get_item_form
from tiltmeter.measures.looks import Look
from tiltmeter.measures.verdict_rule import PORTION, Families
from tiltmeter.progress.notebook_progress import show_in_notebook
from tiltmeter.progress.progress import ShowProgress
from tiltmeter.runs.data_notes import describe_data_problems, list_omitted_rows
from tiltmeter.runs.fixed_factors import read_fixed_factors
from tiltmeter.runs.look_store import build_key, record_looks
from tiltmeter.runs.manifest import ModelEntry, UnscoredItem, build_manifest, build_model_entry
from tiltmeter.runs.measurement import collect_measure_notes, measure_scores, read_families, read_margins
from tiltmeter.runs.measurement_conditions import MeasurementConditions
from tiltmeter.runs.portions import UNDIVIDED
from tiltmeter.runs.result import Result, reject_other_run
from tiltmeter.runs.run_items import build_item_table
from tiltmeter.runs.translation.translation_tasks import (
    LATEST,
    TranslationTarget,
    TranslationTask,
    list_editions,
    load_target,
    reject_edition,
)
from tiltmeter.runs.translation.translation_test import Scorer
from tiltmeter.text_files import expand_home
from tiltmeter.translators import Translator, open_translator
from tiltmeter.translators.batch_translation import list_untranslated_texts, translate_texts
from tiltmeter.translators.cost import count_characters, require_consent
from tiltmeter.translators.translation_files import TranslationFile, normalize_text, read_translation_file
from tiltmeter.translators.translation_store import TranslationStore
from tiltmeter.translators.translator_protocol import with_source_language

NOT_TRANSLATED = "the file has no translation of this item"
NO_TRANSLATION = "the system returned no translation of this item"


@cache_hashes()
def score_translations(
    translations: Path | str,
    *,
    system: str,
    on: str,
    edition: str | None = None,
    gender_from: str = "rules",
    limit: int | None = None,
    margins: Mapping[str, float] | None = None,
    family: str = "portion",
    fixed: Sequence[str] = (),
    out: Path | str | None = None,
    force: bool = False,
) -> Result:
    """Score a file of a system's translations.

    The file is a CSV file with the columns `from` and `to`, or a .txt file with lines `source ||| translation`. `on`
    names the test and the language, for example `gest-mt:sk` or `winomt:es`. `edition` defaults to the edition that
    contains more of the file's sentences. `gender_from` is `rules`, `stanza`, or the path of a CoNLL-U file with the
    parsed translations. `family` is `portion` or `run`: which tests are corrected together. `fixed` are factors over
    which results do not generalise, for example `["nouns"]`. `out` is the folder to write the run to.
    """
    began = time.monotonic()
    path = Path(translations)
    request: dict[str, Any] = {
        "translations": path.name,
        "system": system,
        "on": [on],
        "edition": edition,
        "gender_from": gender_from,
        "limit": limit,
    }
    settings = _check_request(request, margins, family, fixed, out, force=force)
    file = read_translation_file(path)
    targets = [load_target(on, name) for name in (list_editions(on) if edition is None else (edition,))]
    # If several editions have equal counts, `max` returns the first one, which is the latest edition.
    unlimited = max(targets, key=lambda target: file.count_matches(target.list_texts()))
    if len(unlimited.directions) != 1:
        raise UsageError(f"A file of translations is for one language, but {on} has several; select one language.")
    matched = file.count_matches(unlimited.list_texts())
    if not matched:
        raise DataError(
            f"{path} has no translation of a sentence of {unlimited.source}; its column `from` must contain the "
            "original sentences."
        )
    # Keep only the tasks with translations, because a file may contain translations of only some parts.
    tasks = tuple(task for task in unlimited.tasks if file.count_matches(task.list_texts()))
    target = replace(unlimited, tasks=tasks).limit_items(limit)
    (direction,) = target.directions
    scorer = target.test.open(gender_from, direction)
    tables, skipped, translated = [], [], 0
    for task in target.tasks:
        matching = _match_translations(file, task)
        translated += len(matching)
        scores, unscored = _score_items(system, task, matching, scorer, gender_from)
        tables.append(scores)
        skipped += unscored
    counts = {
        "translated": translated,
        "missing": sum(len(task.items) for task in target.tasks) - translated,
        "unmatched": len(file.translations) - matched,
        "duplicates": file.repeated,
    }
    notes = []
    if edition is None and target.edition is not None:
        notes.append(f"{path.name} was matched to edition {target.edition} of GEST, the edition with the most matches.")
    if counts["unmatched"]:
        notes.append(f"{counts['unmatched']:,} sources in {path.name} are not sentences of the test and were ignored.")
    if counts["duplicates"]:
        notes.append(f"{counts['duplicates']:,} sources in {path.name} are repeated; the last translation is used.")
    return _build_result(
        request,
        tables,
        models=[build_model_entry({"name": system, "translations": {path.name: get_sha256(path)}, **counts})],
        identity=system,
        target=target,
        settings=settings,
        skipped=skipped,
        notes=notes,
        seconds=time.monotonic() - began,
        out=out,
        force=force,
    )


@cache_hashes()
def evaluate_translator(
    translator: str | Translator,
    *,
    on: str,
    system: str | None = None,
    edition: str | None = None,
    gender_from: str = "rules",
    yes: bool = False,
    limit: int | None = None,
    beams: int | None = None,
    device: str = "auto",
    dtype: str = "auto",
    trust_remote_code: bool = False,
    margins: Mapping[str, float] | None = None,
    family: str = "portion",
    fixed: Sequence[str] = (),
    out: Path | str | None = None,
    force: bool = False,
    watch: ShowProgress = show_in_notebook,
) -> Result:
    """Translate the sentences of a test with a system, and score the translations.

    `translator` is a name such as `nllb:facebook/nllb-200-distilled-600M` or `deepl` (see `tiltmeter.translators`), or
    a `Translator` object. `on` names the test and the languages, for example `gest-mt:sk,uk`, `mt-geneval:es` or, into
    English, `starter-neutral-mt:tr-en`. Without `yes`, nothing is sent to a paid service, and an error states the cost.
    Each translation is cached when it arrives. The other parameters are those of `score_translations`.
    """
    began = time.monotonic()
    opened = (
        open_translator(translator, beams=beams, device=device, dtype=dtype, trust_remote_code=trust_remote_code)
        if isinstance(translator, str)
        else translator
    )
    name = system or opened.name
    request = build_translation_request(
        opened.name, name, on, edition=edition, gender_from=gender_from, limit=limit, beams=beams, dtype=dtype
    )
    settings = _check_request(request, margins, family, fixed, out, force=force)
    target = load_target(on, edition or LATEST).limit_items(limit)
    # Detect errors before the first sentence is sent and paid for.
    scorers = {direction: target.test.open(gender_from, direction) for direction in target.directions}
    systems = {direction: with_source_language(opened, direction.source) for direction in target.directions}
    for direction, translating in systems.items():
        translating.check(direction.target)
    tables: list[pd.DataFrame] = []
    skipped: list[UnscoredItem] = []
    with TranslationStore(get_cache_folder() / "translations.sqlite") as store:
        pending = {
            direction.label: list_untranslated_texts(translating, target.list_texts(direction), direction.target, store)
            for direction, translating in systems.items()
        }
        require_consent(yes, opened, pending)
        for direction, translating in systems.items():
            with watch(f"{name} ({direction.label})") as report:
                texts = target.list_texts(direction)
                translated = translate_texts(translating, texts, direction.target, store, report)
            for task in target.list_tasks(direction):
                texts_of = zip(task.items, task.list_texts(), strict=True)
                translations = {item.id: translated[text] for item, text in texts_of if text in translated}
                scores, unscored = _score_items(
                    name, task, translations, scorers[direction], gender_from, NO_TRANSLATION
                )
                tables.append(scores)
                skipped += unscored
        described = {
            "name": name,
            "translator": opened.name,
            "key": opened.key,
            "sent": {language: len(sentences) for language, sentences in pending.items()},
            "characters": count_characters(pending),
            "made": {
                direction.label: store.find_creation_times(translating.key, direction.target)
                for direction, translating in systems.items()
            },
        }
    return _build_result(
        request,
        tables,
        models=[build_model_entry(described)],
        identity=opened.key,
        target=target,
        settings=settings,
        skipped=skipped,
        notes=[],
        seconds=time.monotonic() - began,
        out=out,
        force=force,
    )


def build_translation_request(
    translator: str,
    system: str,
    on: str,
    *,
    edition: str | None = None,
    gender_from: str = "rules",
    limit: int | None = None,
    beams: int | None = None,
    dtype: str = "auto",
) -> dict[str, Any]:
    """Return the request of a run of a translation system, as its manifest contains it."""
    return {
        "translator": translator,
        "system": system,
        "on": [on],
        "edition": edition,
        "gender_from": gender_from,
        "limit": limit,
        "beams": beams,
        "dtype": dtype,
    }


@dataclass(frozen=True, slots=True)
class _Settings:
    """The checked settings of the statistics (see `RunSettings`)."""

    margins: Mapping[str, float]
    families: Families
    fixed: tuple[str, ...]


def _check_request(
    request: dict[str, Any],
    margins: Mapping[str, float] | None,
    family: str,
    fixed: Sequence[str],
    out: Path | str | None,
    *,
    force: bool,
) -> _Settings:
    """Add the settings to a request and return them checked; raise an error if the request is invalid."""
    settings = _Settings(read_margins(margins), read_families(family), tuple(fixed))
    if settings.margins:
        request["margins"] = settings.margins
    if settings.families != PORTION:
        request["family"] = settings.families
    if settings.fixed:
        request["fixed"] = list(settings.fixed)
    if out is not None:
        reject_other_run(expand_home(out), request, force=force)
    reject_edition(request["on"][0], request["edition"])
    return settings


def _match_translations(file: TranslationFile, task: TranslationTask) -> dict[str, str]:
    """Return the translations of a task's items from a file, as a mapping from item id to translation."""
    texts = zip(task.items, map(normalize_text, task.list_texts()), strict=True)
    return {item.id: file.translations[text] for item, text in texts if text in file.translations}


def _score_items(
    system: str,
    task: TranslationTask,
    translations: Mapping[str, str],
    scorer: Scorer,
    gender_from: str,
    untranslated: str = NOT_TRANSLATED,
) -> tuple[pd.DataFrame, list[UnscoredItem]]:
    """Return the table of scores and the unscored items.

    `translations` maps item ids to translations. `untranslated` is the reason given for items without a translation.
    """
    label = task.get_key_columns()
    items = [item for item in task.items if item.id in translations]
    reasons = {item.id: untranslated for item in task.items if item.id not in translations}
    rows: list[dict[str, Any]] = []
    scored = scorer(items, [translations[item.id] for item in items])
    for item, scores in zip(items, scored, strict=True):
        if isinstance(scores, str):
            reasons[item.id] = scores
            continue
        rows += [
            {
                "model": system,
                **label,
                "item": item.id,
                "candidate": score.candidate,
                "role": score.role,
                "score": score.score,
                **get_item_form(item).attributes(item),
                "translation": translations[item.id],
                "protocol": task.test.protocol(gender_from),
            }
            for score in scores
        ]
    skipped = [
        UnscoredItem(system, **label, item=item.id, reason=reasons[item.id])
        for item in task.items
        if item.id in reasons
    ]
    if not rows:
        raise DataError(f"None of the {len(skipped):,} items can be scored: {skipped[0].reason}.")
    # Without the cast, a column that contains only None would not be numeric.
    return pd.DataFrame(rows).astype({"score": float}), skipped


def _list_looks(
    identity: str, conditions: Sequence[MeasurementConditions], target: TranslationTarget
) -> Iterator[tuple[str, Look]]:
    """Yield the looks of a run for `record_looks`; `identity` is the name or the cache key of the system."""
    for task in target.tasks:
        label = task.get_key_columns()
        for entry in conditions:
            if (entry.benchmark, entry.language) != (label["benchmark"], label["language"]):
                continue
            if label["part"] in (entry.part, UNDIVIDED):
                look = Look(
                    entry.model,
                    **label,
                    protocol=entry.protocol,
                    items=len(task.items),
                    earlier=(),
                    is_complete=len(task.items) == task.available,
                )
                yield build_key(identity, look, task.portion.files), look


def _build_result(
    request: Mapping[str, Any],
    tables: Sequence[pd.DataFrame],
    *,
    models: Iterable[ModelEntry],
    identity: str,
    target: TranslationTarget,
    settings: _Settings,
    skipped: Sequence[UnscoredItem],
    notes: Sequence[str],
    seconds: float,
    out: Path | str | None,
    force: bool,
) -> Result:
    scores = pd.concat(tables, ignore_index=True)
    measure_modules = {target.benchmark: target.test.measures}
    keys = scores[["model", "benchmark", "part", "language", "protocol"]].drop_duplicates()
    conditions = [
        MeasurementConditions(model, benchmark, part, language, protocol, "translation", "translator")
        for model, benchmark, part, language, protocol in keys.to_numpy().tolist()
    ]
    fixed = read_fixed_factors(settings.fixed, {target.test.form})
    looks = record_looks(get_cache_folder(), _list_looks(identity, conditions, target))
    manifest = build_manifest(
        request,
        models=models,
        data=target.describe(),
        asked=conditions,
        skipped=skipped,
        left_out=list_omitted_rows(target.list_portions()),
        notes=[
            *describe_data_problems(target.list_portions(), target.list_portions()),
            *notes,
            *collect_measure_notes(scores, measure_modules),
        ],
        looks=looks,
        margins=settings.margins,
        families=settings.families,
        fixed=fixed,
        seconds=seconds,
    )
    result = Result(
        scores=scores,
        records=measure_scores(
            scores,
            measure_modules,
            conditions,
            settings.margins,
            skipped,
            families=settings.families,
            fixed=fixed,
            looks=looks,
        ),
        manifest=manifest,
        texts=build_item_table(target.list_portions()),
    )
    if out is not None:
        result.save(out, force=force)
    return result
