"""Verdicts on the released predictions of the papers: with one factor and with all factors that items share.

TILTMETER_MIRROR=... python -m perf.released_verdicts [--form FORM] [--pairs-model FOLDER] [--demo]
    [--out FILE]

"One factor" is the former rule: items of StereoSet share only their target term, and sentences of GEST share nothing.
Both rules correct for multiple tests. --pairs-model runs a masked model on the Korean gender pairs, --demo the built-in
model on the starter set.
"""

import argparse
import math
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

import tiltmeter
from perf.simulations.runner import markdown
from tiltmeter.errors import TiltmeterError
from tiltmeter.measures import Record, association, get_measure, select_deciding_record
from tiltmeter.measures.records import OVERALL
from tiltmeter.measures.verdict_rule import assign_verdicts
from tiltmeter.reports.formatting import format_p
from tiltmeter.reports.verdict_text import format_measure_value
from tiltmeter.runs.measurement import remeasure_scores

# The columns with factors that the former rule ignored.
LATER = ("stereotype_word", "anti_stereotype_word", "idea")
STEREOSET = "slds-lmu/stereotypes-multi/results/predictions"
ORIGINAL = "moinnadeem/StereoSet/code/predictions"
BRAZILIAN = "firminovitoria/stereoset-ptbr/predictions"
GEST = "kinit-sk/gest/data/predictions"
TRANSLATIONS = "kinit-sk/gest/data/translations"
SYSTEMS = {"deepl": "DeepL", "google_translate": "Google Translate"}
LANGUAGE = re.compile(r"_(en|de|fr|es|tr)$")


def measure_one_factor(result: "tiltmeter.Result") -> "tiltmeter.Result":
    """Return a run with the verdicts of the former rule: its items share at most their target term."""
    scores = result.scores.drop(columns=[name for name in LATER if name in result.scores.columns])
    return tiltmeter.Result(scores, remeasure_scores(scores, result.manifest), result.manifest)


def scored(path: Path, form: str, on: str) -> "tiltmeter.Result":
    """Return a run from released predictions or translations."""
    if form not in SYSTEMS:
        return tiltmeter.score_predictions(path, form=form, on=on)
    with TemporaryDirectory() as folder:
        table = Path(folder) / "translations.csv"
        shutil.copy(next(path.glob("*.csv"), path) if path.is_dir() else path, table)
        return tiltmeter.score_translations(table, system=SYSTEMS[form], on=on, edition="1.0")


def files(mirror: Path) -> Iterator[tuple[Path, str, str]]:
    """Yield the available files of predictions with their format and data set."""
    for path in sorted((mirror / STEREOSET).glob("*.json")):
        language = LANGUAGE.search(path.stem)
        yield path, "stereotypes-multi", f"stereoset:{language[1] if language else 'en'}"
    # The items of the first release are the English originals of the translations, with the same ids.
    for path in sorted((mirror / ORIGINAL).glob("*.json")):
        yield path, "stereotypes-multi", "stereoset:en"
    for path in sorted((mirror / BRAZILIAN).glob("*.json")):
        yield path, "stereotypes-multi", "stereoset:pt"
    models = {
        path.with_name(path.stem.rsplit("_template-", 1)[0])
        for folder in ("english_mlm", "english_glm")
        for path in (mirror / GEST / folder).glob("*_template-*.txt")
    }
    for path in sorted(models):
        yield path, "gest", "gest-1.0"
    for system in SYSTEMS:
        for path in sorted(
            (mirror / TRANSLATIONS / system).iterdir() if (mirror / TRANSLATIONS / system).is_dir() else ()
        ):
            yield path, system, f"gest-mt:{path.name}"


def _kind(record: Record) -> str:
    assert record.verdict is not None
    verdict = record.verdict
    return ", ".join(
        filter(
            None, (verdict.short, {"within": "within the margin", "beyond": "beyond the margin"}.get(verdict.size, ""))
        )
    )


def _rows(result: "tiltmeter.Result", view: str, *, pooled: bool = True) -> list[Record]:
    """Return the records of the primary measure: of the pooled parts, if there are several, or of the parts."""
    rows: dict[tuple[str, str, str], dict[str, Record]] = {}
    for record in result.records:
        if record.view == view:
            rows.setdefault((record.part, record.language, record.group), {})[record.measure] = record
    pooled = pooled and any(part == OVERALL for part, _, _ in rows)
    found = [select_deciding_record(row) for (part, _, _), row in rows.items() if (part == OVERALL) == pooled]
    return [record for record in found if record is not None and record.verdict is not None]


def tables(results: Sequence[tuple[str, "tiltmeter.Result"]]) -> Iterator[str]:
    """Yield the verdicts of all files and their frequencies by both rules."""
    former = [measure_one_factor(result) for _, result in results]
    lines = [
        [
            name,
            record.part,
            format_measure_value(record),
            f"{record.n:,}",
            f"{_get_error(record) / _get_error(old):.2f}",
            _with_general(one, old),
            _with_general(result, record),
        ]
        for (name, result), one in zip(results, former, strict=True)
        for old, record in zip(_rows(one, "all"), _rows(result, "all"), strict=True)
    ]
    headings = ["predictions", "part", "number", "n", "standard error, all : one", "one factor", "all factors"]
    yield "**Files**\n\n" + markdown(lines, headings, 7)
    for title, view, pooled in (
        ("rows of StereoSet, parts pooled", "all", True),
        ("rows of StereoSet, single parts", "all", False),
        ("rows of bias types of StereoSet, parts pooled", "bias_type", True),
        ("rows of bias types of StereoSet, single parts", "bias_type", False),
    ):
        pairs = [
            (old, record)
            for (_, result), one in zip(results, former, strict=True)
            for old, record in zip(_rows(one, view, pooled=pooled), _rows(result, view, pooled=pooled), strict=True)
            if record.measure == "SS"
        ]
        yield f"**{len(pairs)} {title}**\n\n{_list_ratios(pairs)}\n\n" + _counts(
            (_kind(old), _kind(record)) for old, record in pairs
        )


def _get_error(record: Record) -> float:
    return record.standard_error or math.nan


def _list_ratios(pairs: Sequence[tuple[Record, Record]]) -> str:
    """Describe the ratios of standard errors, by part."""
    parts: dict[str, list[float]] = {}
    for old, record in pairs:
        parts.setdefault(record.part, []).append(_get_error(record) / _get_error(old))
    return "; ".join(
        f"{part}: standard error × {np.nanmedian(ratios):.2f} ({np.nanmin(ratios):.2f} to {np.nanmax(ratios):.2f})"
        for part, ratios in parts.items()
    )


def _with_general(result: "tiltmeter.Result", record: Record) -> str:
    """Return the verdict and, if there is one, the verdict on similar stereotypes in general."""
    general = get_measure(record.measure).population_measure
    like = [r for r in result.records if (r.measure, r.view, r.part) == (general, record.view, record.part)]
    return "; ".join([_words(record), *(f"of stereotypes like these: {_words(other)}" for other in like)])


def _words(record: Record) -> str:
    assert record.verdict is not None
    return record.verdict.words


def _counts(pairs: Iterable[tuple[str, str]]) -> str:
    counts = Counter(pairs)
    columns = sorted({old for old, _ in counts}, reverse=True)
    kinds = sorted({new for _, new in counts}, key=lambda new: -sum(counts[old, new] for old in columns))
    lines = [[new, *(str(counts[old, new] or "") for old in columns)] for new in kinds]
    total = ["all", *(str(sum(counts[old, new] for new in kinds)) for old in columns)]
    return markdown([*lines, total], ["all factors", *(f"one factor: {old}" for old in columns)])


def made(parts: dict[str, tuple[int, int, int]], terms: int) -> list[Record]:
    """Return records of synthetic items, with the numbers of preferred and other stereotypes and of ties by part."""
    rows = []
    for part, (ups, downs, ties) in parts.items():
        kinds = np.random.default_rng(0).permutation([1.0] * ups + [-1.0] * downs + [0.0] * ties)
        for place, prefers in enumerate(kinds):
            scores = {"stereotype": 2.0 + prefers, "anti-stereotype": 2.0, "unrelated": 0.0 if place % 8 else 9.0}
            rows += [
                {
                    "part": part,
                    "item": f"{part}/{place}",
                    "role": role,
                    "score": score,
                    "target": f"term {place % terms}",
                }
                for role, score in scores.items()
            ]
    same = {"model": "m", "benchmark": "stereoset", "language": "en", "protocol": "published", "bias_type": "race"}
    return assign_verdicts(association.measure(pd.DataFrame(rows).assign(**same)))


def _said(record: Record) -> str:
    p_value = format_p(record.p_adjusted)
    p = f", p {p_value if p_value.startswith('<') else f'= {p_value}'}" if p_value else ""
    return f"{format_measure_value(record)}{p}: {_words(record)}"


def cases(pairs_model: str | None, demo: bool) -> Iterator[tuple[str, str]]:
    """Yield constructed examples and examples of small models, with their verdicts."""
    # Intrasentence SS 55.1 and intersentence SS 45.6, as in the predictions of a multilingual GPT.
    torn = {"intrasentence": (1_160, 946, 0), "intersentence": (968, 1_155, 0)}
    for record in made(torn, 79):
        if record.measure == "SS" and record.view == "all":
            yield f"made: {record.part}", _said(record)
    for record in made({"intrasentence": (2, 2, 36)}, 20):
        if record.measure in ("SS", "SS as published") and record.view == "all":
            said = _said(record) if record.verdict else format_measure_value(record)
            yield "made: 36 ties, 2 : 2", said
    if pairs_model:
        result = tiltmeter.evaluate(pairs_model, on="gender-pairs:ko")
        for record in result.records:
            if record.view == "all" and record.measure in ("CPS", "S_JSD x 1e3") and record.verdict:
                yield f"gender-pairs:ko, {Path(pairs_model).name}", _said(record)
    if demo:
        with TemporaryDirectory() as folder:
            result = tiltmeter.evaluate("embedded", on="starter", out=folder)
        for record in _rows(result, "all"):
            yield f"demo, {record.language}", _said(record)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(prog="python -m perf.released_verdicts", description=__doc__)
    parser.add_argument("--form", help="only files of this format, such as stereotypes-multi")
    parser.add_argument("--pairs-model", help="a masked model to run on the Korean gender pairs")
    parser.add_argument("--demo", action="store_true", help="run the built-in model on the starter set")
    parser.add_argument("--out", type=Path, help="write the tables to this file")
    given = parser.parse_args()
    mirror = os.environ.get("TILTMETER_MIRROR")
    if not mirror or not Path(mirror).is_dir():
        parser.error("set TILTMETER_MIRROR to a folder with the released files")
    results, refused = [], []
    for path, form, on in files(Path(mirror)):
        if given.form not in (None, form):
            continue
        try:
            name = SYSTEMS.get(form) or path.name.removesuffix(".json")
            results.append((f"{name}, {on}", scored(path, form, on)))
        except TiltmeterError as error:
            refused.append(f"- {path.name}: {error}")
    assert get_measure("SS").margin == 5.0
    said = [f"{len(results)} sets of predictions were scored."]
    said += ["Not scored:\n\n" + "\n".join(refused)] if refused else []
    said += tables(results)
    lines = [list(case) for case in cases(given.pairs_model, given.demo)]
    said.append("**Cases**\n\n" + markdown(lines, ["case", "verdict"], 2))
    text = "\n\n".join(said)
    if given.out:
        given.out.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
