"""Compare the estimated time of a run (`plan_run`, `tiltmeter run --dry-run`) with the time that the run then takes.

    python -m perf.estimates MODELS

MODELS is a folder with the tiny models gpt2-tiny, bert-tiny, t5-tiny and xlmr-tiny. The cache is empty at the
beginning. The first run of each model has no estimate; later runs are estimated from earlier ones.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

STARTER = ("starter:de", "starter:en,fr", "starter-pairs", "starter-gest")
# Each model with its runs, and the maximum number of items.
RUNS = (
    ("gpt2-tiny", STARTER, None),
    ("bert-tiny", STARTER, None),
    ("xlmr-tiny", ("starter:de", "starter-pairs", "starter-gest"), None),
    ("t5-tiny", ("starter:de", "starter:en,fr"), None),
    ("embedded", ("starter/intrasentence:de", "starter/intrasentence:en", "starter-pairs:en", "starter-gest"), None),
    ("chat:embedded", ("starter-pairs:de", "starter-pairs:en"), 4),
)


def main() -> None:
    """Print a table of estimated and measured times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        os.environ["TILTMETER_CACHE"] = str(Path(name) / "cache")
        from tiltmeter import evaluate, plan_run

        print("| model | data | questions | estimate | time | ratio | basis |", flush=True)
        print("| --- | --- | ---: | ---: | ---: | ---: | --- |", flush=True)
        number = 0
        for model, specs, limit in RUNS:
            source = str(given.models / model) if (given.models / model).exists() else model
            for on in specs:
                number += 1
                work = plan_run(source, on, limit=limit).models[0]
                began = time.monotonic()
                evaluate(source, on, limit=limit, out=Path(name) / str(number))
                seconds, expected = time.monotonic() - began, work.time.seconds
                estimate = "–" if expected is None else f"{expected:.1f} s"
                ratio = "–" if expected is None else f"{seconds / expected:.2f}"
                basis = work.time.basis.replace(str(given.models) + "/", "")
                print(
                    f"| {model} | {on} | {work.questions} | {estimate} | {seconds:.1f} s | {ratio} | {basis} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
