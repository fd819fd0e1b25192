"""What the rule of verdicts makes of released predictions: `TILTMETER_MIRROR=… python -m perf.released_verdicts`.

Beside it stands what was said before: an exact sign test of the items that are not tied, at 5%, without clusters and
without a correction ("leans"), or not.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from scipy.stats import binomtest

import tiltmeter
from tiltmeter.measures import deciding
from tiltmeter.measures.records import OVERALL, Record, row_key
from tiltmeter.runs.result import Result

STEREOSET = "slds-lmu/stereotypes-multi/results/predictions"
FIRST = "moinnadeem/StereoSet/code/predictions"
GEST = "kinit-sk/gest/data/predictions"


def main() -> None:
    """Print the verdicts by kind for pooled rows and for bias types, and each pooled row."""
    parser = argparse.ArgumentParser(prog="python -m perf.released_verdicts", description=__doc__)
    parser.add_argument("mirror", type=Path, help="the folder with <owner>/<repository>/<path> below it")
    mirror = parser.parse_args().mirror
    for title, results in (("StereoSet", _stereoset(mirror)), ("GEST", _gest(mirror))):
        found = list(results)
        print(f"{title}: {len(found)} files or models")
        for view in ("all", "bias_type"):
            _print(view, [(result, record) for result in found for record in _decided(result, view)])


def _stereoset(mirror: Path) -> Iterator[Result]:
    for path in sorted((mirror / STEREOSET).glob("*.json")):
        language = path.stem.rsplit("_", 1)[-1]
        yield tiltmeter.score_predictions(path, form="stereotypes-multi", on=f"stereoset:{language}")
    for path in sorted((mirror / FIRST).glob("*.json")):
        try:
            yield tiltmeter.score_predictions(path, form="stereotypes-multi", on="stereoset-original:en")
        except tiltmeter.TiltmeterError as error:
            print(f"Not scored: {path.name}. {error}")


def _gest(mirror: Path) -> Iterator[Result]:
    for folder in ("english_mlm", "english_glm"):
        names = {path.name.rsplit("_template-", 1)[0] for path in (mirror / GEST / folder).glob("*_template-*.txt")}
        for name in sorted(names):
            yield tiltmeter.score_predictions(mirror / GEST / folder / name, form="gest", on="gest-1.0")


def _decided(result: Result, view: str) -> list[Record]:
    rows: dict[tuple[str, ...], dict[str, Record]] = {}
    for record in result.records:
        if record.view == view:
            rows.setdefault(row_key(record), {})[record.measure] = record
    return [record for row in rows.values() if (record := deciding(row)) is not None]


def _print(view: str, found: list[tuple[Result, Record]]) -> None:
    if not found:
        return
    print(f"  {view}: {len(found)} rows")
    for kind, count in Counter(record.verdict.short for _, record in found if record.verdict).most_common():
        print(f"    {count:4d}  {kind}")
    before = Counter(_before(result.scores, record) for result, record in found)
    print(f"    before: {dict(before)}")
    if view == "all":
        for _, record in found:
            words = record.verdict.words if record.verdict else ""
            print(f"      {record.model} {record.part} {record.measure} {record.value:.2f}: {words}")


def _before(scores: pd.DataFrame, record: Record) -> str:
    """What was said of a row: by a sign test of its items, or of GEST by its p-value alone."""
    if record.measure != "SS":
        return "leans" if record.p_value is not None and record.p_value < 0.05 else "no lean"
    some = scores if record.part == OVERALL else scores[scores["part"] == record.part]
    some = some if record.view == "all" else some[some[record.view] == record.group]
    table = some.pivot(index=["part", "item"], columns="role", values="score")
    ups = int((table["stereotype"] > table["anti-stereotype"]).sum())
    downs = int((table["stereotype"] < table["anti-stereotype"]).sum())
    return "leans" if ups + downs and binomtest(ups, ups + downs).pvalue < 0.05 else "no lean"


if __name__ == "__main__":
    main()
