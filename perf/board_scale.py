"""The time to write, open and sort a board of synthetic runs of many models, languages and benchmarks.

    python -m perf.board_scale --models 200 --languages 40 --benchmarks 5

Runs are written like those of a matrix, with a folder for each model, benchmark and language. Their scores are random,
and models share a few tables of scores, so that writing 40,000 runs takes only minutes. All models are of one kind, so
they are in one table. The page is opened in Chromium from disk.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tiltmeter.cluster.board.site_files import write_board
from tiltmeter.datasets.language_facts import _load_languages
from tiltmeter.files import create_temporary_folder
from tiltmeter.measures.records import to_dicts
from tiltmeter.runs.measurement import measure_scores
from tiltmeter.runs.measurement_conditions import MeasurementConditions
from tiltmeter.runs.typed_json import to_json

# The number of different score tables per benchmark, which models share.
_VARIANTS = 24
_ROLES = {"stereotype": 0.0, "anti-stereotype": 0.0, "unrelated": -1.0}
# Every second benchmark has two parts, and therefore three columns per language.
_PARTS = (("intrasentence", "intersentence"), ("intrasentence",))
_MODEL, _LANGUAGE = "MODEL-TO-BE-NAMED", "LANGUAGE-TO-BE-NAMED"

# Sorts by a column, and returns the time until the next frame is drawn.
_SORT = """async (column) => {
  const button = document.querySelector(`section.table thead button[data-column="${column}"]`);
  const start = performance.now();
  button.click();
  document.body.getBoundingClientRect();
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - start;
}"""
_OPENING = """() => {
  const [page] = performance.getEntriesByType("navigation");
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  return {paint: paint ? paint.startTime : null, parsed: page.domContentLoadedEventEnd};
}"""


def scores(benchmark: str, parts: tuple[str, ...], variant: int, items: int) -> pd.DataFrame:
    """Return random scores of the items of a benchmark by one model in one language."""
    rng = np.random.default_rng(variant)
    rows = [
        {
            "model": _MODEL,
            "benchmark": benchmark,
            "part": part,
            "language": _LANGUAGE,
            "item": f"{part}-{number:04d}",
            "candidate": f"{part}-{number:04d}-{role}",
            "role": role,
            "score": float(rng.normal(mean + 0.06 * variant * (role == "stereotype"), 1.0)),
            "bias_type": "gender",
            "target": f"target {number % 20}",
            "protocol": "published",
        }
        for part in parts
        for number in range(items)
        for role, mean in _ROLES.items()
    ]
    return pd.DataFrame(rows)


def made_runs(folder: Path, models: int, languages: list[str], benchmarks: int, items: int) -> int:
    """Write the runs, and return their number."""
    count = 0
    for number in range(benchmarks):
        benchmark, parts = f"made-{number}", _PARTS[number % 2]
        variants = [_variant(benchmark, parts, variant, items) for variant in range(_VARIANTS)]
        for model in range(models):
            name = f"organisation-{model % 20}/model-{model}"
            for at, language in enumerate(languages):
                measures, manifest, table = variants[(model * 7 + at * (model % 3)) % _VARIANTS]
                run = folder / f"model-{model}" / f"{benchmark}.{language}.published"
                run.mkdir(parents=True)
                for file, text in (("measures.json", measures), ("manifest.json", manifest)):
                    named = text.replace(_MODEL, name).replace(_LANGUAGE, language)
                    (run / file).write_text(named, encoding="utf-8")
                for column, value in (("model", name), ("language", language)):
                    place = table.schema.get_field_index(column)
                    table = table.set_column(place, column, pa.array([value] * len(table)))
                pq.write_table(table, run / "scores.parquet", compression="none")
                count += 1
    return count


def _variant(benchmark: str, parts: tuple[str, ...], variant: int, items: int) -> tuple[str, str, pa.Table]:
    """Return the measures, the manifest and the scores of a run, without names of model and language."""
    table = scores(benchmark, parts, variant, items)
    askings = [
        MeasurementConditions(_MODEL, benchmark, part, _LANGUAGE, "published", "likelihood", "masked") for part in parts
    ]
    records = measure_scores(table, {benchmark: "association"}, askings)
    over_all = [row for row in to_dicts(records) if row["view"] == "all"]
    manifest = {
        "request": {"models": [_MODEL], "on": [benchmark]},
        "models": [{"name": _MODEL, "kind": askings[0].kind, "type": "made", "dtype": "float32"}],
        "data": [],
        "asked": to_json(askings),
        "refused": [],
        "skipped": [],
        "finished": "2026-05-04T12:30:00+00:00",
    }
    texts = (json.dumps(over_all, indent=1) + "\n", json.dumps(manifest))
    return (*texts, pa.Table.from_pandas(table, preserve_index=False))


def opened(page: Path, times: int) -> dict[str, Any]:
    """Return the times until a page shows its first table, is ready, and is sorted: medians and maxima."""
    from tests.reports.chromium import chromium

    shown, ready, sorting, used = [], [], [], []
    with chromium() as browser:
        for _ in range(times):
            view = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
            loaded: list[str] = []
            view.on("request", lambda request, loaded=loaded: loaded.append(request.url))
            start = time.perf_counter()
            view.goto(page.as_uri(), wait_until="commit")
            view.wait_for_selector("html[data-ready]")
            ready.append(time.perf_counter() - start)
            timing = view.evaluate(_OPENING)
            shown.append(max(timing["parsed"], timing["paint"] or 0.0) / 1000)
            session = view.context.new_cdp_session(view)
            session.send("Performance.enable", {"timeDomain": "threadTicks"})
            for column in range(-1, 6):
                before = _busy(session)
                sorting.append(view.evaluate(_SORT, column) / 1000)
                used.append(_busy(session) - before)
            rows = view.locator("section.table").first.locator("tbody tr").count()
            view.context.close()
    return {
        "files loaded first": len(loaded),
        "rows of the first table": rows,
        "first table (s)": _told(shown),
        "ready for sorting (s)": _told(ready),
        "sorting (s)": _told(sorting),
        "sorting, processor time of the page (s)": _told(used),
    }


def _busy(session: Any) -> float:
    """Return the CPU seconds of the main thread of the page, which do not depend on the load of the machine."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return float(next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration"))


def _told(numbers: list[float]) -> str:
    return f"median {statistics.median(numbers):.3f}, slowest {max(numbers):.3f}"


def measure(
    models: int, languages: int, benchmarks: int, items: int, times: int, keep: Path | None
) -> Iterator[tuple[str, object]]:
    """Measure a board of this size, and yield each result when it is known; existing runs are reused."""
    codes = list(_load_languages())[:languages]
    with create_temporary_folder(keep) as folder:
        runs = (keep or folder) / "runs"
        if not runs.exists():
            start = time.perf_counter()
            yield "runs", made_runs(runs, models, codes, benchmarks, items)
            yield "writing the runs (s)", round(time.perf_counter() - start, 1)
        start, used = time.perf_counter(), time.process_time()
        board = write_board([runs], folder / "site")
        yield "making the board (s)", round(time.perf_counter() - start, 1)
        yield "processor time of that (s)", round(time.process_time() - used, 1)
        yield "columns", len(board.columns)
        yield "numbers", sum(len(column.cells) for column in board.columns)
        pages = sorted(path.stat().st_size for path in (folder / "site").rglob("*.html"))
        yield "loaded first (MB)", round((folder / "site" / "index.html").stat().st_size / 1e6, 2)
        yield "largest page (MB)", round(pages[-1] / 1e6, 2)
        yield (
            "whole site (MB)",
            round(sum(p.stat().st_size for p in (folder / "site").rglob("*") if p.is_file()) / 1e6, 1),
        )
        yield from opened(folder / "site" / "index.html", times).items()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("models", 200), ("languages", 40), ("benchmarks", 5), ("items", 40), ("times", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--keep", type=Path, help="keep the runs in this folder, and reuse them in later calls")
    options = parser.parse_args()
    for name, value in measure(**vars(options)):
        print(f"{name}: {value}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
