"""Runs of translation systems: texts are translated, and the gender in the translations is scored."""

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from tiltmeter.datasets.cache import cache_dir
from tiltmeter.datasets.hashing import hashed_once, sha256_of
from tiltmeter.errors import DataError, UsageError
from tiltmeter.forms import form_of
from tiltmeter.progress.notebook_progress import show_in_notebook
from tiltmeter.progress.progress import ShowProgress
from tiltmeter.reading import home_path
from tiltmeter.runs.asking import Asking
from tiltmeter.runs.data_notes import data_notes, left_out_rows
from tiltmeter.runs.items import item_table
from tiltmeter.runs.manifest import ModelEntry, SkippedItem, make_manifest, model_entry
from tiltmeter.runs.measuring import measure_scores, measuring_notes, read_margins
from tiltmeter.runs.result import Result, refuse_other_run
from tiltmeter.runs.translating.translation_tasks import LATEST, Target, Task, check_edition, editions, open_target
from tiltmeter.runs.translating.translation_test import Scorer
from tiltmeter.translators import Translator, open_translator
from tiltmeter.translators.base import translator_from
from tiltmeter.translators.cost import characters, require_consent
from tiltmeter.translators.translate import pending, translate_all
from tiltmeter.translators.translation_files import TranslationFile, normalize_text, read_translation_file
from tiltmeter.translators.translation_store import TranslationStore

NOT_TRANSLATED = "the file has no translation of it"
NO_TRANSLATION = "the system gave no translation of it"


@hashed_once()
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
        refuse_other_run(home_path(out), request, force=force)
    check_edition(on, edition)
    file = read_translation_file(path)
    targets = [open_target(on, name) for name in (editions(on) if edition is None else (edition,))]
    # `max` returns the first of several maxima, which is the latest edition.
    unlimited = max(targets, key=lambda target: file.matched(target.texts()))
    if len(unlimited.directions) != 1:
        raise UsageError(f"A file of translations is for one language, but {on} is for several; name one of them.")
    matched = file.matched(unlimited.texts())
    if not matched:
        raise DataError(
            f"{path} translates no sentence of {unlimited.source}: its column `from` should hold the texts as they are "
            "there."
        )
    # A file may be for one part of several.
    target = unlimited.with_tasks([task for task in unlimited.tasks if file.matched(task.texts())]).limited(limit)
    (direction,) = target.directions
    scorer = target.test.open(gender_from, direction)
    tables, skipped, translated = [], [], 0
    for task in target.tasks:
        matching = _matching(file, task)
        translated += len(matching)
        scores, unscored = _scored(system, task, matching, scorer, gender_from)
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
    result = _result(
        request,
        tables,
        models=[model_entry({"name": system, "translations": {path.name: sha256_of(path)}, **counts})],
        target=target,
        margins=margins,
        skipped=skipped,
        notes=notes,
        seconds=time.monotonic() - began,
    )
    if out is not None:
        result.save(out, force=force)
    return result


@hashed_once()
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
    watch: ShowProgress = show_in_notebook,
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
        refuse_other_run(home_path(out), request, force=force)
    check_edition(on, edition)
    target = open_target(on, edition or LATEST).limited(limit)
    # Errors that cost nothing come before the first sentence is sent.
    scorers = {direction: target.test.open(gender_from, direction) for direction in target.directions}
    systems = {direction: translator_from(opened, direction.source) for direction in target.directions}
    for direction, translating in systems.items():
        translating.check(direction.target)
    tables: list[pd.DataFrame] = []
    skipped: list[SkippedItem] = []
    with TranslationStore(cache_dir() / "translations.sqlite") as store:
        left = {
            direction.label: pending(translating, target.texts(direction), direction.target, store)
            for direction, translating in systems.items()
        }
        require_consent(yes, opened, left)
        for direction, translating in systems.items():
            with watch(f"{name} ({direction.label})") as report:
                texts = target.texts(direction)
                made = translate_all(translating, texts, direction.target, store, report)
            for task in target.tasks_of(direction):
                texts_of = zip(task.items, task.texts(), strict=True)
                translations = {item.id: made[text] for item, text in texts_of if text in made}
                scores, unscored = _scored(name, task, translations, scorers[direction], gender_from, NO_TRANSLATION)
                tables.append(scores)
                skipped += unscored
        described = {
            "name": name,
            "translator": opened.name,
            "key": opened.key,
            "sent": {language: len(sentences) for language, sentences in left.items()},
            "characters": characters(left),
            "made": {
                direction.label: store.creation_times(translating.key, direction.target)
                for direction, translating in systems.items()
            },
        }
    result = _result(
        request,
        tables,
        models=[model_entry(described)],
        target=target,
        margins=margins,
        skipped=skipped,
        notes=[],
        seconds=time.monotonic() - began,
    )
    if out is not None:
        result.save(out, force=force)
    return result


def _matching(file: TranslationFile, task: Task) -> dict[str, str]:
    """The file's translations of a task's items, by id."""
    texts = zip(task.items, map(normalize_text, task.texts()), strict=True)
    return {item.id: file.translations[text] for item, text in texts if text in file.translations}


def _scored(
    system: str,
    task: Task,
    translations: Mapping[str, str],
    scorer: Scorer,
    gender_from: str,
    untranslated: str = NOT_TRANSLATED,
) -> tuple[pd.DataFrame, list[SkippedItem]]:
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
                **form_of(item).attributes(item),
                "translation": translations[item.id],
                "protocol": task.test.protocol(gender_from),
            }
            for score in scores
        ]
    skipped = [
        SkippedItem(system, **label, item=item.id, reason=reasons[item.id]) for item in task.items if item.id in reasons
    ]
    if not rows:
        raise DataError(f"None of the {len(skipped):,} items can be scored, because {skipped[0].reason}.")
    # Without the cast, a column of None only has no numeric type.
    return pd.DataFrame(rows).astype({"score": float}), skipped


def _result(
    request: Mapping[str, Any],
    tables: Sequence[pd.DataFrame],
    *,
    models: Iterable[ModelEntry],
    target: Target,
    margins: Mapping[str, float] | None,
    skipped: Sequence[SkippedItem],
    notes: Sequence[str],
    seconds: float,
) -> Result:
    scores = pd.concat(tables, ignore_index=True)
    families = {target.benchmark: target.test.measures}
    cases = scores[["model", "benchmark", "part", "language", "protocol"]].drop_duplicates()
    askings = [
        Asking(model, benchmark, part, language, protocol, "translation", "translator")
        for model, benchmark, part, language, protocol in cases.to_numpy().tolist()
    ]
    manifest = make_manifest(
        request,
        models=models,
        data=target.describe(),
        asked=askings,
        skipped=skipped,
        left_out=left_out_rows(target.portions()),
        notes=[*data_notes(target.portions(), target.portions()), *notes, *measuring_notes(scores, families)],
        margins=margins,
        seconds=seconds,
    )
    return Result(
        scores=scores,
        records=measure_scores(scores, families, askings, margins),
        manifest=manifest,
        texts=item_table(target.portions()),
    )
