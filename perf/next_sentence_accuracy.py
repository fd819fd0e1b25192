"""Held-out accuracy of next-sentence heads: several seeds and designs on the same pairs.

    python -m perf.next_sentence_accuracy MODEL --pairs FOLDER --out FOLDER [--seeds 0,1,2]
        [--designs recommended,published] [--set core_rate=1e-4 …] [--keep]

It prints the accuracy of each language with its interval, the mean over languages, and the mean over seeds.
"""

import argparse
import dataclasses
import json
import shutil
import statistics
from pathlib import Path

from tiltmeter.training.head_training import TrainingOptions, train_next_sentence
from tiltmeter.training.training_recipe import TrainingRecipe


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--designs", default="recommended")
    parser.add_argument(
        "--set", nargs="*", default=[], metavar="FIELD=VALUE", help="change fields of the training recipe"
    )
    parser.add_argument("--keep", action="store_true", help="do not delete the trained heads")
    given = parser.parse_args()
    types = {field.name: type(field.default) for field in dataclasses.fields(TrainingRecipe)}
    changes = {}
    for setting in given.set:
        name, _, value = setting.partition("=")
        changes[name] = json.loads(value.lower()) if types[name] is bool else types[name](value)
    recipe = TrainingRecipe(**changes)
    for design in given.designs.split(","):
        found: dict[str, list[float]] = {}
        for seed in map(int, given.seeds.split(",")):
            out = given.out / f"{design}-{seed}"
            head = train_next_sentence(
                given.model,
                given.pairs,
                out,
                recipe=recipe,
                options=TrainingOptions(design=design, seed=seed, checkpoints=4),
                force=True,
            )
            if head is None:
                return
            line = ", ".join(
                f"{a.language or 'all'} {a.value:.1f} [{a.low:.1f}, {a.high:.1f}] n={a.pairs}" for a in head.accuracy
            )
            mean = statistics.fmean(a.value for a in head.accuracy if a.language)
            seconds = head.record["seconds"]
            print(
                f"{design} seed {seed}: {line}; mean of languages {mean:.2f}; {seconds:.0f} s, "
                f"{head.record['tokens'] / seconds:,.0f} tokens/s, padding {head.record['padding']:.1%}",
                flush=True,
            )
            print("  set aside:", [round(e["eval_accuracy"], 1) for e in head.record["log"] if "eval_accuracy" in e])
            for accuracy in head.accuracy:
                found.setdefault(accuracy.language or "all", []).append(accuracy.value)
            found.setdefault("mean of languages", []).append(mean)
            if not given.keep:
                shutil.rmtree(out)
        print(
            f"{design}, mean of {len(given.seeds.split(','))} seeds:",
            {k: round(statistics.mean(v), 2) for k, v in found.items()},
        )


if __name__ == "__main__":
    main()
