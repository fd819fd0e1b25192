"""Runs for the tests of reports: random scores, or records with verdicts by the rule."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from tests.runs.made import askings
from tiltmeter.benchmarks import get_benchmark
from tiltmeter.measures import get_measure, get_measure_function
from tiltmeter.measures.estimates import Mean, Ratio
from tiltmeter.measures.records import Record, build_estimate_record, build_record
from tiltmeter.measures.standard_errors import StandardError
from tiltmeter.measures.verdict_rule import assign_verdicts
from tiltmeter.runs.manifest import DataEntry, UnscoredItem, build_manifest, build_model_entry
from tiltmeter.runs.measurement import measure_scores
from tiltmeter.runs.portions import Portion, load_portions
from tiltmeter.runs.result import Result
from tiltmeter.runs.run_items import build_item_table
from tiltmeter.runs.score_tables import build_score_table

LOG_ODDS = {"stereotype": 0.3, "anti-stereotype": 0.0, "unrelated": -1.0}


@dataclass(frozen=True)
class Measured:
    """The model, benchmark, language and protocol of made records."""

    model: str = "gpt2"
    benchmark: str = "stereoset"
    language: str = "en"
    protocol: str = "published"


def record(
    measure: str,
    value: float,
    half: float | None = None,
    *,
    part: str = "intrasentence",
    view: str = "all",
    group: str = "all",
    n: int = 2106,
    clusters: int | None = None,
    kind: str | None = None,
    why: str | None = None,
    **measured_fields: str,
) -> Record:
    """A record with an interval of this half width (on the log scale for a ratio), and its tests."""
    known, measured = get_measure(measure), Measured(**measured_fields)
    if half is None:
        margin = known.margin if why else None
        return build_record(measured, part, view, group, known, value, n, why=why, margin=margin, kind=kind)
    spread = StandardError(half / 1.959964, 1e9, clusters, factor="target" if clusters else "")
    estimate = Ratio(Mean(float(np.log(value)), spread)) if known.ratio else Mean(value, spread)
    tested = known.margin is not None
    return replace(build_estimate_record(measured, part, view, group, known, estimate, n, tested=tested), kind=kind)


def association_records(
    ss: float = 58.2,
    half: float = 3.1,
    *,
    published: float | None = None,
    ties: int = 0,
    lms: float = 83.1,
    clusters: int | None = 79,
    **measured_fields: object,
) -> list[Record]:
    """The records of one part in one language, without verdicts."""
    return [
        record("LMS", lms, 1.4, **measured_fields),  # type: ignore[arg-type]
        record("SS", ss, half, clusters=clusters, **measured_fields),  # type: ignore[arg-type]
        record("SS as published", ss if published is None else published, half, **measured_fields),  # type: ignore[arg-type]
        record("ICAT", 68.6, 3.7, **measured_fields),  # type: ignore[arg-type]
        record("ties", float(ties), **measured_fields),  # type: ignore[arg-type]
    ]


def row(**given: object) -> dict[str, Record]:
    """The same records as a row, with verdicts."""
    return {r.measure: r for r in assign_verdicts(association_records(**given))}  # type: ignore[arg-type]


def association(
    models: Sequence[str],
    on: str = "starter:en,de",
    *,
    intervals: bool = True,
    kinds: Mapping[str, str] | None = None,
) -> Result:
    """Models with a small bias, on real items."""
    rng = np.random.default_rng(1)

    def rows(portion: Portion) -> Iterable[tuple[object, str, str, float]]:
        for item in portion.items:
            for candidate in item.candidates:
                yield item, candidate.id, candidate.role, float(np.exp(rng.normal(LOG_ODDS[candidate.role] - 5, 1)))

    return _result(models, on, "published", rows, intervals=intervals, kinds=kinds)


def pairs(models: Sequence[str], on: str = "starter-pairs") -> Result:
    rng = np.random.default_rng(2)

    def rows(portion: Portion) -> Iterable[tuple[object, str, str, float]]:
        for item in portion.items:
            for role in ("more", "less"):
                yield item, f"{item.id}/{role}", role, float(rng.normal(-40, 5))

    return _result(models, on, "likelihood", rows)


def gest(
    models: Sequence[str],
    *,
    parts: Sequence[str] = ("template-3", "template-4"),
    kinds: Mapping[str, str] | None = None,
) -> Result:
    rng = np.random.default_rng(3)

    def rows(portion: Portion) -> Iterable[tuple[object, str, str, float]]:
        for item in portion.items:
            yield item, "he/she", "log_ratio", float(rng.normal(0.4 if item.stereotype > 7 else -0.4, 1))

    return _result(models, "starter-gest", "published", rows, parts=parts, kinds=kinds)


def winobias(models: Sequence[str], kinds: Mapping[str, str] | None = None) -> Result:
    """Sentences about ten occupations of men and ten of women; the bias grows from model to model."""
    rng = np.random.default_rng(6)
    rows = [
        {
            "model": model,
            "benchmark": "winobias",
            "part": "type1-test",
            "language": "en",
            "item": str(number),
            "candidate": "he/she",
            "role": "log_ratio",
            "score": float(rng.normal((0.2 + 0.3 * place) * (number % 2), 0.5)),
            "occupation_gender": "male" if number % 2 else "female",
            "occupation": f"occupation {number % 20}",
            "protocol": "published",
        }
        for place, model in enumerate(models)
        for number in range(80)
    ]
    data = [DataEntry(benchmark="winobias", part="type1-test", language="en", items=80)]
    return _made(pd.DataFrame(rows), "winobias", data, {**dict.fromkeys(models, "masked"), **(kinds or {})})


def many_languages(models: Sequence[str], languages: Sequence[str], sentences: int = 6) -> Result:
    """GEST's sentences in frames of these languages; the bias grows from language to language."""
    rng = np.random.default_rng(5)
    rows = [
        {
            "model": model,
            "benchmark": "eurogest",
            "part": "frame",
            "language": language,
            "item": str(number),
            "candidate": "he/she",
            "role": "log_ratio",
            "score": float(rng.normal((0.04 * place - 0.5) * (number % 16 >= 7), 0.3)),
            "stereotype": number % 16 + 1,
            "protocol": "frames",
        }
        for model in models
        for place, language in enumerate(languages)
        for number in range(16 * sentences)
    ]
    count = 16 * sentences
    data = [DataEntry(benchmark="eurogest", part="frame", language=code, items=count) for code in languages]
    return _made(pd.DataFrame(rows), "gest", data, dict.fromkeys(models, "causal"))


def translations(systems: Sequence[str], languages: Sequence[str] = ("sk", "pl")) -> Result:
    rng = np.random.default_rng(4)
    rows = [
        {
            "model": system,
            "benchmark": "gest-mt",
            "part": "all",
            "language": language,
            "item": str(number),
            "candidate": "som",
            "role": "speaker_gender",
            "score": rng.choice([1.0, 1.0, 0.0 if number % 16 < 7 else 1.0, np.nan]),
            "stereotype": number % 16 + 1,
            "translation": f"Veta {number}.",
            "protocol": "rules",
        }
        for system in systems
        for language in languages
        for number in range(160)
    ]
    scores = pd.DataFrame(rows)
    data = [DataEntry(benchmark="gest-mt", part="all", language=language, items=160) for language in languages]
    return _made(scores, "gest_mt", data, dict.fromkeys(systems, "translator"), "translation")


def file_of(folder: Path, items: Sequence[dict[str, object]]) -> Path:
    path = folder / "items.jsonl"
    path.write_text("".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items), encoding="utf-8")
    return path


def _result(models, on, protocol, rows, *, parts=(), intervals=True, kinds=None) -> Result:
    asked = list(load_portions(on))
    tables = []
    for model in models:
        for portion in asked:
            for part in portion.split_into_parts(parts):
                tables.append(build_score_table(model, part, protocol, rows(part)))
    family = get_benchmark(asked[0].form).measures
    data = [portion.describe(len(portion.items)) for portion in asked]
    kinds = {**dict.fromkeys(models, "masked"), **(kinds or {})}
    result = _made(pd.concat(tables, ignore_index=True), family, data, kinds, intervals=intervals)
    return replace(result, texts=build_item_table(asked))


def _made(
    scores: pd.DataFrame,
    family: str,
    data: list[DataEntry],
    kinds: Mapping[str, str],
    answers: str = "likelihood",
    *,
    intervals: bool = True,
) -> Result:
    asked = [replace(asking, kind=kinds[asking.model]) for asking in askings(scores, answers=answers)]
    names = list(dict.fromkeys(scores["model"]))
    skipped = UnscoredItem(names[0], "starter", "all", "en", "x", "it was made up to be left out")
    benchmarks = dict.fromkeys(scores["benchmark"], family)
    return Result(
        scores,
        measure_scores(scores, benchmarks, asked)
        if intervals
        else get_measure_function(family)(scores, intervals=False),
        build_manifest(
            {"models": names, "on": ["made up"]},
            models=[build_model_entry({"name": name, "kind": kinds[name], "weights": "0" * 64}) for name in names],
            data=data,
            asked=asked,
            skipped=[skipped],
            seconds=1.0,
        ),
    )
