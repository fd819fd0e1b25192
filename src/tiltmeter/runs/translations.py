"""Runs of translation systems: gender-neutral English sentences, translated into languages that mark gender."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from tiltmeter.datasets.by_name import DATASETS
from tiltmeter.datasets.cache import cache_dir
from tiltmeter.datasets.hashing import hashed_once, sha256_of
from tiltmeter.datasets.spec import EDITIONS, parse_spec
from tiltmeter.engine.execute import Progress
from tiltmeter.errors import DataError, UsageError
from tiltmeter.forms.gest import GestItem, attributes
from tiltmeter.measures.gest_mt import FEMININE, MASCULINE, ROLE, measure
from tiltmeter.measures.gest_mt import notes as measuring_notes
from tiltmeter.measures.rule import assign_verdicts
from tiltmeter.runs.asking import Asking, to_dicts, with_family_and_kind
from tiltmeter.runs.evaluate import Watch, limited
from tiltmeter.runs.gender_finders import GenderFinder, open_gender_finder, protocol_of
from tiltmeter.runs.items import item_table
from tiltmeter.runs.manifest import make_manifest
from tiltmeter.runs.measuring import read_margins
from tiltmeter.runs.portions import UNDIVIDED, Portion, portions
from tiltmeter.runs.result import Result, refuse_other_run
from tiltmeter.translators import Translator, open_translator
from tiltmeter.translators.base import SOURCE
from tiltmeter.translators.cost import characters, require_consent
from tiltmeter.translators.translate import pending, translate_all
from tiltmeter.translators.translation_files import normalize_text, read_translation_file
from tiltmeter.translators.translation_store import TranslationStore

GEST_MT = "gest-mt"
LATEST = "1.1"
NOT_TRANSLATED = "the file has no translation of it"
NOT_PARSED = "the CoNLL-U file has no parse of its translation"

_SUFFIX = "-mt"
_SCORES = {"masculine": MASCULINE, "feminine": FEMININE}


@dataclass(frozen=True, slots=True)
class _Target:
    """English sentences and the target languages."""

    benchmark: str
    languages: tuple[str, ...]
    sentences: Portion
    edition: str | None
    available: int | None = None

    def label(self, language: str) -> dict[str, str]:
        return {"benchmark": self.benchmark, "part": UNDIVIDED, "language": language}

    def limited(self, limit: int | None) -> "_Target":
        """The target with at most `limit` sentences."""
        if limit is not None and limit < 1:
            raise UsageError(f"A limit of {limit} items leaves nothing to ask; give at least 1.")
        return replace(self, sentences=limited(self.sentences, limit), available=len(self.sentences.items))

    def portions(self) -> list[Portion]:
        """The English sentences, once for each target language."""
        return [
            replace(self.sentences, name=self.benchmark, part=UNDIVIDED, language=language)
            for language in self.languages
        ]

    def describe(self) -> list[dict[str, Any]]:
        entry = {
            "source": self.sentences.name,
            "items": len(self.sentences.items),
            "available": self.available or len(self.sentences.items),
            "files": self.sentences.files,
            "edition": self.edition,
        }
        return [{**self.label(language), **entry} for language in self.languages]


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
    """Score a CSV file, with the columns `from` and `to`, of a system's translations of GEST's sentences.

    `on` names the language, as in `gest-mt:sk`. `edition` defaults to the one with more of the file's sentences.
    `gender_from` is `rules`, `stanza`, or the path of a CoNLL-U file with the parsed translations. `out` is a folder to
    write the run to.
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
        refuse_other_run(Path(out), request, force=force)
    file = read_translation_file(path)
    targets = [_target(on, name) for name in (_editions(on) if edition is None else (edition,))]
    # `max` returns the first of several maxima, which is the latest edition.
    unlimited = max(targets, key=lambda target: file.matched(item.sentence for item in target.sentences.items))
    target = unlimited.limited(limit)
    if len(target.languages) != 1:
        raise UsageError(f"A file of translations is for one language, but {on} is for several; name one of them.")
    (language,) = target.languages
    items: Sequence[GestItem] = target.sentences.items
    matched = file.matched(item.sentence for item in unlimited.sentences.items)
    if not matched:
        raise DataError(
            f"{path} translates no sentence of {target.sentences.name}: its column `from` should hold the English "
            "sentences as they are there."
        )
    matching = {
        item.id: file.translations[text]
        for item in items
        if (text := normalize_text(item.sentence)) in file.translations
    }
    scores, skipped = _scored(
        system, target, language, matching, open_gender_finder(gender_from, language), gender_from
    )
    counts = {
        "translated": len(matching),
        "missing": len(items) - len(matching),
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
        [scores],
        models=[{"name": system, "translations": {path.name: sha256_of(path)}, **counts}],
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
    watch: Watch = lambda _label: nullcontext(lambda _progress: None),
) -> Result:
    """Translate GEST's sentences with a system, and score the translations.

    `translator` is a name such as `nllb:facebook/nllb-200-distilled-600M` or `deepl` (see `tiltmeter.translators`), or
    a `Translator`. `on` names the languages, as in `gest-mt:sk,uk`. Nothing is sent to a paid service without `yes`;
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
        refuse_other_run(Path(out), request, force=force)
    target = _target(on, edition or LATEST).limited(limit)
    # Errors that cost nothing come before the first sentence is sent.
    finders = {language: open_gender_finder(gender_from, language) for language in target.languages}
    for language in target.languages:
        opened.check(language)
    items: Sequence[GestItem] = target.sentences.items
    texts = [item.sentence for item in items]
    tables: list[pd.DataFrame] = []
    skipped: list[dict[str, str]] = []
    with TranslationStore(cache_dir() / "translations.sqlite") as store:
        left = {language: pending(opened, texts, language, store) for language in target.languages}
        require_consent(yes, opened, left)
        for language, finder in finders.items():
            with watch(f"{name} ({language})") as report:
                made = translate_all(opened, texts, language, store, _progress_callback(report))
            translations = {item.id: made[item.sentence] for item in items}
            scores, unparsed = _scored(name, target, language, translations, finder, gender_from)
            tables.append(scores)
            skipped += unparsed
        model_entry = {
            "name": name,
            "translator": opened.name,
            "key": opened.key,
            "sent": {language: len(sentences) for language, sentences in left.items()},
            "characters": characters(left),
            "made": {language: store.creation_times(opened.key, language) for language in target.languages},
        }
    result = _result(
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


def _progress_callback(report: Callable[[Progress], None]) -> Callable[[int, int], None]:
    return lambda done, wanted: report(Progress(done, wanted, 0.0))


def _editions(on: str) -> tuple[str, ...]:
    """The editions that a file may be for, the latest first."""
    return tuple(sorted(EDITIONS, reverse=True)) if parse_spec(on).name == GEST_MT else (LATEST,)


def _target(on: str, edition: str) -> _Target:
    """The target of a specification such as `gest-mt:sk`, where `sk` is the target language."""
    spec = parse_spec(on)
    if spec.path is not None:
        source = str(spec.path)
    elif spec.name == GEST_MT:
        if edition not in EDITIONS:
            raise UsageError(f"GEST has no edition {edition!r}; it has {' and '.join(EDITIONS)}.")
        source = EDITIONS[edition]
    else:
        source = spec.name.removesuffix(_SUFFIX)
        if not spec.name.endswith(_SUFFIX) or source not in DATASETS or DATASETS[source].form != "gest":
            raise UsageError(
                f"Translation systems are measured on {GEST_MT}, as in {GEST_MT}:sk, or on a .jsonl file of sentences; "
                f"{on} is neither."
            )
    if spec.part is not None:
        raise UsageError(f"{spec.name} has no parts; write {spec.name}:sk.")
    if not spec.languages:
        raise UsageError(f"{on} names no language to translate into, as in {spec.name}:sk.")
    english = [portion for portion in portions(source) if portion.form == "gest" and portion.language == SOURCE]
    if not english:
        raise UsageError(f"{source} has no English sentences with a GEST stereotype, so there is nothing to translate.")
    known = edition if spec.name == GEST_MT else None
    return _Target(spec.name, spec.languages, english[0], known)


def _scored(
    system: str,
    target: _Target,
    language: str,
    translations: Mapping[str, str],
    finder: GenderFinder,
    gender_from: str,
) -> tuple[pd.DataFrame, list[dict[str, str]]]:
    """The scores of translations (by item id), and the items that could not be scored."""
    label = target.label(language)
    rows: list[dict[str, Any]] = []
    skipped: list[dict[str, str]] = []
    for item in target.sentences.items:
        translation = translations.get(item.id)
        speaker = finder(translation) if translation is not None else None
        if speaker is None:
            reason = NOT_TRANSLATED if translation is None else NOT_PARSED
            skipped.append({"model": system, **label, "item": item.id, "reason": reason})
            continue
        rows.append(
            {
                "model": system,
                **label,
                "item": item.id,
                "candidate": " ".join(speaker.cue),
                "role": ROLE,
                "score": _SCORES.get(speaker.gender or ""),
                **attributes(item),
                "translation": translation,
                "protocol": protocol_of(gender_from),
            }
        )
    if not rows:
        raise DataError(f"None of the {len(skipped):,} items can be scored, because {skipped[0]['reason']}.")
    # Without the cast, a column of None only has no numeric type.
    return pd.DataFrame(rows).astype({"score": float}), skipped


def _result(
    request: Mapping[str, Any],
    tables: Sequence[pd.DataFrame],
    *,
    models: Iterable[Mapping[str, Any]],
    target: _Target,
    margins: Mapping[str, float] | None,
    skipped: Sequence[Mapping[str, Any]],
    notes: Sequence[str],
    seconds: float,
) -> Result:
    scores = pd.concat(tables, ignore_index=True)
    cases = scores[["model", "benchmark", "part", "language", "protocol"]].drop_duplicates()
    askings = [
        Asking(model, benchmark, part, language, protocol, "translation", "translator")
        for model, benchmark, part, language, protocol in cases.to_numpy().tolist()
    ]
    manifest = make_manifest(
        request,
        models=models,
        data=target.describe(),
        asked=to_dicts(askings),
        skipped=skipped,
        notes=[*notes, *measuring_notes(scores)],
        margins=margins,
        seconds=seconds,
    )
    return Result(
        scores=scores,
        records=with_family_and_kind(assign_verdicts(measure(scores, margins=margins)), askings),
        manifest=manifest,
        items=item_table(target.portions()),
    )
