"""Runs of translation systems: texts are translated, and the gender in the translations is scored."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.datasets.file_hashes import cache_hashes, get_sha256
from tiltmeter.engine.execution import Progress
from tiltmeter.errors import DataError, UsageError
from tiltmeter.forms import get_item_form
from tiltmeter.runs.conditions import MeasurementConditions, conditions_to_dicts
from tiltmeter.runs.data_notes import describe_data_problems, list_omitted_rows
from tiltmeter.runs.language_model_run import Watch
from tiltmeter.runs.manifest import build_manifest
from tiltmeter.runs.measurement import collect_measure_notes, measure_scores, read_margins
from tiltmeter.runs.notebook_progress import show_notebook_bar
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
from tiltmeter.translators.batch_translation import list_pending, translate_all
from tiltmeter.translators.cost import count_characters, require_consent
from tiltmeter.translators.translation_files import TranslationFile, normalize_text, read_translation_file
from tiltmeter.translators.translation_store import TranslationStore
from tiltmeter.translators.translator_protocol import with_source_language

NOT_TRANSLATED = "the file has no translation of it"
NO_TRANSLATION = "the system gave no translation of it"


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
    out: Path | str | None = None,
    force: bool = False,
) -> Result:
    """Score a file of a system's translations of a test's sentences: CSV with the columns `from` and `to`, or lines.

    Lines, of a .txt file, are `source ||| translation`. `on` names the language, as in `gest-mt:sk` or `winomt:es`.
    `edition` defaults to the one with more of the file's sentences. `gender_from` is `rules`, `stanza`, or the path of
    a CoNLL-U file with the parsed translations. `out` is a folder to write the run to.
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
    if margins := read_margins(margins):
        request["margins"] = margins
    if out is not None:
        reject_other_run(expand_home(out), request, force=force)
    reject_edition(on, edition)
    file = read_translation_file(path)
    targets = [load_target(on, name) for name in (list_editions(on) if edition is None else (edition,))]
    # `max` returns the first of several maxima, which is the latest edition.
    unlimited = max(targets, key=lambda target: file.count_matches(target.texts()))
    if len(unlimited.directions) != 1:
        raise UsageError(f"A file of translations is for one language, but {on} is for several; name one of them.")
    matched = file.count_matches(unlimited.texts())
    if not matched:
        raise DataError(
            f"{path} translates no sentence of {unlimited.source}: its column `from` should hold the texts as they are "
            "there."
        )
    # A file may be for one part of several.
    target = unlimited.with_tasks([task for task in unlimited.tasks if file.count_matches(task.texts())]).limit_items(
        limit
    )
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
        notes.append(
            f"{path.name} has more of edition {target.edition} of GEST than of the other, and was matched to it."
        )
    if counts["unmatched"]:
        notes.append(f"{counts['unmatched']:,} sources of {path.name} are none of its sentences and were not used.")
    if counts["duplicates"]:
        notes.append(f"{counts['duplicates']:,} sources of {path.name} are there again; the last translation counts.")
    result = _build_result(
        request,
        tables,
        models=[{"name": system, "translations": {path.name: get_sha256(path)}, **counts}],
        target=target,
        margins=margins,
        skipped=skipped,
        notes=notes,
        seconds=time.monotonic() - began,
    )
    if out is not None:
        result.save(out, force=force)
    return result


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
    out: Path | str | None = None,
    force: bool = False,
    watch: Watch = show_notebook_bar,
) -> Result:
    """Translate the sentences of a test with a system, and score the translations.

    `translator` is a name such as `nllb:facebook/nllb-200-distilled-600M` or `deepl` (see `tiltmeter.translators`), or
    a `Translator`. `on` names the languages, as in `gest-mt:sk,uk`, `mt-geneval:es` or, into
    English, `starter-neutral-mt:tr-en`. Nothing is sent to a paid service without `yes`;
    the error states the cost. Translations are cached as they arrive.
    """
    began = time.monotonic()
    opened = (
        open_translator(translator, beams=beams, device=device, dtype=dtype, trust_remote_code=trust_remote_code)
        if isinstance(translator, str)
        else translator
    )
    name = system or opened.name
    request: dict[str, Any] = {
        "translator": opened.name,
        "system": name,
        "on": [on],
        "edition": edition,
        "gender_from": gender_from,
        "limit": limit,
        "beams": beams,
        "dtype": dtype,
    }
    if margins := read_margins(margins):
        request["margins"] = margins
    if out is not None:
        reject_other_run(expand_home(out), request, force=force)
    reject_edition(on, edition)
    target = load_target(on, edition or LATEST).limit_items(limit)
    # Errors that cost nothing come before the first sentence is sent.
    scorers = {direction: target.test.open(gender_from, direction) for direction in target.directions}
    systems = {direction: with_source_language(opened, direction.source) for direction in target.directions}
    for direction, translating in systems.items():
        translating.check(direction.target)
    tables: list[pd.DataFrame] = []
    skipped: list[dict[str, str]] = []
    with TranslationStore(get_cache_folder() / "translations.sqlite") as store:
        left = {
            direction.label: list_pending(translating, target.texts(direction), direction.target, store)
            for direction, translating in systems.items()
        }
        require_consent(yes, opened, left)
        for direction, translating in systems.items():
            with watch(f"{name} ({direction.label})") as report:
                texts = target.texts(direction)
                made = translate_all(translating, texts, direction.target, store, _build_progress_callback(report))
            for task in target.list_tasks(direction):
                texts_of = zip(task.items, task.texts(), strict=True)
                translations = {item.id: made[text] for item, text in texts_of if text in made}
                scores, unscored = _score_items(
                    name, task, translations, scorers[direction], gender_from, NO_TRANSLATION
                )
                tables.append(scores)
                skipped += unscored
        model_entry = {
            "name": name,
            "translator": opened.name,
            "key": opened.key,
            "sent": {language: len(sentences) for language, sentences in left.items()},
            "characters": count_characters(left),
            "made": {
                direction.label: store.find_creation_times(translating.key, direction.target)
                for direction, translating in systems.items()
            },
        }
    result = _build_result(
        request,
        tables,
        models=[model_entry],
        target=target,
        margins=margins,
        skipped=skipped,
        notes=[],
        seconds=time.monotonic() - began,
    )
    if out is not None:
        result.save(out, force=force)
    return result


def _build_progress_callback(report: Callable[[Progress], None]) -> Callable[[int, int], None]:
    return lambda done, wanted: report(Progress(done, wanted, 0.0))


def _match_translations(file: TranslationFile, task: TranslationTask) -> dict[str, str]:
    """The file's translations of a task's items, by id."""
    texts = zip(task.items, map(normalize_text, task.texts()), strict=True)
    return {item.id: file.translations[text] for item, text in texts if text in file.translations}


def _score_items(
    system: str,
    task: TranslationTask,
    translations: Mapping[str, str],
    scorer: Scorer,
    gender_from: str,
    untranslated: str = NOT_TRANSLATED,
) -> tuple[pd.DataFrame, list[dict[str, str]]]:
    """The scores of translations (by item id), and the items that could not be scored; `untranslated` is a reason."""
    label = task.label()
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
        {"model": system, **label, "item": item.id, "reason": reasons[item.id]}
        for item in task.items
        if item.id in reasons
    ]
    if not rows:
        raise DataError(f"None of the {len(skipped):,} items can be scored, because {skipped[0]['reason']}.")
    # Without the cast, a column of None only has no numeric type.
    return pd.DataFrame(rows).astype({"score": float}), skipped


def _build_result(
    request: Mapping[str, Any],
    tables: Sequence[pd.DataFrame],
    *,
    models: Iterable[Mapping[str, Any]],
    target: TranslationTarget,
    margins: Mapping[str, float] | None,
    skipped: Sequence[Mapping[str, Any]],
    notes: Sequence[str],
    seconds: float,
) -> Result:
    scores = pd.concat(tables, ignore_index=True)
    families = {target.benchmark: target.test.measures}
    cases = scores[["model", "benchmark", "part", "language", "protocol"]].drop_duplicates()
    askings = [
        MeasurementConditions(model, benchmark, part, language, protocol, "translation", "translator")
        for model, benchmark, part, language, protocol in cases.to_numpy().tolist()
    ]
    manifest = build_manifest(
        request,
        models=models,
        data=target.describe(),
        asked=conditions_to_dicts(askings),
        skipped=skipped,
        left_out=list_omitted_rows(target.list_portions()),
        notes=[
            *describe_data_problems(target.list_portions(), target.list_portions()),
            *notes,
            *collect_measure_notes(scores, families),
        ],
        margins=margins,
        seconds=seconds,
    )
    return Result(
        scores=scores,
        records=measure_scores(scores, families, askings, margins),
        manifest=manifest,
        texts=build_item_table(target.list_portions()),
    )
