"""Scores and times of sentence pairs: lm-evaluation-harness and Tiltmeter with the same model and file.

    python -m venv harness && harness/bin/pip install lm_eval accelerate torch==2.13.0
    python -m perf.harness FOLDER --on crows-pairs:en --harness harness/bin/python --repeats 3

The harness has no task for a file of pairs, so one is written: the log-likelihood of each sentence after the start
token, which is the protocol `likelihood` of Tiltmeter. Both programs are started in alternating turns; measured are the
time of the whole command and the time that each reports for its evaluation.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd

from perf import show
from tiltmeter.forms import get_form
from tiltmeter.runs.portions import load_portions
from tiltmeter.runs.run_preparation import limit_items

_TASK = """task: pairs_of_a_file
dataset_path: json
dataset_kwargs: {{data_files: {{test: {file}}}}}
test_split: test
output_type: multiple_choice
doc_to_text: ""
target_delimiter: ""
doc_to_choice: "{{{{[more, less]}}}}"
doc_to_target: 0
metric_list: [{{metric: acc}}]
"""


def write_pairs(spec: str, limit: int | None, folder: Path) -> Path:
    """Write the pairs as JSON lines, and the task of the harness for them."""
    (portion,) = (limit_items(found, limit) for found in load_portions(spec))
    rows = [json.dumps(get_form(portion.form).write(item), ensure_ascii=False) for item in portion.items]
    file = folder / "pairs.jsonl"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    (folder / "pairs.yaml").write_text(_TASK.format(file=file), encoding="utf-8")
    return file


def by_harness(
    options: argparse.Namespace, folder: Path, turn: int
) -> tuple[float, float, dict[str, tuple[float, float]]]:
    """Return the seconds of the command and of the evaluation, and the log-likelihoods (more, less) of each pair."""
    out = folder / f"harness-{turn}"
    seconds = _timed(
        [
            *(options.harness, "-m", "lm_eval", "--model", "hf"),
            *("--model_args", f"pretrained={options.model},dtype=float32", "--tasks", "pairs_of_a_file"),
            *("--include_path", str(folder), "--batch_size", options.batch, "--device", options.device),
            *("--output_path", str(out), "--log_samples"),
        ],
        {"HF_HUB_OFFLINE": "1"},
    )
    (samples,) = out.rglob("samples_*.jsonl")
    (results,) = out.rglob("results_*.json")
    scores = {}
    for line in samples.read_text(encoding="utf-8").splitlines():
        sample = json.loads(line)
        more, less = (float(response[0][0]) for response in sample["resps"])
        scores[str(sample["doc"]["id"])] = (more, less)
    return seconds, float(json.loads(results.read_text())["total_evaluation_time_seconds"]), scores


def by_tiltmeter(
    options: argparse.Namespace, folder: Path, turn: int
) -> tuple[float, float, dict[str, tuple[float, float]]]:
    """Return the same for Tiltmeter with an empty cache, so that every answer is computed."""
    out = folder / f"tiltmeter-{turn}"
    seconds = _timed(
        [
            *(sys.executable, "-m", "tiltmeter", "run", options.model, "--on", str(folder / "pairs.jsonl")),
            *("--dtype", "float32", "--device", options.device, "--out", str(out)),
        ],
        {"TILTMETER_CACHE": str(folder / f"cache-{turn}")},
    )
    table = pd.read_parquet(out / "scores.parquet")
    wide = table[table["role"].isin(["more", "less"])].pivot(index="item", columns="role", values="score")
    evaluation = float(json.loads((out / "manifest.json").read_text())["seconds"])
    return seconds, evaluation, {str(item): (float(row["more"]), float(row["less"])) for item, row in wide.iterrows()}


def _timed(command: list[str], environment: Mapping[str, str]) -> float:
    began = time.perf_counter()
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return time.perf_counter() - began


def stereotypical(scores: Mapping[str, tuple[float, float]]) -> float:
    """Return the percentage of pairs in which the more stereotypical sentence has the higher score."""
    return 100 * sum(more > less for more, less in scores.values()) / len(scores)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Run both programs in alternating turns."""
    ways = {"harness": by_harness, "tiltmeter": by_tiltmeter}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    evaluations: dict[str, list[float]] = {name: [] for name in ways}
    found = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_pairs(options.on, options.limit, folder)
        for turn in range(options.repeats):
            for name, way in ways.items():
                took, evaluation, found[name] = way(options, folder, turn)
                seconds[name].append(took)
                evaluations[name].append(evaluation)
    theirs, ours = found["harness"], found["tiltmeter"]
    differences = [abs(a - b) for pair in ours for a, b in zip(theirs[pair], ours[pair], strict=True)]
    return {
        "pairs": len(ours),
        "missing": len(set(theirs) ^ set(ours)),
        "largest_difference": max(differences),
        "stereotypical": {name: stereotypical(scores) for name, scores in found.items()},
        "other_sides": sum((theirs[pair][0] > theirs[pair][1]) != (ours[pair][0] > ours[pair][1]) for pair in ours),
        "seconds": seconds,
        "evaluation": evaluations,
    }


def main() -> None:
    """Measure, print, and write the record."""
    command = argparse.ArgumentParser(prog="python -m perf.harness", description=__doc__)
    command.add_argument("model")
    command.add_argument("--on", default="starter-pairs:en")
    command.add_argument("--limit", type=int, default=None)
    command.add_argument("--harness", required=True, help="the Python interpreter of an environment with lm_eval")
    command.add_argument("--batch", default="16", help="the value of --batch_size for the harness")
    command.add_argument("--device", default="cpu")
    command.add_argument("--repeats", type=int, default=3)
    command.add_argument("--json", type=Path, default=None)
    options = command.parse_args()
    record = measure(options)
    print(f"{record['pairs']:,} pairs, {record['missing']} asked by one program only")
    print(f"largest difference of a sentence's log-likelihood {record['largest_difference']:.1e}")
    print(f"other side preferred in {record['other_sides']} pairs; stereotypical:", record["stereotypical"])
    for name in ("seconds", "evaluation"):
        theirs, ours = (median(record[name][way]) for way in ("harness", "tiltmeter"))
        print(f"{name}: harness {theirs:.1f}, tiltmeter {ours:.1f}, ratio {theirs / ours:.1f}")
    show.write_json(record, options.json)


if __name__ == "__main__":
    main()
