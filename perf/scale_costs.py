"""Estimate the cost of 1,000 models on all benchmarks in 40 languages, as in docs/evidence/scale.md.

    python -m perf.scale_costs

Items are counted in the catalogue. Times and sizes are from docs/evidence/performance.md and from runs, as noted below.
The mixture of models and the speed of a shared file system are assumptions.
"""

import argparse
from dataclasses import dataclass

from tiltmeter.benchmarks import get_benchmarks
from tiltmeter.datasets.catalogue import DATASETS

# Measured (docs/evidence/performance.md, "A large model"): 7e9 weights in bfloat16 on an H200, 29,151 questions about
# 9,302 items of StereoSet, CrowS-Pairs and GEST in 6.3 s, from text to scores.
_SECONDS, _QUESTIONS, _ITEMS, _WEIGHTS = 6.3, 29_151, 9_302, 7e9
# Also measured there: BERT-base takes 0.14 s for 2,106 items; the CPU limits the speed of small models.
_LEAST_SECONDS_PER_ITEM = 0.14 / 2_106
# Assumed: a question of BBQ (context, question, answer) has this many times the words of one of StereoSet.
_LONGER = {"multiple-choice": 4.0}
# Measured in runs of a small BERT and a small GPT-2 on English StereoSet, CrowS-Pairs and GEST: bytes of the store per
# question, and bytes of the run folder per item, without a report.
_STORED_PER_QUESTION, _RUN_PER_ITEM = 49, 300
# Measured on a core of a server processor: imports, and the time for 9,302 items of these data sets without the model
# (reading, questions, stored answers, measures with intervals, writing).
_START_SECONDS, _HOST_SECONDS_PER_ITEM = 3.6, 11.9 / 9_302
# Assumed: bytes per second of a shared file system; weights are read twice, for hashing and for loading.
_READ = 1e9
_MODELS, _GPUS = 1_000, 64


@dataclass(frozen=True)
class Share:
    """Models of one size: their percentage, their weights, and the GPUs of a job."""

    percent: int
    weights: float
    gpus: int


# Assumed: half of the models are small, and one in ten needs four GPUs.
MIXTURE = (Share(50, 0.3e9, 1), Share(40, 7e9, 1), Share(10, 70e9, 4))


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    asked = {name: data for name, data in DATASETS.items() if data.form in get_benchmarks()}
    languages = {language for data in asked.values() for language in data.languages}
    items = {name: data.item_count for name, data in asked.items() if data.item_count}
    uncounted = [name for name in asked if name not in items]
    cells = sum(len(data.languages) for data in asked.values())
    total = sum(items.values())
    per_item = _QUESTIONS / _ITEMS
    effort = sum(count * _LONGER.get(asked[name].form, 1.0) for name, count in items.items()) * per_item
    questions = total * per_item
    print(f"{len(asked)} data sets, {len(languages)} languages, {cells} cells and {total:,} items for each model")
    print(f"(without {', '.join(uncounted)}, whose items the catalogue does not count)")
    print(f"{questions:,.0f} questions for each model, as long as {effort:,.0f} of StereoSet")
    print()
    print("| weights | models | GPUs | asking | loading, hashing | host | job | GPU hours of all |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    hours = longest = 0.0
    for share in MIXTURE:
        models = _MODELS * share.percent // 100
        # A model that is split over GPUs uses one of them at a time.
        asking = max(effort * _SECONDS / _QUESTIONS * share.weights / _WEIGHTS, total * _LEAST_SECONDS_PER_ITEM)
        loading = _START_SECONDS + 2 * 2 * share.weights / _READ
        host = total * _HOST_SECONDS_PER_ITEM
        job = asking + loading + host
        used = models * share.gpus * job / 3600
        hours, longest = hours + used, max(longest, job)
        print(
            f"| {share.weights / 1e9:g} billion | {models} | {share.gpus} | {asking:,.0f} s | {loading:,.0f} s | "
            f"{host:,.0f} s | {job / 60:,.0f} min | {used:,.0f} |"
        )
    store, runs = _MODELS * questions * _STORED_PER_QUESTION, _MODELS * total * _RUN_PER_ITEM
    read = sum(_MODELS * share.percent / 100 * 4 * share.weights for share in MIXTURE)
    print()
    print(f"GPU hours: {hours:,.0f}; on {_GPUS} GPUs {hours / _GPUS:,.1f} hours, the longest job {longest / 3600:,.1f}")
    print(f"answers: {store / 1e9:,.0f} GB in the cache; runs: {runs / 1e9:,.0f} GB in {_MODELS * cells:,} folders")
    print(f"files: {_MODELS * cells * 5:,}; weights read twice: {read / 1e12:,.1f} TB")
    writes = _GPUS * 1.0 / 2
    print(f"state files of {_GPUS} jobs: {writes:,.0f} writes a second")


if __name__ == "__main__":
    main()
